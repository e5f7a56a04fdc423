// A queue's retry queue: the messages it holds back until their delay is over, as a group of timers in
// the scheduler (docs/automatic-retries.md "The retry queue"). Queue puts messages in and gets them
// back when they are due; nothing here decides how long a message waits or what becomes of it.

import type { Scheduler } from "../schedule/scheduler.ts";
import type { DelayedMessage, DelayedTable } from "./delayed_table.ts";
import { DueMessages } from "./due_messages.ts";
import type { TakenMessages } from "../store/port.ts";
import { TakenDelays } from "./taken_delays.ts";

// When more is due, it goes back although something that should go before it is not there yet.
const DUE_WAITING_MAX = 65_536;

/** A delayed message as management lists it. */
export interface ListedDelay extends DelayedMessage {
  /** Names the message as long as it is delayed. */
  id: number;
}

/** What a {@link RetryQueue} is made of. */
export interface RetryQueueParts {
  scheduler: Scheduler;
  table: DelayedTable;
  /** Something is due that was not before: it is to be taken with `takeDue`. */
  onDue: () => void;
}

/** The delayed messages of one queue. */
export class RetryQueue {
  readonly name: string;
  readonly #scheduler: Scheduler;
  readonly #table: DelayedTable;
  readonly #group: number;
  readonly #due: DueMessages;
  /** Names its rows in the table; another one after each purge. */
  #owner: number;
  count = 0;
  bodyBytes = 0;

  constructor(name: string, { scheduler, table, onDue }: RetryQueueParts) {
    this.name = name;
    this.#scheduler = scheduler;
    this.#table = table;
    this.#owner = table.takeOwner();
    this.#due = new DueMessages(table);
    this.#group = scheduler.openGroup((row, wakeMs) => {
      this.#due.add(row, wakeMs);
      if (this.#due.count === 1) onDue();
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
    return row;
  }

  #counted(messages: number, bodyBytes: number): void {
    this.count += messages;
    this.bodyBytes += bodyBytes;
    this.#table.count += messages;
    this.#table.bodyBytes += bodyBytes;
  }

  /** Stops the timer of a message that is to be taken before it is due. */
  cancel(row: number): void {
    if (!this.#scheduler.cancel(this.#table.handleAt(row))) this.#due.remove(row);
  }

  /** The next row that has woken before `beforeMs`; -1 when there is none. It must be taken. */
  takeDue(beforeMs: number): number {
    return this.#due.take(this.#due.count > DUE_WAITING_MAX ? Infinity : beforeMs);
  }

  /** Whether anything is due. */
  get hasDue(): boolean {
    return this.#due.count > 0;
  }

  /** Gives up the message whose timer has fired or was cancelled. */
  take(row: number): void {
    this.#counted(-1, -this.#table.bodyBytesAt(row));
    this.#table.remove(row);
  }

  /** Whether it holds the message of a row. */
  holds(row: number): boolean {
    return this.#table.ownerAt(row) === this.#owner;
  }

  /** Gives up everything at once; the store lets go of it. */
  takeAll(): TakenMessages {
    const taken = new TakenDelays(this.#table, this.#owner, this.count);
    this.#due.clear();
    this.#scheduler.clearGroup(this.#group);
    this.#counted(-this.count, -this.bodyBytes);
    this.#owner = this.#table.takeOwner();
    return taken;
  }

  /** Gives up the timers; everything must have been cleared. */
  close(): void {
    this.#scheduler.closeGroup(this.#group);
  }

  /** A page of messages by the time at which they wake. */
  list(offset: number, limit: number): ListedDelay[] {
    const table = this.#table;
    return this.#rows(offset, limit).map((row) => ({
      id: table.handleAt(row),
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
    return Math.min(this.#due.firstMs, this.#scheduler.firstDueMs(this.#group));
  }

  /** When the last message wakes, -Infinity when there is none. */
  get lastDueMs(): number {
    return Math.max(this.#due.lastMs, this.#scheduler.lastDueMs(this.#group));
  }
}
