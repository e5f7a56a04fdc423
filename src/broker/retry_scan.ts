// Finds the delayed messages of a queue that are due first, in steps of bounded work: there may be
// millions, and clients must not wait while an operator looks. It reads the node's table row by row and
// keeps the earliest messages. A message that arrives meanwhile may be missed; the caller leaves out
// messages that have left. Management calls it within turns.

import type { DelayedTable } from "./delayed_table.ts";
import type { RetryQueue } from "./delayed.ts";

/** A message that was found, as long as it is still in its row. */
export interface FoundRetry {
  readonly row: number;
  readonly dueMs: number;
  /** Number of the delay. The row has another number when the message has left. */
  readonly number: number;
}

/** Compares by the order in which delayed messages go back. */
export function compareRetries(a: FoundRetry, b: FoundRetry): number {
  return a.dueMs - b.dueMs || a.number - b.number;
}

/** One pass over the table for the earliest messages of one queue. */
export class RetryScan {
  readonly #table: DelayedTable;
  readonly #delayed: RetryQueue;
  readonly #countMax: number;
  /** A heap whose first element is the latest of the messages kept. */
  readonly #kept: FoundRetry[] = [];
  #row = 0;

  /** Starts a pass that keeps the first `countMax` messages. */
  constructor(table: DelayedTable, delayed: RetryQueue, countMax: number) {
    this.#table = table;
    this.#delayed = delayed;
    this.#countMax = countMax;
  }

  /** Looks at up to `rowsMax` more rows. Returns true after the last row. */
  step(rowsMax: number): boolean {
    const table = this.#table;
    const end = Math.min(table.rowEnd, this.#row + rowsMax);
    for (; this.#row < end; this.#row++) {
      if (this.#delayed.holds(this.#row)) this.#offer(this.#row);
    }
    return this.#row >= table.rowEnd;
  }

  /** The messages found, in no particular order. */
  get found(): FoundRetry[] {
    return this.#kept;
  }

  #offer(row: number): void {
    const dueMs = this.#table.dueMsAt(row);
    const number = this.#table.numberAt(row);
    const kept = this.#kept;
    if (kept.length < this.#countMax) {
      kept.push({ row, dueMs, number });
      this.#rise(kept.length - 1);
      return;
    }
    const latest = kept[0];
    if (latest === undefined) return;
    if (dueMs > latest.dueMs || (dueMs === latest.dueMs && number > latest.number)) return;
    kept[0] = { row, dueMs, number };
    this.#sink();
  }

  #rise(start: number): void {
    const kept = this.#kept;
    const moved = kept[start]!;
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (compareRetries(kept[parent]!, moved) >= 0) break;
      kept[at] = kept[parent]!;
      at = parent;
    }
    kept[at] = moved;
  }

  #sink(): void {
    const kept = this.#kept;
    const moved = kept[0]!;
    let at = 0;
    for (let child = 1; child < kept.length; child = 2 * at + 1) {
      const other = child + 1;
      if (other < kept.length && compareRetries(kept[other]!, kept[child]!) > 0) child = other;
      if (compareRetries(moved, kept[child]!) >= 0) break;
      kept[at] = kept[child]!;
      at = child;
    }
    kept[at] = moved;
  }
}
