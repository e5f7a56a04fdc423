// Delays that a crash could still undo: the batch of each one, until the store has decided about that
// batch. Retries adds them, and the broker calls `look` after every commit. A delay that the disk
// refused goes back to its queue at once (docs/storage.md "Errors of the disk"). Flat arrays, one group
// per batch.

import type { Store } from "../../store/port.ts";

const CAPACITY_MIN = 64;
// Larger arrays are released when they are empty.
const KEPT_CAPACITY_MAX = 65_536;

/** The parts of a store that tell what became of its batches. */
export type BatchDecisions = Pick<Store, "safeBatch" | "isFailed" | "isReadOnly">;

/** Takes back messages whose delay could not be stored. */
export interface DelayOwner {
  /** Ends a delay that was not stored; does nothing if it has ended meanwhile. */
  undelay(number: number, row: number): void;
}

interface Batch {
  readonly number: number;
  /** The slot after its last delay. */
  end: number;
  isDone: boolean;
}

/** Delays of one node whose batch is not decided. */
export class UnsafeDelays {
  #numbers = new Float64Array(CAPACITY_MIN);
  #rows = new Uint32Array(CAPACITY_MIN);
  #owners: DelayOwner[] = [];
  #batches: Batch[] = [];
  /** First slot of the first batch; the slots before it are free. */
  #start = 0;
  #end = 0;

  /** Number of delays. */
  get count(): number {
    return this.#end - this.#start;
  }

  /** Number of the first delay; Infinity when there is none. */
  get firstNumber(): number {
    return this.count === 0 ? Infinity : this.#numbers[this.#start]!;
  }

  /** Adds a delay of the open batch, with its number and its row in the table of delayed messages. */
  add(openBatch: number, owner: DelayOwner, number: number, row: number): void {
    if (this.#end === this.#numbers.length) this.#makeRoom();
    const slot = this.#end++;
    this.#numbers[slot] = number;
    this.#rows[slot] = row;
    this.#owners[slot] = owner;
    const last = this.#batches.at(-1);
    if (last !== undefined && last.number === openBatch) last.end = this.#end;
    else this.#batches.push({ number: openBatch, end: this.#end, isDone: false });
  }

  /** Forgets the delays that are safe and ends those that were refused. */
  look(store: BatchDecisions): void {
    if (this.#batches.length === 0) return;
    const { safeBatch } = store;
    let slot = this.#start;
    for (const batch of this.#batches) {
      // A batch that the disk has refused may follow one that is not decided.
      if (!batch.isDone && store.isFailed(batch.number)) this.#undelay(slot, batch);
      slot = batch.end;
      if (batch.number > safeBatch && !store.isReadOnly) break;
    }
    this.#forget(safeBatch);
  }

  #undelay(start: number, batch: Batch): void {
    batch.isDone = true;
    for (let slot = start; slot < batch.end; slot++) {
      this.#owners[slot]!.undelay(this.#numbers[slot]!, this.#rows[slot]!);
    }
  }

  #forget(safeBatch: number): void {
    let done = 0;
    for (const batch of this.#batches) {
      if (!batch.isDone && batch.number > safeBatch) break;
      this.#start = batch.end;
      done++;
    }
    if (done > 0) this.#batches.splice(0, done);
    if (this.#batches.length > 0) return;
    this.#start = 0;
    this.#end = 0;
    this.#owners.length = 0;
    if (this.#numbers.length > KEPT_CAPACITY_MAX) this.#resize(CAPACITY_MIN);
  }

  // Moves all delays to the front, into arrays twice as long if that frees less than half of them.
  #makeRoom(): void {
    const start = this.#start;
    this.#numbers.copyWithin(0, start, this.#end);
    this.#rows.copyWithin(0, start, this.#end);
    this.#owners.splice(0, start);
    for (const batch of this.#batches) batch.end -= start;
    this.#start = 0;
    this.#end -= start;
    if (this.#end * 2 > this.#numbers.length) this.#resize(this.#numbers.length * 2);
  }

  #resize(capacity: number): void {
    const numbers = new Float64Array(capacity);
    const rows = new Uint32Array(capacity);
    numbers.set(this.#numbers.subarray(0, this.#end));
    rows.set(this.#rows.subarray(0, this.#end));
    this.#numbers = numbers;
    this.#rows = rows;
  }
}
