// The single records in a data file, for the FileMover that empties it. A copied record keeps its
// reference and gets another place; the log is told for every queue that holds it.

import type { Arena } from "../memory/arena.ts";
import type { RecordView } from "../port.ts";
import { emptyView } from "../views.ts";
import {
  type Copies,
  type CopySource,
  GATHERED_ALL,
  GATHERED_NONE,
  GATHERED_SOME,
} from "../folder/copy_source.ts";
import { BatchWriter } from "../format/batch_writer.ts";
import type { CommitLog } from "../log/commit_log.ts";
import type { DataFile } from "../folder/data_files.ts";
import { type Holdings, NO_HOLDING } from "../live/holdings.ts";
import type { StoreSizes } from "../folder/sizes.ts";

const REFS_PER_STEP = 65_536;
// Each queue that holds a record needs an entry about the new place, and a fanout may have
// thousands of them.
const HOLDERS_PER_GROUP = 4096;

/** A copied record. */
export interface RecordCopy {
  readonly ref: number;
  /**
   * Offset from which the record was copied. A reference that was used again has another offset.
   */
  readonly fromOffset: number;
  /** Where the copy begins in its batch. */
  readonly at: number;
  readonly recordBytes: number;
}

/** The parts of {@link RecordCopies}. */
export interface RecordCopiesParts {
  log: CommitLog;
  holdings: Holdings;
  arena: Arena;
  /** Reads a record into memory and calls back in a later turn. */
  load: (ref: number, done: (error: Error | null) => void) => void;
  sizes: StoreSizes;
  seed: number;
}

/** Copies the records of a file. */
export class RecordCopies implements CopySource<RecordCopy> {
  readonly #parts: RecordCopiesParts;
  readonly #writer: BatchWriter;
  readonly #view: RecordView = emptyView();
  #victim: DataFile | null = null;
  #next = 1;
  #loadingCount = 0;
  #group: number[] = [];

  constructor(parts: RecordCopiesParts) {
    this.#parts = parts;
    this.#writer = new BatchWriter(parts.seed);
  }

  get isReading(): boolean {
    return this.#loadingCount > 0;
  }

  begin(victim: DataFile): boolean {
    this.#victim = victim;
    this.#next = 1;
    this.#group = [];
    return true;
  }

  gather(): number {
    const { holdings, arena } = this.#parts;
    this.#collect();
    if (this.#group.length === 0) {
      return this.#next < holdings.refEnd ? GATHERED_NONE : GATHERED_ALL;
    }
    for (const ref of this.#group) if (!arena.isResident(ref)) this.#load(ref);
    return GATHERED_SOME;
  }

  #collect(): void {
    const { holdings, sizes } = this.#parts;
    const group = this.#group;
    let bytes = 0;
    let holders = 0;
    const stopAt = Math.min(holdings.refEnd, this.#next + REFS_PER_STEP);
    for (; this.#next < stopAt; this.#next++) {
      if (bytes >= sizes.moveGroupBytes) break;
      if (group.length >= sizes.moveGroupRecords || holders >= HOLDERS_PER_GROUP) break;
      if (!this.#isThere(this.#next)) continue;
      group.push(this.#next);
      bytes += holdings.recordBytesOf(this.#next);
      for (let one = holdings.first(this.#next); one !== NO_HOLDING; one = holdings.next(one)) {
        holders++;
      }
    }
  }

  #isThere(ref: number): boolean {
    return this.#parts.holdings.fileOf(ref) === this.#victim!.number;
  }

  #load(ref: number): void {
    this.#loadingCount++;
    this.#parts.load(ref, () => this.#loadingCount--);
  }

  copy(nowMs: number): Copies<RecordCopy> {
    const { holdings, arena, log } = this.#parts;
    const writer = this.#writer;
    const { out } = writer;
    writer.open(out.bytes);
    const copies: RecordCopy[] = [];
    for (const ref of this.#group) {
      // A record that could not be read stays where it is, and its queue will find out. Another one
      // may have been given up again since it was read.
      if (!this.#isThere(ref) || !arena.open(ref, this.#view)) continue;
      const at = writer.record(this.#view);
      const recordBytes = out.byteCount - at;
      copies.push({ ref, fromOffset: holdings.offsetOf(ref), at, recordBytes });
    }
    this.#group = [];
    if (copies.length > 0) writer.finish(log.openBatch, nowMs);
    return { copies, bytes: out.bytes, byteCount: out.byteCount };
  }

  moved({ ref, fromOffset, at, recordBytes }: RecordCopy, file: DataFile, offset: number): void {
    const { holdings, log } = this.#parts;
    if (!this.#isThere(ref) || holdings.offsetOf(ref) !== fromOffset) return;
    const victim = this.#victim!;
    const toOffset = offset + at;
    for (let one = holdings.first(ref); one !== NO_HOLDING; one = holdings.next(one)) {
      const position = holdings.positionOf(one);
      log.batch.moved(holdings.queueOf(one), position, file.number, toOffset);
    }
    victim.liveRecords--;
    victim.liveBytes -= holdings.recordBytesOf(ref);
    file.liveRecords++;
    file.liveBytes += recordBytes;
    holdings.place(ref, file.number, toOffset, recordBytes);
    log.wantSync();
  }
}
