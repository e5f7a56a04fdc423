// The retry side of a queue: puts rejected messages into its retry queue for a growing delay and brings
// them back (docs/automatic-retries.md "While a message waits"). The settlement decides that a message
// is delayed. When a delay is refused, the message is requeued at once.

import { SchedulerFullError } from "../../schedule/scheduler.ts";
import { ENTRY_COUNT_MASK, type RecordView, type TakenMessages } from "../../store/port.ts";
import { emptyView } from "../../store/views.ts";
import type { RetrySettings } from "../arguments/queue_arguments.ts";
import { RetryQueue } from "./retry_queue.ts";
import type { DelayedMessage } from "./delayed_table.ts";
import { retryQueueName } from "../names.ts";
import type { RetriedQueue } from "./home.ts";
import { retryDelayMs } from "./rules.ts";
import type { FoundRetry } from "./scan.ts";
import type { DelayOwner } from "./unsafe_delays.ts";

const LOG_INTERVAL_MS = 1000;

/** Delays the messages of one queue. */
export class Retries implements DelayOwner {
  readonly settings: RetrySettings;
  readonly delayed: RetryQueue;
  readonly #queue: RetriedQueue;
  readonly #view: RecordView = emptyView();
  #quietUntilMs = 0;

  constructor(queue: RetriedQueue, settings: RetrySettings) {
    this.#queue = queue;
    this.settings = settings;
    this.delayed = new RetryQueue(retryQueueName(queue.name), {
      queueId: queue.id,
      broker: queue.broker,
      endMsOf: (row) => this.#endMsOf(row),
      onDue: () => queue.broker.retryIsDue(this),
      onUnheld: (row) => this.#requeue(row, new SchedulerFullError().message),
    });
  }

