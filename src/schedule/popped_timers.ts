// Timers that left the core together and wait for their owners' callbacks. Only Scheduler uses it.
// After a callback that throws, the rest follows at the next call.

import { DueBatch } from "../../core-wasm/mod.ts";

const batchCapacity = 256;
/** Group of a timer that was cancelled after it was popped. Group ids start at 1. */
const cancelled = 0;

/** One half-delivered batch. */
export class PoppedTimers {
  /** To be filled by the core when `remaining` is 0; then call `begin`. */
  readonly batch: DueBatch = new DueBatch(batchCapacity);
  /** Timers still to be delivered. */
  remaining = 0;
  #next = 0;

  /** Starts to deliver the timers that the core has put into `batch`. */
  begin(): void {
    this.#next = 0;
    this.remaining = this.batch.count;
  }

  /** Place in `batch` of the next timer, while `remaining` is not 0. */
  get next(): number {
    const { groups } = this.batch;
    while (groups[this.#next] === cancelled) this.#next++;
    return this.#next;
  }

  /** Moves past the next timer, which is being delivered. */
  advance(): void {
    this.#next++;
    this.remaining--;
  }

  /** Cancels a popped timer before its callback has run. */
  cancel(handle: number): boolean {
    for (const index of this.#waiting()) {
      if (this.batch.handles[index] !== handle) continue;
      this.#drop(index);
      return true;
    }
    return false;
  }

  /** Cancels all popped timers of a group. */
  clearGroup(group: number): void {
    for (const index of this.#waiting()) {
      if (this.batch.groups[index] === group) this.#drop(index);
    }
  }

  /** Due times of the timers of one group, in delivery order. */
  ofGroup(group: number): number[] {
    const duesMs = [];
    for (const index of this.#waiting()) {
      if (this.batch.groups[index] === group) duesMs.push(this.batch.dueMs[index]!);
    }
    return duesMs;
  }

  #drop(index: number): void {
    this.batch.groups[index] = cancelled;
    this.remaining--;
  }

  *#waiting(): Generator<number> {
    if (this.remaining === 0) return;
    for (let index = this.#next; index < this.batch.count; index++) {
      if (this.batch.groups[index] !== cancelled) yield index;
    }
  }
}
