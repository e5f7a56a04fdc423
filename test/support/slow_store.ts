// A memory store whose records have to be read first, the way records on a disk are: a record answers
// only after it was requested and a later turn has begun. For tests of "reads are effects".

import { MemoryStore } from "../../src/store/memory_store.ts";
import type { ReadWaiter, ReadyLane, RecordView, Store } from "../../src/store/port.ts";

/** Makes every record of `store` non-resident until it is read, except in the turn of its arrival. */
export class SlowStore extends MemoryStore implements Store {
  readonly #resident = new Set<number>();
  #requested: { ref: number; waiter: ReadWaiter }[] = [];
  readCount = 0;

  override open(ref: number, view: RecordView): boolean {
    if (!this.#resident.has(ref)) return false;
    return super.open(ref, view);
  }

  override request(ref: number, waiter: ReadWaiter): void {
    this.#requested.push({ ref, waiter });
  }

  override requestHead(lane: ReadyLane, waiter: ReadWaiter): void {
    this.request(lane.headRef, waiter);
  }

  override release(ref: number, queueId: number): void {
    this.#resident.delete(ref);
    super.release(ref, queueId);
  }

  /** Finishes every read; call it at the start of a turn. */
  finishReads(): void {
    const finished = this.#requested;
    this.#requested = [];
    for (const { ref, waiter } of finished) {
      this.#resident.add(ref);
      this.readCount++;
      waiter.readArrived();
    }
  }
}
