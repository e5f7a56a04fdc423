// A queue's retry queue: the messages it holds back until their delay is over, as a group of timers in
// the scheduler (docs/automatic-retries.md "The retry queue"). Under pressure those that wake late are
// in pages on a disk instead, where the store has such. Queue puts messages in and gets them back when
// they are due; nothing here decides how long a message waits or what becomes of it.

import { type Scheduler, SchedulerFullError } from "../schedule/scheduler.ts";
import type { DelayedPages, LoadedMessages, Page, PageSource, Stretch } from "../store/page.ts";
import type { TakenMessages } from "../store/port.ts";
import type { Broker } from "./broker.ts";
import { ColdDelays } from "./cold_delays.ts";
import type { DelayedMessage, DelayedTable } from "./delayed_table.ts";
import { DueMessages } from "./due_messages.ts";
import { RetryPages } from "./retry_pages.ts";
import { TakenDelays } from "./taken_delays.ts";

// When more is due, it goes back although something that should go before it is not there yet.
const DUE_WAITING_MAX = 65_536;

/** What a {@link RetryQueue} is made of. */
export interface RetryQueueParts {
  readonly queueId: number;
  readonly broker: RetryBroker;
  /** When the message of a row expires in its queue; Infinity when it does not. */
  endMsOf(row: number): number;
  /** Something is due, or what was due need not wait any more: it is to be taken with `takeDue`. */
  onDue(): void;
  /** No timer can be had for the message of a row, which was in a page. */
  onUnheld(row: number): void;
}

/** What a retry queue needs of its node. */
export type RetryBroker = Pick<
  Broker,
  "scheduler" | "delayedTable" | "timers" | "nowMs" | "store" | "unsafeDelays"
>;

/** The delayed messages of one queue. */
export class RetryQueue implements PageSource {
  readonly name: string;
  readonly queueId: number;
  readonly #parts: RetryQueueParts;
  readonly #scheduler: Scheduler;
  readonly #table: DelayedTable;
  readonly #group: number;
  readonly #due: DueMessages;
  /** Names its rows in the table; another one after each purge. */
  #owner: number;
  readonly #disk: DelayedPages | null;
  readonly #pages: RetryPages | null;
  readonly #cold: ColdDelays | null;
  /** Messages held back, wherever they are, */
  count = 0;
  /** and the bytes of their bodies. */
  bodyBytes = 0;
  /** Those in memory, where there may be pages. */
  #heldCount = 0;
  #grownCount = 0;

  constructor(name: string, parts: RetryQueueParts) {
    const { broker, queueId } = parts;
    this.name = name;
    this.queueId = queueId;
    this.#parts = parts;
    this.#scheduler = broker.scheduler;
    this.#table = broker.delayedTable;
    this.#owner = this.#table.takeOwner();
    this.#due = new DueMessages(this.#table);
    this.#group = this.#scheduler.openGroup((row, wakeMs) => this.#wake(row, wakeMs));
    const disk = broker.store.delayedPages;
    this.#disk = disk;
    this.#pages = disk === null ? null : this.#makePages(disk);
    this.#cold = disk === null ? null : this.#makeCold(disk);
    disk?.open(this);
  }

