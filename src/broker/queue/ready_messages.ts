// The ready messages of a queue: they stand in a lane by their positions and leave at its head, when they
// expire, or when the queue is too long. Each Queue has one. Publishers put messages in, settlement and
// retries bring them back, dispatch and basic.get take them out. What expires or does not fit is given
// up through the queue.

import {
  HEAD_PENDING,
  type ReadyLane,
  type RecordView,
  type TakenMessages,
} from "../../store/port.ts";
import { messageEndMs } from "../arguments/queue_arguments.ts";
import type { Timer } from "../timers.ts";
import type { ApartLane } from "./apart_lane.ts";
import type { Delivery } from "./delivery.ts";
import { dispatchQueue } from "./dispatch.ts";
import type { ExpirySweeper } from "./expiry_sweeps.ts";
import { HeadReads } from "./head_reads.ts";
import type { Queue } from "./queue.ts";

/** Ready messages of one queue. */
export class ReadyMessages implements ExpirySweeper {
  /** A lane of the store, or `apart` while some headers do not fit every client. */
  lane: ReadyLane;
  apart: ApartLane | null = null;
  /** Bytes of all bodies. */
  bodyBytes = 0;
  /**
   * How many channels are giving messages back to the queue, a piece in each turn. Returned messages
   * stand before all ready ones, so nothing is delivered meanwhile.
   */
  returnCount = 0;
  /** Who waits for the head, and whether it can be read. */
  readonly reads: HeadReads;
  readonly #queue: Queue;
  readonly #hasLengthLimit: boolean;
  readonly #view: RecordView;
  #expiry: Timer | null = null;

  /** `view` is overwritten: the queue shares its own, because there may be very many queues. */
  constructor(queue: Queue, view: RecordView) {
    const { args, broker } = queue;
    this.#queue = queue;
    this.#view = view;
    this.#hasLengthLimit = args.lengthMax !== Infinity || args.lengthBytesMax !== Infinity;
    this.lane = broker.store.openLane(queue.id);
    this.reads = new HeadReads(queue);
  }

  get count(): number {
    return this.lane.messageCount;
  }

  /** See {@linkcode ExpirySweeper}. */
  get dyingCount(): number {
    return this.#queue.dyingCount;
  }

