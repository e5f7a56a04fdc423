// Delays that a crash could still take back: in which batch each one was entered, until the store has
// decided it. Retries enter them, the broker has it look after every commit. What the disk refused
// goes back to its queue at once (docs/storage.md "Errors of the disk"). Flat arrays, one group per
// batch.

import type { Store } from "../store/port.ts";

const CAPACITY_MIN = 64;
// Larger arrays are given up when they are empty.
const KEPT_CAPACITY_MAX = 65_536;

/** What a store says of its batches. */
export type BatchDecisions = Pick<Store, "safeBatch" | "isFailed" | "isReadOnly">;

/** Takes back what cannot be kept delayed. */
export interface DelayOwner {
  /** The delay was not stored; nothing happens if it has ended meanwhile. */
  undelay(number: number, row: number): void;
}

interface Batch {
  readonly number: number;
  /** Slot behind its last delay. */
  end: number;
  isDone: boolean;
}

/** Delays of one node whose batch is not decided. */
export class UnsafeDelays {
  #numbers = new Float64Array(CAPACITY_MIN);
  #rows = new Uint32Array(CAPACITY_MIN);
  #owners: DelayOwner[] = [];
  #batches: Batch[] = [];
  /** First slot of the first batch; those before it are free. */
  #start = 0;
  #end = 0;

  /** How many there are. */
  get count(): number {
    return this.#end - this.#start;
  }

  /** Number of the first of them; Infinity when there is none. */
  get firstNumber(): number {
    return this.count === 0 ? Infinity : this.#numbers[this.#start]!;
  }

  /** A delay was entered into the open batch: its number, and its row in the table of delayed messages. */
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

  /** Forgets what is safe and has what was refused undelayed. */
  look(store: BatchDecisions): void {
    if (this.#batches.length === 0) return;
    const { safeBatch } = store;
    let slot = this.#start;
    for (const batch of this.#batches) {
      // Behind a batch that is not decided there may be one that the disk has refused.
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

  // Moves everything to the front, into arrays twice as long if that frees less than half of them.
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