  /**
   * Delays a message; its `entry` counts the spent deliveries. Returns false when it must be requeued
   * at once.
   */
  delay(ref: number, position: number, entry: number, view: RecordView): boolean {
    const { broker } = this.#queue;
    const bodyBytes = view.bodyEnd - view.bodyStart;
    if (!this.#hasRoomFor(bodyBytes)) {
      broker.metrics.retryOverLimit++;
      return false;
    }
    // A crash would forget a delay that is in no log file (docs/storage.md).
    if (broker.store.isReadOnly && this.#queue.entriesFor(view.flags) !== null) {
      return this.#storeFailed("no log file takes writes");
    }
    const random = this.settings.jitterPercent === 0 ? 0 : broker.random();
    const delayMs = retryDelayMs(this.settings, entry & ENTRY_COUNT_MASK, random);
    const dueMs = Math.ceil(broker.nowMs + delayMs);
    const number = ++broker.delayedTable.lastNumber;
    const row = this.#hold({ ref, position, entry, bodyBytes, dueMs, number }, view);
    if (row < 0) return false;
    const entries = this.#queue.entriesFor(view.flags);
    if (entries !== null) {
      entries.delayed(this.#queue.id, position, ref, { dueMs, entry, number });
      broker.unsafeDelays.add(broker.store.openBatch, this, number, row);
    }
    broker.metrics.retryScheduled++;
    return true;
  }

  /**
   * Restores a message that was delayed before the node started. Returns false when it cannot be
   * delayed.
   */
  restore(message: DelayedMessage, view: RecordView): boolean {
    const { delayedTable } = this.#queue.broker;
    delayedTable.lastNumber = Math.max(delayedTable.lastNumber, message.number);
    return this.#hold(message, view) >= 0;
  }

  /**
   * Called when the disk has refused the batch that enters a delay: the message is ready again and
   * keeps its count.
   */
  undelay(number: number, row: number): void {
    const { delayedTable } = this.#queue.broker;
    if (delayedTable.numberAt(row) !== number || !this.delayed.holds(row)) return;
    this.delayed.cancel(row);
    this.#requeue(row, "the disk has refused it");
  }

  // Makes a message that cannot be delayed ready again; it keeps its count.
  #requeue(row: number, why: string): void {
    const queue = this.#queue;
    const table = queue.broker.delayedTable;
    const ref = table.refAt(row);
    const position = table.positionAt(row);
    const entry = table.entryAt(row);
    this.delayed.take(row);
    this.#storeFailed(why);
    queue.touch();
    queue.broker.store.describe(ref, this.#view);
    queue.ready.takeBack(ref, position, entry, this.#view);
  }

  /**
   * Brings back at most `max` messages that are due and have woken before `beforeMs`. Returns how many.
   */
  takeDue(beforeMs: number, max: number): number {
    let taken = 0;
    for (; taken < max; taken++) {
      const row = this.delayed.takeDue(beforeMs);
      if (row < 0) break;
      this.#due(row);
    }
    return taken;
  }

  /**
   * Takes out a message that was found, before its time; null when it has left meanwhile. Its timer does
   * not fire any more. Until the caller says what becomes of the message, which must be in the same
   * turn, a crash brings it back as delayed.
   */
  takeFound(found: FoundRetry): DelayedMessage | null {
    if (!this.delayed.isHeld(found)) return null;
    const { row } = found;
    const message = this.#queue.broker.delayedTable.messageAt(row);
    this.delayed.cancel(row);
    this.delayed.take(row);
    this.#queue.touch();
    return message;
  }

  /** Removes all delayed messages; the store releases them. */
  takeAll(): TakenMessages {
    if (this.delayed.count > 0) this.#queue.touch();
    return this.delayed.takeAll();
  }

  /** Ends the retry queue with its queue. It must be empty. */
  close(): void {
    this.delayed.close();
  }

  #endMsOf(row: number): number {
    const { store, delayedTable } = this.#queue.broker;
    store.describe(delayedTable.refAt(row), this.#view);
    return this.#queue.expiryOf(this.#view);
  }

  #hasRoomFor(bodyBytes: number): boolean {
    const { limits, delayedTable } = this.#queue.broker;
    return this.delayed.count < limits.delayedPerQueueMax &&
      this.delayed.bodyBytes + bodyBytes <= limits.delayedBytesPerQueueMax &&
      delayedTable.count < limits.delayedPerNodeMax &&
      delayedTable.bodyBytes + bodyBytes <= limits.delayedBytesPerNodeMax;
  }

  // Returns the message's row in the table; -1 when the scheduler has no timer left.
  #hold(message: DelayedMessage, view: RecordView): number {
    const wakeMs = Math.min(message.dueMs, this.#queue.expiryOf(view));
    try {
      return this.delayed.add(message, wakeMs);
    } catch (error) {
      if (!(error instanceof SchedulerFullError)) throw error;
      this.#storeFailed(error.message);
      return -1;
    }
  }

  // A consumer that rejects every message causes many failures, so only some of them are logged.
  #storeFailed(why: string): false {
    const { broker, name, vhost } = this.#queue;
    broker.metrics.retryStoreFailures++;
    if (broker.nowMs < this.#quietUntilMs) return false;
    this.#quietUntilMs = broker.nowMs + LOG_INTERVAL_MS;
    const fields = { queue: name, vhost: vhost.name, error: why };
    broker.logger.log("error", "retry queue cannot store a message; requeued at once", fields);
    return false;
  }

  #due(row: number): void {
    const queue = this.#queue;
    const { store, nowMs, metrics, delayedTable } = queue.broker;
    const ref = delayedTable.refAt(row);
    const position = delayedTable.positionAt(row);
    const entry = delayedTable.entryAt(row);
    const dueMs = delayedTable.dueMsAt(row);
    this.delayed.take(row);
    // A delayed message counts as use of the queue, so the time of `x-expires` starts here.
    queue.touch();
    const view = this.#view;
    store.describe(ref, view);
    if (queue.expiryOf(view) <= nowMs) {
      metrics.retryExpired++;
      queue.deadLetter(ref, position, entry, "expired");
    } else if (
      !queue.ready.admits(view.bodyEnd - view.bodyStart) && this.#delayAgain(ref, position, entry)
    ) {
      metrics.retryDelayedAgain++;
    } else {
      metrics.retryRedelivered++;
      metrics.retryLatenessSeconds.observe((nowMs - dueMs) / 1000);
      queue.ready.acceptReturn(ref, position, entry, view);
    }
  }

  // The queue is full and refuses publishes, so the message waits for another delay of the same
  // attempt.
  #delayAgain(ref: number, position: number, entry: number): boolean {
    this.#queue.broker.store.describe(ref, this.#view);
    return this.delay(ref, position, entry, this.#view);
  }
}
