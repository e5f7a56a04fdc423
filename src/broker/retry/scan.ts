// Finds the delayed messages of a queue that are due first, in steps of bounded work: there may be
// millions, and clients must not wait while an operator looks. It reads the node's table row by row,
// then the pages that may have earlier messages than those it keeps. Messages that move between memory
// and pages meanwhile are followed. A message that is delayed meanwhile may be missed; the caller
// leaves out messages that have left. Management calls it within turns.

import type { Page } from "../../store/page.ts";
import type { RetryQueue } from "./retry_queue.ts";
import { compareRetries, type RetryName } from "./name.ts";

/** A step is done and there is more to do. */
const SCAN_MORE = 0;
/** A page is being read; the scan goes on when it has been. */
export const SCAN_READING = 1;
/** The scan has found everything. */
export const SCAN_DONE = 2;

/** A message that was found, as long as it is still where it was. */
export interface FoundRetry extends RetryName {
  /** Its row in the table, unless it is in a page. */
  row: number;
  page: Page | null;
}

/** What a scan looks for. */
export interface RetryScanOptions {
  /** Keeps the first messages, up to this number. */
  readonly countMax: number;
  /** Keeps only messages behind this one, which need not exist. */
  readonly after?: RetryName | undefined;
  /** Keeps no message behind this one. */
  readonly until?: RetryName | undefined;
  /** Whether messages that are kept stay in memory until they are due, once they have come there. */
  readonly holdsArrived?: boolean;
}

/** As many rows can be passed over in the time that it takes to keep one. */
const PASSED_PER_KEPT = 64;

const START: RetryName = { dueMs: -Infinity, number: 0 };
const END: RetryName = { dueMs: Infinity, number: 0 };

/** One pass over the delayed messages of one queue. The caller must `end` it. */
export class RetryScan {
  readonly #delayed: RetryQueue;
  readonly #countMax: number;
  readonly #after: RetryName;
  readonly #until: RetryName;
  readonly #holdsArrived: boolean;
  /** A heap whose first element is the latest of the messages kept. */
  readonly #kept: FoundRetry[] = [];
  readonly #byNumber = new Map<number, FoundRetry>();
  readonly #looked = new Set<Page>();
  #row = 0;
  #isReading = false;

  constructor(delayed: RetryQueue, options: RetryScanOptions) {
    const { countMax, after, until } = options;
    this.#delayed = delayed;
    this.#countMax = countMax;
    this.#after = after ?? START;
    this.#until = until ?? END;
    this.#holdsArrived = options.holdsArrived ?? false;
    delayed.scans.add(this);
  }

  /** Ends the pass. Messages are not followed any more. */
  end(): void {
    this.#delayed.scans.delete(this);
  }

  /**
   * Looks at up to `rowsMax` more rows, of which one that is kept counts as many, or at another page.
   * Returns one of `SCAN_*`; `resume` is called when a page has been read: between turns or, when its
   * file cannot be opened, at once.
   */
  step(rowsMax: number, resume: () => void): number {
    if (this.#isReading) return SCAN_READING;
    if (!this.#lookAtRows(rowsMax)) return SCAN_MORE;
    const page = this.#nextPage();
    if (page === null) return SCAN_DONE;
    this.#read(page, resume);
    return SCAN_READING;
  }

  // Returns whether all rows have been looked at.
  #lookAtRows(rowsMax: number): boolean {
    const { table } = this.#delayed;
    let left = rowsMax;
    while (left > 0 && this.#row < table.rowEnd) {
      const end = Math.min(table.rowEnd, this.#row + left);
      const row = this.#delayed.findRow(this.#row, end, { after: this.#after, until: this.#last });
      left -= row - this.#row;
      this.#row = row;
      if (row === end) continue;
      this.#offerRow(row);
      this.#row++;
      left -= PASSED_PER_KEPT;
    }
    return this.#row >= table.rowEnd;
  }

  /** The messages found, in no particular order. */
  get found(): FoundRetry[] {
    return [...this.#kept];
  }

  /** Called for a message that came from a page to a row of the table. */
  arrived(row: number): void {
    this.#offerRow(row);
    if (!this.#holdsArrived) return;
    const known = this.#byNumber.get(this.#delayed.table.numberAt(row));
    if (known !== undefined) this.#delayed.keepInMemory(row);
  }

  #offerRow(row: number): void {
    const { table } = this.#delayed;
    this.#offer(table.dueMsAt(row), table.numberAt(row), row, null);
  }

  /** Called for a message that is in a page now. */
  paged(number: number, page: Page): void {
    const known = this.#byNumber.get(number);
    if (known !== undefined) known.page = page;
  }

  // Everything is found when the message is there behind which nothing counts.
  #nextPage(): Page | null {
    const latest = this.#kept[0];
    if (latest !== undefined && compareRetries(latest, this.#until) === 0) return null;
    return this.#delayed.pageBetween(this.#after.dueMs, this.#last.dueMs, this.#looked);
  }

  // Nothing behind this name is kept any more.
  get #last(): RetryName {
    return this.#isFull ? this.#kept[0] ?? START : this.#until;
  }

  get #isFull(): boolean {
    return this.#kept.length === this.#countMax;
  }

  #read(page: Page, resume: () => void): void {
    this.#looked.add(page);
    this.#isReading = true;
    this.#delayed.peek(page, {
      wantsAddresses: false,
      visit: ({ dueMs, delayNumber }) => this.#offer(dueMs, delayNumber, 0, page),
      ended: () => {
        this.#isReading = false;
        resume();
      },
    });
  }

  #offer(dueMs: number, number: number, row: number, page: Page | null): void {
    const kept = this.#kept;
    if (reaches(this.#after, dueMs, number)) return;
    if (!reaches(this.#last, dueMs, number)) return;
    const known = this.#byNumber.get(number);
    if (known !== undefined) {
      known.row = row;
      known.page = page;
      return;
    }
    const found = { row, page, dueMs, number };
    this.#byNumber.set(number, found);
    if (!this.#isFull) {
      kept.push(found);
      this.#rise(kept.length - 1);
      return;
    }
    this.#byNumber.delete(kept[0]!.number);
    kept[0] = found;
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

// Whether `name` names the message that the numbers name, or one behind it.
function reaches(name: RetryName, dueMs: number, number: number): boolean {
  return name.dueMs > dueMs || (name.dueMs === dueMs && name.number >= number);
}
