// The delayed messages of one queue whose timer has fired, on their way back to the queue. They go back
// in the order of their wake times; of equal times, the message that was rejected first goes first. This
// order is made here alone.
// Timers of equal times fire in the order in which they were set, which differs from that order when
// some were set anew. RetryQueue adds messages while timers fire; Retries takes them.

import type { DelayedTable } from "./delayed_table.ts";

/** Rows of the table of delayed messages, in the order in which the messages go back. */
export class DueMessages {
  readonly #table: DelayedTable;
  #rows: number[] = [];
  #wakesMs: number[] = [];
  #next = 0;
  #isSorted = true;

  constructor(table: DelayedTable) {
    this.#table = table;
  }

  get count(): number {
    return this.#rows.length - this.#next;
  }

  /** When the first message has woken, ms; Infinity when there is none. */
  get firstMs(): number {
    if (this.count === 0) return Infinity;
    this.#sort();
    return this.#wakesMs[this.#next]!;
  }

  /** When the last message has woken, ms; -Infinity when there is none. */
  get lastMs(): number {
    if (this.count === 0) return -Infinity;
    this.#sort();
    return this.#wakesMs.at(-1)!;
  }

  /** Adds a row whose timer, set for `wakeMs`, has fired. */
  add(row: number, wakeMs: number): void {
    const last = this.#rows.length - 1;
    if (last >= this.#next && this.#isBefore(row, wakeMs, last)) this.#isSorted = false;
    this.#rows.push(row);
    this.#wakesMs.push(wakeMs);
  }

  #isBefore(row: number, wakeMs: number, slot: number): boolean {
    const otherMs = this.#wakesMs[slot]!;
    if (wakeMs !== otherMs) return wakeMs < otherMs;
    return this.#table.numberAt(row) < this.#table.numberAt(this.#rows[slot]!);
  }

  /** Takes the next row that has woken before `beforeMs`; -1 when there is none. */
  take(beforeMs: number): number {
    if (this.firstMs >= beforeMs) return -1;
    const row = this.#rows[this.#next++]!;
    if (this.count === 0) this.clear();
    return row;
  }

  /** Removes a row. Returns false when the row was not among them. */
  remove(row: number): boolean {
    const slot = this.#rows.indexOf(row, this.#next);
    if (slot < 0) return false;
    this.#rows.splice(slot, 1);
    this.#wakesMs.splice(slot, 1);
    return true;
  }

  /** Forgets all rows. */
  clear(): void {
    this.#rows = [];
    this.#wakesMs = [];
    this.#next = 0;
    this.#isSorted = true;
  }

  #sort(): void {
    if (this.#isSorted) return;
    const rows = this.#rows;
    const wakesMs = this.#wakesMs;
    const slots = Array.from({ length: this.count }, (_, index) => this.#next + index);
    slots.sort((a, b) => {
      if (wakesMs[a] !== wakesMs[b]) return wakesMs[a]! - wakesMs[b]!;
      return this.#table.numberAt(rows[a]!) - this.#table.numberAt(rows[b]!);
    });
    this.#rows = slots.map((slot) => rows[slot]!);
    this.#wakesMs = slots.map((slot) => wakesMs[slot]!);
    this.#next = 0;
    this.#isSorted = true;
  }
}
