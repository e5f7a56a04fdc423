// Chooses the delayed messages of a queue that are not needed soon, for the pager to write to pages.
// It lists the delayed messages in memory in order of arrival, and cuts from that list stretches of
// messages that wake at about the same time, the latest first. RetryQueue keeps the list up to date;
// nothing here knows bytes or timers.
//
//   list   first ⇄ … ⇄ last      chosen   stretches that wait for the pager, or are being written

import {
  DELAYED_BYTES,
  emptyPagedMessage,
  type Page,
  type PagedMessage,
  type PageSource,
  type Stretch,
} from "../../store/page.ts";
import { type DelayedTable, NO_ROW } from "./delayed_table.ts";

// Rows examined in one pass. The more rows, the closer to each other the messages of a page wake.
const LOOKED_MAX = 8192;
// A message is paged only if it waits this many times as long as the lead with which a page is read.
const HORIZON_LEADS = 10;
// In a page, the last message waits at most this many times as long as the first.
const WAIT_RATIO_MAX = 2;
// A page with fewer than messagesMax / FEWEST_PART messages may exceed that ratio.
const FEWEST_PART = 16;
// In place of the next row. CHOSEN: the row is in a stretch and not in the list. OUT: the row is in
// neither.
const CHOSEN = NO_ROW - 1;
const OUT = NO_ROW - 2;

/** The parts and settings of {@link ColdDelays}. */
export interface ColdDelaysParts {
  readonly table: DelayedTable;
  readonly source: PageSource;
  readonly messagesMax: number;
  readonly bodyBytesMax: number;
  readonly leadMs: number;
  /** Broker time, ms. */
  nowMs(): number;
  /** Number of the first delay that may still be undone; see unsafe_delays.ts. */
  unsafeNumber(): number;
  /** Time at which the message of a row expires in its queue, ms; Infinity when it does not. */
  endMsOf(row: number): number;
  /** Whether the queue still holds the message of a row. */
  holds(row: number): boolean;
  /** Called when the messages of these rows have been written to pages. */
  pagedOut(rows: Uint32Array, pages: readonly Page[]): void;
}

/** The delayed messages of one queue that are in memory. */
export class ColdDelays {
  readonly parts: ColdDelaysParts;
  #first = NO_ROW;
  #last = NO_ROW;
  /** The row at which the next pass starts; a pass goes from the last row to the first. */
  #cursor = NO_ROW;
  #listedCount = 0;
  /** Whether a message may expire before it is due. */
  mayExpire = false;
  /** No stretch is looked for before this broker time, ms, unless #restMessages have come. */
  #restUntilMs = -Infinity;
  /** How many more messages must come before the rest ends early. */
  #restMessages = 0;
  /** Stretches that are chosen and not yet being written. */
  #waiting: DelayedStretch[] = [];

  constructor(parts: ColdDelaysParts) {
    this.parts = parts;
  }