  #makePages(pages: DelayedPages): RetryPages {
    const { broker, onDue } = this.#parts;
    return new RetryPages({
      pages,
      makeTimer: (callback) => broker.timers.make(callback),
      nowMs: () => broker.nowMs,
      onChange: onDue,
    });
  }

  #makeCold({ messagesMax, bodyBytesMax, leadMs }: DelayedPages): ColdDelays {
    const { broker, endMsOf } = this.#parts;
    return new ColdDelays({
      table: this.#table,
      source: this,
      messagesMax,
      bodyBytesMax,
      leadMs,
      nowMs: () => broker.nowMs,
      unsafeNumber: () => broker.unsafeDelays.firstNumber,
      endMsOf,
      holds: (row) => this.holds(row),
      pagedOut: (rows, pages) => this.#pagedOut(rows, pages),
    });
  }

  /**
   * Holds a message back until `wakeMs`, which is its due time or an earlier expiry; the answer is its
   * row in the table.
   * @throws SchedulerFullError when no timer can be had; nothing has changed then
   */
  add(message: DelayedMessage, wakeMs: number): number {
    const row = this.#table.add(message, this.#owner);
    try {
      this.#table.setHandle(row, this.#scheduler.insert(this.#group, wakeMs, row));
    } catch (error) {
      this.#table.remove(row);
      throw error;
    }
    this.#counted(1, message.bodyBytes);
    this.#held(row, wakeMs < message.dueMs);
    return row;
  }

  #counted(messages: number, bodyBytes: number): void {
    this.count += messages;
    this.bodyBytes += bodyBytes;
    this.#table.count += messages;
    this.#table.bodyBytes += bodyBytes;
  }

  // It is in memory, and may be written to a page.
  #held(row: number, expires: boolean): void {
    if (this.#disk === null) return;
    const cold = this.#cold!;
    this.#disk.delayedCount++;
    this.#heldCount++;
    cold.add(row);
    if (expires) cold.mayExpire = true;
    if (++this.#grownCount < this.#disk.messagesMax) return;
    this.#grownCount = 0;
    this.#disk.grown(this);
  }

  #wake(row: number, wakeMs: number): void {
    this.#cold?.remove(row);
    this.#due.add(row, wakeMs);
    if (this.#due.count === 1) this.#parts.onDue();
  }

  /** Stops the timer of a message that is to be taken before it is due. */
  cancel(row: number): void {
    if (!this.#scheduler.cancel(this.#table.handleAt(row))) this.#due.remove(row);
  }

  /** The next row that has woken before `beforeMs`; -1 when there is none. It must be taken. */
  takeDue(beforeMs: number): number {
    if (this.#due.count > DUE_WAITING_MAX) return this.#due.take(Infinity);
    return this.#due.take(Math.min(beforeMs, this.#pages?.expectedMs ?? Infinity));
  }

  /** Whether anything is due. */
  get hasDue(): boolean {
    return this.#due.count > 0;
  }

  /** Gives up the message whose timer has fired or was cancelled. */
  take(row: number): void {
    this.#counted(-1, -this.#table.bodyBytesAt(row));
    if (this.#disk !== null) {
      this.#disk.delayedCount--;
      this.#heldCount--;
      this.#cold!.remove(row);
    }
    this.#table.remove(row);
  }

  /** Whether it holds the message of a row. */
  holds(row: number): boolean {
    return this.#table.ownerAt(row) === this.#owner;
  }

  /** Gives up everything at once; the store lets go of it. */
  takeAll(): TakenMessages {
    const { count, pagedCount } = this;
    const taken = new TakenDelays(this.#table, this.#owner, { count, pagedCount });
    this.#due.clear();
    this.#scheduler.clearGroup(this.#group);
    this.#cold?.clear();
    this.#pages?.clear();
    if (this.#disk !== null) this.#disk.delayedCount -= this.#heldCount;
    this.#heldCount = 0;
    this.#counted(-this.count, -this.bodyBytes);
    this.#owner = this.#table.takeOwner();
    return taken;
  }

  /** Gives up the timers; everything must have been cleared. */
  close(): void {
    this.#scheduler.closeGroup(this.#group);
    this.#disk?.close(this);
  }

  // --- what operators see

  /** Messages that are in pages: nothing but when they wake is known of them. */
  get pagedCount(): number {
    return this.#pages?.messageCount ?? 0;
  }

  /** Some of the messages in memory, by the time at which they wake. */
  list(offset: number, limit: number): DelayedMessage[] {
    const table = this.#table;
    return this.#rows(offset, limit).map((row) => ({
      ref: table.refAt(row),
      position: table.positionAt(row),
      entry: table.entryAt(row),
      bodyBytes: table.bodyBytesAt(row),
      dueMs: table.dueMsAt(row),
      number: table.numberAt(row),
    }));
  }

  #rows(offset: number, limit: number): number[] {
    const rows = this.#due.list(offset, limit);
    const skipped = Math.max(0, offset - this.#due.count);
    for (const timer of this.#scheduler.list(this.#group, skipped, limit - rows.length)) {
      rows.push(timer.payload);
    }
    return rows;
  }

  /** When the next message wakes, Infinity when there is none. */
  get nextDueMs(): number {
    const inMemoryMs = Math.min(this.#due.firstMs, this.#scheduler.firstDueMs(this.#group));
    return Math.min(inMemoryMs, this.#pages?.firstMs ?? Infinity);
  }

  /** When the last message wakes, -Infinity when there is none. */
  get lastDueMs(): number {
    const inMemoryMs = Math.max(this.#due.lastMs, this.#scheduler.lastDueMs(this.#group));
    return Math.max(inMemoryMs, this.#pages?.lastMs ?? -Infinity);
  }

  // --- pages

  get chunkCount(): number {
    return this.#cold!.chunkCount;
  }

  coldStretches(max: number): Stretch[] {
    return this.#cold!.coldStretches(max);
  }

  spareStretch(messagesMin: number): Stretch | null {
    return this.#cold!.spareStretch(messagesMin);
  }

  #pagedOut(rows: Uint32Array, pages: readonly Page[]): void {
    for (const row of rows) {
      this.cancel(row);
      this.take(row);
    }
    for (const page of pages) this.pushPage(page);
  }

  pushPage(page: Page): void {
    this.#table.lastNumber = Math.max(this.#table.lastNumber, page.place.delays!.lastNumber);
    this.#counted(page.count, page.bodyBytes);
    this.#pages!.add(page);
  }

  pagedIn(page: Page, loaded: LoadedMessages): void {
    this.#counted(-page.count, -page.bodyBytes);
    for (let i = 0; i < loaded.count; i++) {
      const row = this.#table.add({
        ref: loaded.refs[i]!,
        position: loaded.positions[i]!,
        entry: loaded.entries[i]!,
        bodyBytes: loaded.bodyBytes[i]!,
        dueMs: loaded.duesMs[i]!,
        number: loaded.delayNumbers[i]!,
      }, this.#owner);
      this.#counted(1, loaded.bodyBytes[i]!);
      this.#held(row, loaded.endsMs[i]! < loaded.duesMs[i]!);
      this.#rouse(row, Math.ceil(Math.min(loaded.duesMs[i]!, loaded.endsMs[i]!)));
    }
  }

  // What should have woken already goes back with what is due, and not after it.
  #rouse(row: number, wakeMs: number): void {
    if (wakeMs <= this.#parts.broker.nowMs) return this.#wake(row, wakeMs);
    try {
      this.#table.setHandle(row, this.#scheduler.insert(this.#group, wakeMs, row));
    } catch (error) {
      if (!(error instanceof SchedulerFullError)) throw error;
      this.#parts.onUnheld(row);
    }
  }
}
