// Which of a queue's delayed messages are not needed soon: a list of those in memory, in the order in
// which they came, and from it stretches of messages that wake at about the same time, the latest first,
// for the pager to write to pages. RetryQueue keeps it up to date; nothing here knows bytes or timers.
//
//   list   first ⇄ … ⇄ last      chosen   stretches that wait for the pager, or are being written

import {
  DELAYED_BYTES,
  emptyPagedMessage,
  type Page,
  type PagedMessage,
  type PageSource,
  type Stretch,
} from "../store/page.ts";
import { type DelayedTable, NO_ROW } from "./delayed_table.ts";

// Rows looked at in one go: the more, the nearer to each other are the times of a page.
const LOOKED_MAX = 8192;
// A wait is worth a page when it is so many times as long as the page is read ahead of it.
const HORIZON_LEADS = 10;
// The last message of a page waits so many times as long as the first,
const WAIT_RATIO_MAX = 2;
// if it has more messages than this part of what it may have.
const FEWEST_PART = 16;
// In place of the next row: the row is in no list.
const CHOSEN = NO_ROW - 1;
const OUT = NO_ROW - 2;

/** What {@link ColdDelays} are made of. */
export interface ColdDelaysParts {
  readonly table: DelayedTable;
  readonly source: PageSource;
  readonly messagesMax: number;
  readonly bodyBytesMax: number;
  readonly leadMs: number;
  /** Broker time, ms. */
  nowMs(): number;
  /** Delays from this number on may still be taken back. */
  unsafeNumber(): number;
  /** When the message of a row expires in its queue; Infinity when it does not. */
  endMsOf(row: number): number;
  /** Whether the queue holds the message of a row still. */
  holds(row: number): boolean;
  /** The messages of these rows are in pages. */
  pagedOut(rows: Uint32Array, pages: readonly Page[]): void;
}

/** The delayed messages of one queue that are in memory. */
export class ColdDelays {
  readonly parts: ColdDelaysParts;
  #first = NO_ROW;
  #last = NO_ROW;
  /** Where to go on looking, from the last row to the first. */
  #cursor = NO_ROW;
  #listedCount = 0;
  /** Whether a message may expire before it is due. */
  mayExpire = false;
  /** Nothing is looked for before this, ms, */
  #restUntilMs = -Infinity;
  /** unless so many more have come. */
  #restMessages = 0;
  /** Chosen and not being written. */
  #waiting: DelayedStretch[] = [];

  constructor(parts: ColdDelaysParts) {
    this.parts = parts;
  }

  /** A message is held back. */
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

  /** It is due, or gone. */
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

  /** Everything is gone. */
  clear(): void {
    this.#first = NO_ROW;
    this.#last = NO_ROW;
    this.#cursor = NO_ROW;
    this.#listedCount = 0;
    this.#waiting = [];
  }

  /** How much may be chosen, in pages. */
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

  // Makes stretches that are as large as they may be, or have `messagesMin` messages.
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
    // What wakes last is written first.
    this.#waiting = made.reverse();
    // What is left has to wait for the disk, or is not worth a page; time may change either.
    const isSpare = messagesMin < messagesMax;
    if (isSpare && made.length === 0 && this.#cursor === NO_ROW) {
      this.#restUntilMs = nowMs() + leadMs;
      this.#restMessages = messagesMax;
    }
  }

  // Where the stretch begins that ends there. What wakes much earlier than its last message would have all
  // of it read, and most of it written again; a few are not worth a page of their own.
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

  // Rows that may be written, by the time at which they wake.
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

  /** What wakes before this stays in memory, ms. */
  get soonMs(): number {
    return this.parts.nowMs() + HORIZON_LEADS * this.parts.leadMs;
  }

  wakeMsOf(row: number): number {
    const dueMs = this.parts.table.dueMsAt(row);
    return this.mayExpire ? Math.min(dueMs, this.parts.endMsOf(row)) : dueMs;
  }

  /** Takes a stretch out of those that wait; false when it is not among them. */
  started(stretch: DelayedStretch): boolean {
    const at = this.#waiting.indexOf(stretch);
    if (at >= 0) this.#waiting.splice(at, 1);
    return at >= 0;
  }

  /** Whether the row is that of the delay still, and chosen. */
  isChosen(row: number, number: number): boolean {
    const { table } = this.parts;
    const isSame = table.numberAt(row) === number && this.parts.holds(row);
    return isSame && table.nextOf(row) === CHOSEN;
  }
}

// Rows by a number of each, at most LOOKED_MAX of them. A row and its number are made one number, because
// those are sorted many times as fast as with a comparison of ours.
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

  // By position, without those that have left.
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
    // It may have waited too long.
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