  /** Adds a message that is delayed now and is in memory. */
  add(row: number): void {
    const { table } = this.parts;
    table.setNext(row, NO_ROW);
    table.setPrevious(row, this.#last);
    if (this.#last === NO_ROW) this.#first = row;
    else table.setNext(this.#last, row);
    this.#last = row;
    this.#listedCount++;
    this.#restMessages--;
  }

  /** Removes a message that is due or gone. */
  remove(row: number): void {
    const { table } = this.parts;
    const next = table.nextOf(row);
    if (next !== CHOSEN && next !== OUT) this.#unlist(row);
    table.setNext(row, OUT);
  }

  #unlist(row: number): void {
    const { table } = this.parts;
    const next = table.nextOf(row);
    const previous = table.previousOf(row);
    if (row === this.#cursor) this.#cursor = previous;
    if (previous === NO_ROW) this.#first = next;
    else table.setNext(previous, next);
    if (next === NO_ROW) this.#last = previous;
    else table.setPrevious(next, previous);
    this.#listedCount--;
  }

  /** Forgets all messages. */
  clear(): void {
    this.#first = NO_ROW;
    this.#last = NO_ROW;
    this.#cursor = NO_ROW;
    this.#listedCount = 0;
    this.#waiting = [];
  }

  /** The number of pages that the listed and chosen messages would fill. */
  get chunkCount(): number {
    return this.#waiting.length + this.#listedCount / this.parts.messagesMax;
  }

  /** See PageSource. */
  coldStretches(max: number): Stretch[] {
    this.#choose(this.parts.messagesMax);
    return this.#waiting.slice(-max).reverse();
  }

  /** See PageSource. */
  spareStretch(messagesMin: number): Stretch | null {
    this.#choose(messagesMin);
    return this.#waiting.at(-1) ?? null;
  }

  // Makes stretches that are as large as allowed, or that have at least `messagesMin` messages.
  #choose(messagesMin: number): void {
    const { messagesMax, leadMs, nowMs } = this.parts;
    if (this.#waiting.length > 0 || this.#listedCount < messagesMin) return;
    if (nowMs() < this.#restUntilMs && this.#restMessages > 0) return;
    const rows = this.#look();
    const made: DelayedStretch[] = [];
    for (let end = rows.length; end > 0;) {
      const start = this.#startOf(rows, end);
      if (start === 0 && end < messagesMin) break;
      made.push(this.#stretchOf(rows.slice(start, end)));
      end = start;
    }
    // The pager takes stretches from the end, so the messages that wake last are written first.
    this.#waiting = made.reverse();
    // The messages that are left are unsafe or not worth a page. Time may change either.
    const isSpare = messagesMin < messagesMax;
    if (isSpare && made.length === 0 && this.#cursor === NO_ROW) {
      this.#restUntilMs = nowMs() + leadMs;
      this.#restMessages = messagesMax;
    }
  }

  // Returns the start of the stretch that ends at `end`. A message that wakes much earlier than the
  // last one would have the whole page read early and most of it written again. A few messages are
  // not worth a page of their own.
  #startOf(rows: Uint32Array, end: number): number {
    const { table, messagesMax, bodyBytesMax, nowMs } = this.parts;
    const now = nowMs();
    const nearMs = now + (this.wakeMsOf(rows[end - 1]!) - now) / WAIT_RATIO_MAX;
    const fewest = end - messagesMax / FEWEST_PART;
    let start = end;
    for (let bodyBytes = 0; start > 0 && end - start < messagesMax; start--) {
      const row = rows[start - 1]!;
      bodyBytes += table.bodyBytesAt(row);
      if (bodyBytes > bodyBytesMax) break;
      if (start <= fewest && this.wakeMsOf(row) < nearMs) break;
    }
    return start;
  }

  #stretchOf(rows: Uint32Array): DelayedStretch {
    for (const row of rows) {
      this.#unlist(row);
      this.parts.table.setNext(row, CHOSEN);
    }
    return new DelayedStretch(this, rows);
  }

  // Returns rows that may be written, sorted by the time at which they wake.
  #look(): Uint32Array {
    const { table, bodyBytesMax } = this.parts;
    const unsafeNumber = this.parts.unsafeNumber();
    const { soonMs } = this;
    const rows: number[] = [];
    const wakesMs: number[] = [];
    let row = this.#cursor === NO_ROW ? this.#last : this.#cursor;
    for (let looked = 0; row !== NO_ROW && looked < LOOKED_MAX; looked++) {
      const isFit = table.numberAt(row) < unsafeNumber && table.bodyBytesAt(row) <= bodyBytesMax;
      const wakeMs = isFit ? this.wakeMsOf(row) : 0;
      if (wakeMs > soonMs) {
        rows.push(row);
        wakesMs.push(wakeMs);
      }
      row = table.previousOf(row);
    }
    this.#cursor = row;
    return sorted(rows, wakesMs);
  }

  /** Messages that wake before this time stay in memory, ms. */
  get soonMs(): number {
    return this.parts.nowMs() + HORIZON_LEADS * this.parts.leadMs;
  }

  wakeMsOf(row: number): number {
    const dueMs = this.parts.table.dueMsAt(row);
    return this.mayExpire ? Math.min(dueMs, this.parts.endMsOf(row)) : dueMs;
  }

  /** Removes a stretch from those that wait. Returns false when it is not among them. */
  started(stretch: DelayedStretch): boolean {
    const at = this.#waiting.indexOf(stretch);
    if (at >= 0) this.#waiting.splice(at, 1);
    return at >= 0;
  }

  /** Whether the row still belongs to the delay `number` and is chosen. */
  isChosen(row: number, number: number): boolean {
    const { table } = this.parts;
    const isSame = table.numberAt(row) === number && this.parts.holds(row);
    return isSame && table.nextOf(row) === CHOSEN;
  }
}

// Sorts at most LOOKED_MAX rows by a number of each. Key and slot are combined into one number,
// because numbers sort many times faster than with a comparison function.
function sorted(rows: readonly number[], by: readonly number[]): Uint32Array {
  const count = rows.length;
  let first = Infinity;
  for (let slot = 0; slot < count; slot++) first = Math.min(first, by[slot]!);
  const keys = new Float64Array(count);
  for (let slot = 0; slot < count; slot++) {
    keys[slot] = Math.floor(by[slot]! - first) * LOOKED_MAX + slot;
  }
  keys.sort();
  const ordered = new Uint32Array(count);
  for (let index = 0; index < count; index++) ordered[index] = rows[keys[index]! % LOOKED_MAX]!;
  return ordered;
}

/** Messages that wake at about the same time. */
class DelayedStretch implements Stretch {
  readonly #cold: ColdDelays;
  #rows: Uint32Array;
  #numbers: Float64Array;
  #hasBegun = false;
  readonly #message: PagedMessage = emptyPagedMessage();

  constructor(cold: ColdDelays, rows: Uint32Array) {
    this.#cold = cold;
    this.#rows = rows;
    this.#numbers = this.#numbersOf(rows);
  }

  #numbersOf(rows: Uint32Array): Float64Array {
    const { table } = this.#cold.parts;
    const numbers = new Float64Array(rows.length);
    for (let index = 0; index < rows.length; index++) numbers[index] = table.numberAt(rows[index]!);
    return numbers;
  }

  get source(): PageSource {
    return this.#cold.parts.source;
  }

  get memoryBytes(): number {
    return this.#rows.length * DELAYED_BYTES;
  }

  each(visit: (message: PagedMessage) => void): void {
    const { table, endMsOf } = this.#cold.parts;
    const message = this.#message;
    if (!this.#hasBegun) this.#order();
    for (const row of this.#rows) {
      message.ref = table.refAt(row);
      message.position = table.positionAt(row);
      message.entry = table.entryAt(row);
      message.endMs = endMsOf(row);
      message.dueMs = table.dueMsAt(row);
      message.delayNumber = table.numberAt(row);
      visit(message);
    }
  }

  // Sorts the rows by position and leaves out messages that have left.
  #order(): void {
    const { table } = this.#cold.parts;
    const rows: number[] = [];
    const positions: number[] = [];
    for (let index = 0; index < this.#rows.length; index++) {
      const row = this.#rows[index]!;
      if (!this.#cold.isChosen(row, this.#numbers[index]!)) continue;
      rows.push(row);
      positions.push(table.positionAt(row));
    }
    this.#rows = sorted(rows, positions);
    this.#numbers = this.#numbersOf(this.#rows);
  }

  begin(): boolean {
    const cold = this.#cold;
    if (!cold.started(this)) return false;
    const { soonMs } = cold;
    this.#hasBegun = this.isWhole() && this.#rows.every((row) => cold.wakeMsOf(row) > soonMs);
    // The stretch may have waited until some of its messages wake too soon.
    if (!this.#hasBegun) this.abandon();
    return this.#hasBegun;
  }

  isWhole(): boolean {
    return this.#rows.every((row, index) => this.#cold.isChosen(row, this.#numbers[index]!));
  }

  abandon(): void {
    const cold = this.#cold;
    for (const [index, row] of this.#rows.entries()) {
      if (cold.isChosen(row, this.#numbers[index]!)) cold.add(row);
    }
  }

  refuse(ref: number, position: number): void {
    const cold = this.#cold;
    const { table } = cold.parts;
    cold.started(this);
    for (const [index, row] of this.#rows.entries()) {
      if (table.numberAt(row) !== this.#numbers[index] || !cold.parts.holds(row)) continue;
      if (table.positionAt(row) === position && table.refAt(row) === ref) cold.remove(row);
    }
    this.abandon();
  }

  pagedOut(pages: readonly Page[]): void {
    this.#cold.parts.pagedOut(this.#rows, pages);
  }
}
