// The unacked messages of a queue as it counts them, and what happens to one when its channel settles it:
// it is removed, dead-lettered, delayed or requeued at its position (docs/automatic-retries.md "What is
// retried"). Each Queue has one; unacked.ts calls it, and the queue carries out the decision.

import {
  ENTRY_COUNT_MASK,
  ENTRY_REDELIVERED,
  ENTRY_UNSPENT,
  type RecordView,
} from "../../store/port.ts";
import { emptyView } from "../../store/views.ts";
import type { Delivery } from "./delivery.ts";
import type { Queue } from "./queue.ts";
import { CAUSE_NACK, CAUSE_REJECT, DELAYS, reactionTo, SPENDS } from "../retry/rules.ts";

/** Settles deliveries of one queue. `entry` is always the one with which the message was delivered. */
export class Settlement {
  /** Number of unacked messages. */
  unackedCount = 0;
  /** Bytes of their bodies. */
  unackedBytes = 0;
  readonly #queue: Queue;
  readonly #view: RecordView = emptyView();

  constructor(queue: Queue) {
    this.#queue = queue;
  }

  /** Called when a delivery has been entered into a channel's unacked table. */
  delivered(delivery: Delivery): void {
    const queue = this.#queue;
    const { position, ref, entry } = delivery;
    this.unackedCount++;
    this.unackedBytes += delivery.bodyBytes;
    queue.entriesFor(delivery.view.flags)?.delivered(queue.id, position, ref, entry);
  }

  /** Called when a delivery without acknowledgement has been written: the message is gone. */
  discarded(delivery: Delivery): void {
    const queue = this.#queue;
    const { position, ref } = delivery;
    queue.entriesFor(delivery.view.flags)?.removed(queue.id, position, ref, "acked");
    queue.broker.store.release(ref, queue.id);
  }

  /** Counts a message as no longer unacked. The next call says what happens to it. */
  left(bodyBytes: number): void {
    this.unackedCount--;
    this.unackedBytes -= bodyBytes;
  }

  /** Settles an acked message: it is removed. */
  acked(ref: number, position: number, entry: number): void {
    this.#queue.stats.ack++;
    this.#observeAttempts(entry);
    this.#queue.drop(ref, position, "acked");
  }

  /** Settles a message that was rejected without requeue: it is dead-lettered or dropped. */
  rejected(ref: number, position: number, entry: number): void {
    this.#queue.stats.reject++;
    this.#observeAttempts(entry);
    this.#queue.deadLetter(ref, position, entry | ENTRY_UNSPENT, "rejected");
  }

  /**
   * Settles a message that is returned for a cause of retry/rules.ts. Expiry is checked first, then the
   * delivery limit, then the delay.
   */
  returned(ref: number, position: number, entry: number, cause: number): void {
    const queue = this.#queue;
    const { store } = queue.broker;
    if (cause === CAUSE_REJECT || cause === CAUSE_NACK) queue.stats.reject++;
    if (queue.isDeleted) return store.release(ref, queue.id);
    const view = this.#view;
    store.describe(ref, view);
    const reaction = reactionTo(queue.args.retry, cause);
    const nextEntry = returnedEntry(entry, (reaction & SPENDS) !== 0);
    const end = this.#endOf(nextEntry, view);
    if (end === "delivery_limit") this.#observeAttempts(entry);
    if (end !== null) return queue.deadLetter(ref, position, entry | ENTRY_UNSPENT, end);
    if ((reaction & DELAYS) !== 0 && queue.retries!.delay(ref, position, nextEntry, view)) return;
    queue.ready.takeBack(ref, position, nextEntry, view);
  }

  /**
   * Settles a message that was unacked when the node ended: one delivery is spent. An expired message
   * goes back too and leaves in a sweep, because there may be very many.
   */
  restored(message: { ref: number; position: number; entry: number }, view: RecordView): void {
    const queue = this.#queue;
    const { ref, position } = message;
    const entry = returnedEntry(message.entry, true);
    if (this.#endOf(entry, view) === "delivery_limit") {
      return queue.deadLetter(ref, position, message.entry | ENTRY_UNSPENT, "delivery_limit");
    }
    queue.entriesFor(view.flags)?.requeued(queue.id, position, ref, entry);
    queue.ready.restore({ ref, position, entry }, view);
  }

  // What ends a message that would come back with this entry; null when it stays. Expiry is checked
  // before the limit. Counts what has used up its retries.
  #endOf(entry: number, view: RecordView): "expired" | "delivery_limit" | null {
    const queue = this.#queue;
    const { nowMs, metrics } = queue.broker;
    if (queue.expiryOf(view) <= nowMs) return "expired";
    if ((entry & ENTRY_COUNT_MASK) <= queue.args.deliveryLimit) return null;
    if (queue.retries !== null) metrics.retryExhausted++;
    return "delivery_limit";
  }

  #observeAttempts(entry: number): void {
    if (this.#queue.retries === null) return;
    this.#queue.broker.metrics.retryAttempts.observe((entry & ENTRY_COUNT_MASK) + 1);
  }
}

// Returns the entry of a message that comes back; `isSpent` says whether its delivery counts.
function returnedEntry(entry: number, isSpent: boolean): number {
  const spent = (entry & ENTRY_COUNT_MASK) + (isSpent ? 1 : 0);
  return (spent | ENTRY_REDELIVERED | (isSpent ? 0 : ENTRY_UNSPENT)) >>> 0;
}
