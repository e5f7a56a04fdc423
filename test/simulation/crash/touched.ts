// Which messages the damage to a folder may have touched: those named in the batches that are lost, in
// whatever place they were before or after, and those whose bytes are hit.

import type { FoundBatch } from "./batches.ts";

/** Messages that may be lost, changed or back again. */
export class Touched {
  /** Definitions are hit: any queue may be gone. */
  hasDefinitions = false;
  readonly #batches: readonly FoundBatch[];
  readonly #places = new Set<string>();
  readonly #queues = new Set<number>();
  /** Places that are the same message. */
  readonly #links = new Map<string, Set<string>>();

  constructor(batches: readonly FoundBatch[]) {
    this.#batches = batches;
    for (const { entries } of batches) {
      for (const { type, args } of entries) {
        if (type === "returned") this.#link(args as [number, number, number]);
      }
    }
  }

  #link([queueId, from, to]: [number, number, number]): void {
    for (const [a, b] of [[from, to], [to, from]]) {
      const key = `${queueId}/${a}`;
      const linked = this.#links.get(key) ?? new Set();
      this.#links.set(key, linked.add(`${queueId}/${b}`));
    }
  }

  /** A bit has turned over in a file. */
  addFlip(flip: { number: number; kind: string; offset: number }): void {
    for (const batch of this.#batches) {
      const { start, end } = batch.place;
      const isHit = batch.file === flip.number && flip.offset >= start && flip.offset < end;
      if (isHit && batch.kind !== "segment") this.#addBatch(batch);
    }
    this.#addBytes(flip);
  }

  /** Everything behind the last batch that was found is gone. */
  addBatchesBehind(lastBatch: number): void {
    for (const batch of this.#batches) {
      if (batch.kind === "log" && batch.place.number > lastBatch) this.#addBatch(batch);
    }
  }

  has(queueId: number, position: number): boolean {
    return this.#queues.has(queueId) || this.#places.has(`${queueId}/${position}`);
  }

  hasQueue(queueId: number): boolean {
    if (this.#queues.has(queueId)) return true;
    for (const place of this.#places) if (place.startsWith(`${queueId}/`)) return true;
    return false;
  }

  #add(queueId: number, position: number): void {
    const key = `${queueId}/${position}`;
    if (this.#places.has(key)) return;
    this.#places.add(key);
    for (const linked of this.#links.get(key) ?? []) {
      const [queue, at] = linked.split("/").map(Number);
      this.#add(queue!, at!);
    }
  }

  #addBatch({ entries }: FoundBatch): void {
    for (const { type, args } of entries) {
      const [first, second, third] = args as [number, number, number];
      if (type === "defined" || type === "undefined") this.hasDefinitions = true;
      else if (type === "purged") this.#queues.add(first);
      else if (type === "placed") {
        const { queueId, position } = args[0] as { queueId: number; position: number };
        this.#add(queueId, position);
      } else if (type === "paged") {
        const { first: from, last } = args[1] as { first: number; last: number };
        for (let position = from; position <= last; position++) this.#add(first, position);
      } else if (type === "unpaged" || type === "pageMoved") this.#addPage(first, second);
      else if (type === "returned") {
        this.#add(first, second);
        this.#add(first, third);
      } else if (args.length > 1) this.#add(first, second);
    }
  }

  #addPage(queueId: number, from: number): void {
    for (const { entries } of this.#batches) {
      for (const { type, args } of entries) {
        if (type !== "paged" || args[0] !== queueId) continue;
        const { first, last } = args[1] as { first: number; last: number };
        if (first !== from) continue;
        for (let position = first; position <= last; position++) this.#add(queueId, position);
      }
    }
  }

  // Records and pages that lie where the bit is, by every entry that says where they lie.
  #addBytes({ number, offset }: { number: number; offset: number }): void {
    const isAt = (at: number, byteCount: number) => offset >= at && offset < at + byteCount;
    for (const { file, entries } of this.#batches) {
      for (const { type, args } of entries) {
        if (type === "placed") {
          const placed = args[0] as Record<string, number>;
          const isHit = placed.file === number && isAt(placed.offset!, placed.recordBytes!);
          if (isHit) this.#add(placed.queueId!, placed.position!);
        } else if (type === "enqueued" && file === number) {
          const record = args[2] as { offset: number; recordBytes: number };
          if (isAt(record.offset, record.recordBytes)) {
            this.#add(args[0] as number, args[1] as number);
          }
        } else if (type === "moved" && args[2] === number) {
          // How long it is, is said elsewhere: all that lie before the bit and near it are suspects.
          if (offset >= (args[3] as number)) this.#add(args[0] as number, args[1] as number);
        } else if (type === "paged") {
          const place = args[1] as Record<string, number>;
          if (place.file !== number || !isAt(place.offset!, place.byteLength!)) continue;
          this.#addPage(args[0] as number, place.first!);
        } else if (type === "pageMoved" && args[2] === number && offset >= (args[3] as number)) {
          this.#addPage(args[0] as number, args[1] as number);
        }
      }
    }
  }
}
