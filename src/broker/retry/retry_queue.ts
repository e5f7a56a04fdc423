// The retry queue of a queue: the messages that wait until their delay is over, as a group of timers
// in the scheduler (docs/automatic-retries.md "The retry queue"). When memory is short, messages that
// wake late are in pages on disk, if the store has pages. Queue puts messages in and takes them back
// when they are due. Nothing here decides how long a message waits or what happens to it then.

import { type Scheduler, SchedulerFullError } from "../../schedule/scheduler.ts";
import type {
  DelayedPages,
  LoadedMessages,
  Page,
  PageSource,
  PageVisitor,
  Stretch,
} from "../../store/page.ts";
import type { TakenMessages } from "../../store/port.ts";
import { ColdDelays } from "./cold_delays.ts";
import type { DelayedMessage, DelayedTable } from "./delayed_table.ts";
import { DueMessages } from "./due_messages.ts";
import type { RetryQueueBroker } from "./home.ts";
import type { RetryRange } from "./name.ts";
import { RetryPages } from "./pages.ts";
import type { FoundRetry, RetryScan } from "./scan.ts";
import { TakenDelays } from "./taken_delays.ts";

// When more messages than this are due, they no longer wait for earlier ones that are being read.
const DUE_WAITING_MAX = 65_536;

/** The parts of a {@link RetryQueue}. */
export interface RetryQueueParts {
  readonly queueId: number;
  readonly broker: RetryQueueBroker;
  /** Time at which the message of a row expires in its queue, ms; Infinity when it does not. */
  endMsOf(row: number): number;
  /**
   * Called when a message is due, or due messages no longer wait for a page. They are taken with
   * `takeDue`.
   */
  onDue(): void;
  /** Called when the scheduler has no timer left for the message of a row that came from a page. */
  onUnheld(row: number): void;
}

/** The delayed messages of one queue. */
export class RetryQueue implements PageSource {
  readonly name: string;
  readonly queueId: number;
  readonly #parts: RetryQueueParts;
  /** Looks for messages that are under way. */
  readonly scans = new Set<RetryScan>();
  readonly #scheduler: Scheduler;
  readonly #table: DelayedTable;
  readonly #group: number;
  readonly #due: DueMessages;
  /** Marks the rows of this queue in the table. A purge replaces it. */
  #owner: number;
  readonly #disk: DelayedPages | null;
  readonly #pages: RetryPages | null;
  readonly #cold: ColdDelays | null;
  /** Number of delayed messages, in memory and in pages. */
  count = 0;
  /** Bytes of the bodies of all delayed messages. */
  bodyBytes = 0;
  /** Number of delayed messages in memory; kept only if the store has pages. */
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
   * Delays a message until `wakeMs`, which is its due time or an earlier expiry. Returns its row in
   * the table.
   * @throws SchedulerFullError when the scheduler has no timer left; nothing has changed then
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

  // The message is in memory and may be written to a page.
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

  /** Stops the timer of a message that is taken before it is due. */
  cancel(row: number): void {
    if (!this.#scheduler.cancel(this.#table.handleAt(row))) this.#due.remove(row);
  }

  /**
   * Returns the next row that has woken before `beforeMs`; -1 when there is none. The caller must
   * take it.
   */
  takeDue(beforeMs: number): number {
    if (this.#due.count > DUE_WAITING_MAX) return this.#due.take(Infinity);
    return this.#due.take(Math.min(beforeMs, this.#pages?.expectedMs ?? Infinity));
  }

  /** Whether any message is due. */
  get hasDue(): boolean {
    return this.#due.count > 0;
  }

  /** Removes the message whose timer has fired or was cancelled. */
  take(row: number): void {
    this.#counted(-1, -this.#table.bodyBytesAt(row));
    if (this.#disk !== null) {
      this.#disk.delayedCount--;
      this.#heldCount--;
      this.#cold!.remove(row);
    }
    this.#table.remove(row);
  }

  /** Whether the message of a row belongs to this queue. */
  holds(row: number): boolean {
    return this.#table.ownerAt(row) === this.#owner;
  }

  /** Removes all messages at once; the store releases them. */
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

  /** Ends the group of timers. All messages must have been removed before. */
  close(): void {
    this.#scheduler.closeGroup(this.#group);
    this.#disk?.close(this);
  }

  // --- what the management API shows

  /** The table in which the messages in memory are. */
  get table(): DelayedTable {
    return this.#table;
  }

  /** Number of messages in pages. */
  get pagedCount(): number {
    return this.#pages?.messageCount ?? 0;
  }

  /** Whether a message that was found is in memory, in the same row. */
  isHeld({ row, page, number }: FoundRetry): boolean {
    return page === null && this.#table.numberAt(row) === number && this.holds(row);
  }

  /** Finds a row of this queue; see DelayedTable.findRow. */
  findRow(start: number, end: number, range: RetryRange): number {
    return this.#table.findRow(this.#owner, start, end, range);
  }

  /** See RetryPages.between. */
  pageBetween(fromMs: number, untilMs: number, looked: ReadonlySet<Page>): Page | null {
    return this.#pages === null ? null : this.#pages.between(fromMs, untilMs, looked);
  }

  /** Shows the messages of a page. */
  peek(page: Page, visitor: PageVisitor): void {
    this.#pages!.peek(page, visitor);
  }

  /** Has a message stay in memory until it is due. */
  keepInMemory(row: number): void {
    this.#cold?.remove(row);
  }

  /** See RetryPages.hurry. */
  hurry(page: Page, done: () => void): boolean {
    return this.#pages!.hurry(page, done);
  }

  /** When the next message wakes, ms; Infinity when there is none. */
  get nextDueMs(): number {
    const inMemoryMs = Math.min(this.#due.firstMs, this.#scheduler.firstDueMs(this.#group));
    return Math.min(inMemoryMs, this.#pages?.firstMs ?? Infinity);
  }

  /** When the last message wakes, ms; -Infinity when there is none. */
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
    for (const scan of this.scans) this.#tellPaged(scan, rows, pages);
    for (const row of rows) {
      this.cancel(row);
      this.take(row);
    }
    for (const page of pages) this.pushPage(page);
  }

  #tellPaged(scan: RetryScan, rows: Uint32Array, pages: readonly Page[]): void {
    for (const row of rows) {
      const position = this.#table.positionAt(row);
      const page = pages.find(({ place }) => position >= place.first && position <= place.last);
      scan.paged(this.#table.numberAt(row), page!);
    }
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
      if (this.scans.size > 0) this.#tellArrived(row);
      this.#rouse(row, Math.ceil(Math.min(loaded.duesMs[i]!, loaded.endsMs[i]!)));
    }
  }

  #tellArrived(row: number): void {
    for (const scan of this.scans) scan.arrived(row);
  }

  // A message that should have woken already goes back together with the due messages, not after
  // them.
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