  /** Whether a publish of this size is accepted. A full queue first tries to deliver. */
  admits(bodyBytes: number): boolean {
    const queue = this.#queue;
    if (!this.#hasLengthLimit || queue.args.overflow === "drop-head") return true;
    if (this.#hasRoomFor(bodyBytes)) return true;
    if (queue.consumers.count === 0) return false;
    dispatchQueue(queue, queue.broker.delivery);
    return this.#hasRoomFor(bodyBytes);
  }

  #hasRoomFor(bodyBytes: number): boolean {
    const { lengthMax, lengthBytesMax } = this.#queue.args;
    return this.lane.messageCount < lengthMax && this.bodyBytes + bodyBytes <= lengthBytesMax;
  }

  // --- in

  /** Accepts a new message; `expiryMs` is the expiry that the message itself sets. */
  accept(ref: number, bodyBytes: number, expiryMs: number, flags: number): void {
    const queue = this.#queue;
    const endMs = messageEndMs(queue.args, expiryMs, queue.broker.nowMs);
    const position = this.lane.push(ref, 0, endMs);
    this.bodyBytes += bodyBytes;
    queue.stats.publish++;
    queue.entriesFor(flags)?.enqueued(queue.id, position, ref);
    this.#grown(endMs);
  }

  /** Takes a delayed message back at the tail. */
  acceptReturn(ref: number, position: number, entry: number, view: RecordView): void {
    const queue = this.#queue;
    const endMs = queue.expiryOf(view);
    const newPosition = this.lane.push(ref, entry, endMs);
    this.bodyBytes += view.bodyEnd - view.bodyStart;
    queue.entriesFor(view.flags)?.returned(queue.id, position, ref, newPosition);
    this.#grown(endMs);
  }

  #grown(endMs: number): void {
    const queue = this.#queue;
    this.#watchExpiry(endMs);
    if (queue.consumers.count > 0 || endMs <= queue.broker.nowMs) queue.broker.schedule(queue);
    if (!this.#hasLengthLimit || !this.#isOverLimit()) return;
    if (queue.consumers.count > 0) dispatchQueue(queue, queue.broker.delivery);
    this.#dropHead();
  }

  /** Puts a message that was unacked or delayed back at its position, with its new `entry`. */
  takeBack(ref: number, position: number, entry: number, view: RecordView): void {
    const queue = this.#queue;
    const endMs = queue.expiryOf(view);
    this.lane.restore(position, ref, entry, endMs);
    this.bodyBytes += view.bodyEnd - view.bodyStart;
    queue.entriesFor(view.flags)?.requeued(queue.id, position, ref, entry);
    this.#watchExpiry(endMs);
    queue.broker.schedule(queue);
    if (this.#hasLengthLimit) this.#dropHead();
  }

  /** Takes back a message that was in the queue before the node started. Positions must rise. */
  restore(message: { ref: number; position: number; entry: number }, view: RecordView): void {
    const { ref, position, entry } = message;
    const endMs = this.#queue.expiryOf(view);
    const { lane } = this;
    if (position < lane.nextPosition) {
      // A page that is already restored covers positions around this message.
      lane.restore(position, ref, entry, endMs);
    } else {
      lane.nextPosition = position;
      lane.push(ref, entry, endMs);
    }
    this.bodyBytes += view.bodyEnd - view.bodyStart;
    this.#restored(endMs);
  }

  /** Counts the messages of a page that was written before the node started. */
  restorePage(page: { bodyBytes: number; expiryMinMs: number }): void {
    this.bodyBytes += page.bodyBytes;
    this.#restored(page.expiryMinMs);
  }

  // Messages that were out may take the queue over its limit; then the dispatch drops the head.
  #restored(endMs: number): void {
    this.#watchExpiry(endMs);
    if (this.#hasLengthLimit && this.#isOverLimit()) this.#queue.broker.schedule(this.#queue);
  }

  // --- out

  /** Removes the head, whose record `delivery.view` shows, and fills in the rest of `delivery`. */
  takeHead(delivery: Delivery): void {
    const { lane } = this;
    const { bodyStart, bodyEnd } = delivery.view;
    delivery.fill(this.#queue, lane.headRef, lane.headPosition, lane.headEntry);
    lane.shift();
    this.bodyBytes -= bodyEnd - bodyStart;
    if (delivery.redelivered) this.#queue.stats.redeliver++;
  }

  /** Removes the head because it has expired. */
  expireHead(): void {
    this.#removeHead("expired");
  }

  #removeHead(reason: "expired" | "maxlen"): void {
    const { headRef, headPosition, headEntry } = this.lane;
    this.lane.shift();
    this.#giveUp(headRef, headPosition, headEntry, reason);
  }

  // The message has left the lane.
  #giveUp(ref: number, position: number, entry: number, reason: "expired" | "maxlen"): void {
    const queue = this.#queue;
    queue.broker.store.describe(ref, this.#view);
    this.bodyBytes -= this.#view.bodyEnd - this.#view.bodyStart;
    queue.deadLetter(ref, position, entry, reason);
  }

  #isOverLimit(): boolean {
    const { lengthMax, lengthBytesMax } = this.#queue.args;
    return this.lane.messageCount > lengthMax || this.bodyBytes > lengthBytesMax;
  }

  #dropHead(): void {
    if (this.#queue.args.overflow !== "drop-head" || this.reads.hasFailed) return;
    while (this.#isOverLimit() && this.lane.head(this) !== HEAD_PENDING) this.#removeHead("maxlen");
  }

  /** Takes all messages out at once; the store releases them. */
  takeAll(): TakenMessages {
    const taken = this.lane.takeAll();
    this.bodyBytes = 0;
    this.reads.forget();
    this.#expiry?.stop();
    return taken;
  }

  // --- expiry

  // Has the messages swept by `endMs`, when one of them expires; Infinity when none does.
  #watchExpiry(endMs: number): void {
    if (endMs === Infinity) return;
    this.#expiry ??= this.#queue.broker.timers.make(() => this.sweepExpired());
    this.#expiry.setEarlier(endMs);
  }

  /**
   * Called after the queue has been dispatched. Messages that were only deliverable at once expire
   * now.
   */
  dispatched(): void {
    if (this.#expiry !== null && this.#expiry.dueMs <= this.#queue.broker.nowMs) {
      this.sweepExpired();
    }
    // Dropping the head may have had to wait until the head could be read.
    if (this.#hasLengthLimit) this.#dropHead();
  }

  /** Removes expired messages wherever they stand, as many as this turn allows. */
  sweepExpired(): void {
    const { nowMs, expirySweeps } = this.#queue.broker;
    const nextMs = expirySweeps.sweep(this, nowMs, (ref, position, entry) => {
      this.#giveUp(ref, position, entry, "expired");
    });
    this.#expiry?.set(nextMs);
  }

  // --- reads and returns

  /** Called by the store when the head, or messages that may have expired, can be read now. */
  readArrived(): void {
    const expiryMs = this.lane.nextExpiryMs();
    this.#watchExpiry(expiryMs);
    this.#goOn();
  }

  /** Called by the store when the head cannot be read: no message can be taken out any more. */
  readFailed(error: Error): void {
    this.reads.failed(error);
    this.#queue.consumers.cancelAll();
    this.readArrived();
  }

  /** A channel begins to give back messages, in more than one turn. */
  returnBegan(): void {
    this.returnCount++;
  }

  /** The channel has given back all its messages. */
  returnEnded(): void {
    if (--this.returnCount === 0) this.#goOn();
  }

  #goOn(): void {
    this.#queue.broker.schedule(this.#queue);
    this.reads.arrived();
  }
}
