// Finds the delayed messages of a queue that are due first, in steps of bounded work: there may be
// millions, and nobody is to wait while an operator looks. It goes through the node's table row by row
// and keeps the earliest; what comes or goes meanwhile may be missed, what has gone is not shown.
// Management asks within turns.

import type { DelayedTable } from "./delayed_table.ts";
import type { RetryQueue } from "./delayed.ts";

/** A message that was found, if it is still in its row. */
export interface FoundRetry {
  readonly row: number;
  readonly dueMs: number;
  /** Names the delay; the row has another number when the message has gone. */
  readonly number: number;
}

/** The order in which delayed messages come back. */
export function compareRetries(a: FoundRetry, b: FoundRetry): number {
  return a.dueMs - b.dueMs || a.number - b.number;
}

/** One look through the table for the earliest messages of one queue. */
export class RetryScan {
  readonly #table: DelayedTable;
  readonly #delayed: RetryQueue;
  readonly #countMax: number;
  /** A heap whose first is the latest of those that are kept. */
  readonly #kept: FoundRetry[] = [];
  #row = 0;

  /** Looks for the first `countMax`. */
  constructor(table: DelayedTable, delayed: RetryQueue, countMax: number) {
    this.#table = table;
    this.#delayed = delayed;
    this.#countMax = countMax;
  }

  /** Looks at up to `rowsMax` more rows; whether that was the last of them. */
  step(rowsMax: number): boolean {
    const table = this.#table;
    const end = Math.min(table.rowEnd, this.#row + rowsMax);
    for (; this.#row < end; this.#row++) {
      if (this.#delayed.holds(this.#row)) this.#offer(this.#row);
    }
    return this.#row >= table.rowEnd;
  }

  /** What was found, in no order. */
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
