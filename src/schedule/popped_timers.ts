// Timers that left the core and wait for their owners' callbacks, in batches. A callback may insert
// a timer that is due earlier than the rest of the running batch, so batches stack: the innermost
// goes first. Only Scheduler uses it. After a callback that throws, the rest follows at the next
// call.

import type { DueBatch } from "../../core-wasm/mod.ts";
import { DueBatch as Batch } from "../../core-wasm/mod.ts";

const batchCapacity = 256;
/** Group of a timer in a batch that was cancelled after it was popped. Group ids start at 1. */
const cancelled = 0;

/** A stack of half-delivered batches. */
export class PoppedTimers {
  readonly #batches: DueBatch[] = [];
  readonly #nextIndexes: number[] = [];
  readonly #spare: DueBatch[] = [];
  #remaining = 0;

  /** Timers still to be delivered. */
  get remaining(): number {
    return this.#remaining;
  }

  /** Returns an empty batch to fill and give to `push`. */
  borrow(): DueBatch {
    return this.#spare.pop() ?? new Batch(batchCapacity);
  }

  /**
   * Delivers this batch before everything pushed earlier. An empty batch is only kept for reuse.
   */
  push(batch: DueBatch): void {
    if (batch.count === 0) {
      this.#spare.push(batch);
      return;
    }
    this.#batches.push(batch);
    this.#nextIndexes.push(0);
    this.#remaining += batch.count;
  }

  /**
   * Returns the batch whose timer at `nextIndex()` is next, or undefined. It drops batches that are
   * done, and skips cancelled timers.
   */
  top(): DueBatch | undefined {
    while (this.#batches.length > 0) {
      const last = this.#batches.length - 1;
      const batch = this.#batches[last]!;
      let index = this.#nextIndexes[last]!;
      while (index < batch.count && batch.groups[index] === cancelled) index++;
      this.#nextIndexes[last] = index;
      if (index < batch.count) return batch;
      this.#batches.pop();
      this.#nextIndexes.pop();
      this.#spare.push(batch);
    }
    return undefined;
  }

  /** Place of the next timer in `top()`. */
  nextIndex(): number {
    return this.#nextIndexes[this.#nextIndexes.length - 1]!;
  }

  /** Moves past the next timer, which is being delivered. */
  advance(): void {
    this.#nextIndexes[this.#nextIndexes.length - 1]!++;
    this.#remaining--;
  }

  /** Cancels a popped timer before its callback has run. */
  cancel(handle: number): boolean {
    for (const [batch, index] of this.#entries()) {
      if (batch.handles[index] !== handle) continue;
      this.#drop(batch, index);
      return true;
    }
    return false;
  }

  /** Cancels all popped timers of a group. */
  clearGroup(group: number): void {
    for (const [batch, index] of this.#entries()) {
      if (batch.groups[index] === group) this.#drop(batch, index);
    }
  }

  /** Timers of one group in delivery order. */
  ofGroup(group: number): { payload: number; dueMs: number; handle: number }[] {
    const timers = [];
    for (const [batch, index] of this.#entries()) {
      if (batch.groups[index] !== group) continue;
      timers.push({
        payload: batch.payloads[index]!,
        dueMs: batch.dueMs[index]!,
        handle: batch.handles[index]!,
      });
    }
    return timers;
  }

  #drop(batch: DueBatch, index: number): void {
    batch.groups[index] = cancelled;
    this.#remaining--;
  }

  *#entries(): Generator<[DueBatch, number]> {
    for (let depth = this.#batches.length - 1; depth >= 0; depth--) {
      const batch = this.#batches[depth]!;
      for (let index = this.#nextIndexes[depth]!; index < batch.count; index++) {
        if (batch.groups[index] !== cancelled) yield [batch, index];
      }
    }
  }
}
