// A queue: its ready, unacked and delayed messages, its consumers and its limits. VHost makes queues,
// publishers and dead-lettering put messages in, dispatch and channels take them out. The broker gives
// it the time. It never writes a frame and never routes: messages that it gives up become dead-letter
// work of the broker.

import { ChannelError } from "../../amqp/errors.ts";
import { ACCESS_REFUSED } from "../../amqp/reply_code.ts";
import {
  type DeathCause,
  type EntrySink,
  HEAD_PENDING,
  type ReadWaiter,
  type ReadyLane,
  RECORD_PERSISTENT,
  type RecordView,
  type RemovalCause,
} from "../../store/port.ts";
import { emptyView } from "../../store/views.ts";
import type { ApartLane } from "./apart_lane.ts";
import type { QueueArguments } from "../arguments/queue_arguments.ts";
import { type ConsumeOptions, Consumer } from "./consumer.ts";
import { ConsumerRing } from "./consumer_ring.ts";
import type { Delivery } from "./delivery.ts";
import { dispatchQueue } from "./dispatch.ts";
import { getHead } from "./get_head.ts";
import { HeadReads } from "./head_reads.ts";
import { QueueStats } from "../metrics.ts";
import { describe, type Owner, type QueueSpec } from "../names.ts";
import { QueueTimers } from "./timers.ts";
import { Retries } from "../retry/retries.ts";
import { Settlement } from "./settlement.ts";
import { LETTER_FRESH } from "./dead_letter.ts";
import type { QueueBroker, QueueVHost } from "./home.ts";

export { GET_EMPTY, GET_MESSAGE, GET_PENDING, GET_TOO_LARGE } from "./get_head.ts";

/** One queue of a vhost. */
export class Queue implements ReadWaiter {
  readonly broker: QueueBroker;
  readonly vhost: QueueVHost;
  /** Unique in the node; never reused for another queue. */
  readonly id: number;
  readonly name: string;
  readonly spec: QueueSpec;
  readonly args: QueueArguments;
  /** The connection that an exclusive queue belongs to; null for other queues. */
  readonly owner: Owner | null;
  /** The ready messages: a lane of the store, or `apart` while some headers do not fit every client. */
  lane: ReadyLane;
  apart: ApartLane | null = null;
  readonly consumers: ConsumerRing = new ConsumerRing();
  readonly stats: QueueStats = new QueueStats();
  /** Decides what happens to settled deliveries. */
  readonly settlement: Settlement = new Settlement(this);
  /** The retry side; null for a queue without retries. */
  readonly retries: Retries | null;
  /** Whether the broker sets `x-delivery-count` on this queue, so that a publisher's value is dropped. */
  readonly keepsCount: boolean;
  /** Number of the batch that holds its definition; 0 if no batch of this run does. */
  definedBatch = 0;
  /** Stamp of the last route that found this queue; see route.ts. */
  routeStamp = 0;
  readyBytes = 0;
  unackedCount = 0;
  unackedBytes = 0;
  /** Number of messages that it has given up and that are not yet published as dead letters. */
  dyingCount = 0;
  isDeleted = false;
  /**
   * How many channels are giving messages back to the queue, a piece in each turn. Returned messages
   * stand before all ready ones, so nothing is delivered meanwhile.
   */
  returnCount = 0;
  /** Whether the queue waits in the broker's dispatch. */
  isScheduled = false;
  readonly #entries: EntrySink | null;
  readonly #timers: QueueTimers;
  readonly #hasLengthLimit: boolean;
  readonly #view: RecordView = emptyView();
  readonly #reads: HeadReads = new HeadReads(this);

  constructor(
    vhost: QueueVHost,
    id: number,
    declared: { spec: QueueSpec; args: QueueArguments; owner: Owner | null },
  ) {
    const { spec, args, owner } = declared;
    this.vhost = vhost;
    this.broker = vhost.broker;
    this.id = id;
    this.name = spec.name;
    this.spec = spec;
    this.args = args;
    this.owner = owner;
    this.lane = this.broker.store.openLane(id);
    this.#entries = spec.durable ? this.broker.store.entries : null;
    this.retries = args.retry === null ? null : new Retries(this, args.retry);
    this.keepsCount = this.retries !== null || args.deliveryLimit !== Infinity;
    this.#hasLengthLimit = args.lengthMax !== Infinity || args.lengthBytesMax !== Infinity;
    this.#timers = new QueueTimers(this);
  }

  get durable(): boolean {
    return this.spec.durable;
  }

  get exclusive(): boolean {
    return this.spec.exclusive;
  }

  get autoDelete(): boolean {
    return this.spec.autoDelete;
  }

  /** Number of messages ready for delivery: the `message_count` on the wire. */
  get readyCount(): number {
    return this.lane.messageCount;
  }

  get consumerCount(): number {
    return this.consumers.count;
  }

  get delayedCount(): number {
    return this.retries === null ? 0 : this.retries.delayed.count;
  }

  get delayedBytes(): number {
    return this.retries === null ? 0 : this.retries.delayed.bodyBytes;
  }

  /** Name of the internal retry queue; null without retries. */
  get retryQueueName(): string | null {
    return this.retries === null ? null : this.retries.delayed.name;
  }

  /** Counts as use for `x-expires`: a declare, a get, or the end of a delay. */
  touch(): void {
    this.#timers.touch();
  }

  /** Whether a publish of this size is accepted. A full queue first tries to deliver. */
  admits(bodyBytes: number): boolean {
    if (!this.#hasLengthLimit || this.args.overflow === "drop-head") return true;
    if (this.hasRoomFor(bodyBytes)) return true;
    if (this.consumers.count === 0) return false;
    dispatchQueue(this, this.broker.delivery);
    return this.hasRoomFor(bodyBytes);
  }

  /** Whether one more message of this size stays within the length limits. */
  hasRoomFor(bodyBytes: number): boolean {
    return this.lane.messageCount < this.args.lengthMax &&
      this.readyBytes + bodyBytes <= this.args.lengthBytesMax;
  }

  /** Accepts a new message; `expiryMs` is the expiry that the message itself sets. */
  accept(ref: number, bodyBytes: number, expiryMs: number, flags: number): void {
    const arrivalMs = this.broker.nowMs;
    const endMs = Math.min(expiryMs, arrivalMs + this.args.messageTtlMs);
    const position = this.lane.push(ref, 0, endMs);
    this.readyBytes += bodyBytes;
    this.stats.publish++;
    if (this.#entries !== null && (flags & RECORD_PERSISTENT) !== 0) {
      this.#entries.enqueued(this.id, position, ref);
    }
    this.#becameReady(endMs);
  }

  /** Takes a delayed message back at the tail. */
  acceptReturn(ref: number, position: number, entry: number, view: RecordView): void {
    const endMs = this.expiryOf(view);
    const newPosition = this.lane.push(ref, entry, endMs);
    this.readyBytes += view.bodyEnd - view.bodyStart;
    this.entriesFor(view)?.returned(this.id, position, ref, newPosition);
    this.#becameReady(endMs);
  }

  /** Takes back a message that was in the queue before the node started. Positions must rise. */
  restore(message: { ref: number; position: number; entry: number }, view: RecordView): void {
    const { ref, position, entry } = message;
    const endMs = this.expiryOf(view);
    const { lane } = this;
    if (position < lane.nextPosition) {
      // A page that is already restored covers positions around this message.
      lane.restore(position, ref, entry, endMs);
    } else {
      lane.nextPosition = position;
      lane.push(ref, entry, endMs);
    }
    this.readyBytes += view.bodyEnd - view.bodyStart;
    this.#restored(endMs);
  }

  /** Counts the messages of a page that was written before the node started. */
  restorePage(page: { bodyBytes: number; expiryMinMs: number }): void {
    this.readyBytes += page.bodyBytes;
    this.#restored(page.expiryMinMs);
  }

  // Messages that were out may take the queue over its limit; then the dispatch drops the head.
  #restored(expiryMs: number): void {
    if (expiryMs !== Infinity) this.#timers.watchExpiry(expiryMs);
    if (this.#hasLengthLimit && this.#isOverLimit()) this.broker.schedule(this);
  }

  /** When a message of this queue expires, ms: the earlier of its own expiration and the queue's TTL. */
  expiryOf(view: RecordView): number {
    return Math.min(view.expiryMs, view.arrivalMs + this.args.messageTtlMs);
  }

  #becameReady(expiryMs: number): void {
    if (expiryMs !== Infinity) this.#timers.watchExpiry(expiryMs);
    if (this.consumers.count > 0 || expiryMs <= this.broker.nowMs) this.broker.schedule(this);
    if (!this.#hasLengthLimit || !this.#isOverLimit()) return;
    if (this.consumers.count > 0) dispatchQueue(this, this.broker.delivery);
    this.#dropHead();
  }

  #isOverLimit(): boolean {
    return this.lane.messageCount > this.args.lengthMax ||
      this.readyBytes > this.args.lengthBytesMax;
  }

  #dropHead(): void {
    if (this.args.overflow !== "drop-head" || this.#reads.hasFailed) return;
    while (this.#isOverLimit() && this.lane.head(this) !== HEAD_PENDING) this.#removeHead("maxlen");
  }

  /** Takes the head into `delivery` for basic.get. Returns one of `GET_*`. */
  get(delivery: Delivery, headerBytesMax = Infinity): number {
    this.touch();
    this.#reads.assertReadable();
    return getHead(this, delivery, headerBytesMax);
  }

  /** Removes the head, whose record `delivery.view` shows, and fills in the rest of `delivery`. */
  takeHead(delivery: Delivery): void {
    const { lane } = this;
    const { bodyStart, bodyEnd } = delivery.view;
    delivery.fill(this, lane.headRef, lane.headPosition, lane.headEntry);
    lane.shift();
    this.readyBytes -= bodyEnd - bodyStart;
    if (delivery.redelivered) this.stats.redeliver++;
  }

  /** Called when a delivery has been entered into a channel's unacked table. */
  delivered(delivery: Delivery): void {
    this.unackedCount++;
    this.unackedBytes += delivery.bodyBytes;
    const { position, ref, entry } = delivery;
    this.entriesFor(delivery.view)?.delivered(this.id, position, ref, entry);
  }

  /** Called when a delivery without acknowledgement has been written: the message is gone. */
  discard(delivery: Delivery): void {
    const { position, ref } = delivery;
    this.entriesFor(delivery.view)?.removed(this.id, position, ref, "acked");
    this.broker.store.release(ref, this.id);
  }

  /** Called by the store when the head, or messages that may have expired, can be read now. */
  readArrived(): void {
    const expiryMs = this.lane.nextExpiryMs();
    if (expiryMs !== Infinity) this.#timers.watchExpiry(expiryMs);
    this.broker.schedule(this);
    this.#reads.arrived();
  }

  /** Called by the store when the head cannot be read: no message can be taken out any more. */
  readFailed(error: Error): void {
    this.#reads.failed(error);
    this.consumers.cancelAll();
    this.readArrived();
  }

  /** Calls `resume` once, at the beginning of a turn, when a pending `get` may be tried again. */
  whenRead(resume: () => void): void {
    this.#reads.wait(resume);
  }

  /** One channel has given back all its messages. */
  returned(): void {
    if (--this.returnCount > 0) return;
    this.broker.schedule(this);
    this.#reads.arrived();
  }

  // --- messages that were unacked; settlement.ts decides

  /** Counts a message as no longer unacked. The next call says what happens to it. */
  unackedLeft(bodyBytes: number): void {
    this.unackedCount--;
    this.unackedBytes -= bodyBytes;
  }

  /** Puts a message back at its position, with its new `entry`. */
  takeBack(ref: number, position: number, entry: number, view: RecordView): void {
    const endMs = this.expiryOf(view);
    this.lane.restore(position, ref, entry, endMs);
    this.readyBytes += view.bodyEnd - view.bodyStart;
    this.entriesFor(view)?.requeued(this.id, position, ref, entry);
    if (endMs !== Infinity) this.#timers.watchExpiry(endMs);
    this.broker.schedule(this);
    if (this.#hasLengthLimit) this.#dropHead();
  }

  /** Gives a message up: to the dead-letter exchange if there is one, otherwise for good. */
  deadLetter(ref: number, position: number, entry: number, reason: DeathCause): void {
    const isDropped = this.args.deadLetterExchange === null || this.isDeleted;
    if (isDropped) return this.drop(ref, position, reason);
    this.broker.deadLetters.add({ queue: this, ref, position, entry, reason, state: LETTER_FRESH });
  }

  /** Releases a message that has left the queue for good. */
  drop(ref: number, position: number, cause: RemovalCause): void {
    if (this.#entries !== null && position >= 0 && !this.isDeleted) {
      this.broker.store.describe(ref, this.#view);
      this.entriesFor(this.#view)?.removed(this.id, position, ref, cause);
    }
    this.broker.store.release(ref, this.id);
  }

  /** Returns the sink for state entries of this message; null when it does not survive a restart. */
  entriesFor(view: RecordView): EntrySink | null {
    return (view.flags & RECORD_PERSISTENT) === 0 ? null : this.#entries;
  }

  /** Removes the head because it has expired. */
  expireHead(): void {
    this.#removeHead("expired");
  }

  /**
   * Called after the broker has dispatched this queue. Messages that were only deliverable at once
   * expire now.
   */
  dispatched(): void {
    if (this.#timers.expiryDueMs <= this.broker.nowMs) this.sweepExpired();
    // Dropping the head may have had to wait until the head could be read.
    if (this.#hasLengthLimit) this.#dropHead();
  }

  /** Removes expired messages wherever they stand, as many as this turn allows. */
  sweepExpired(): void {
    const { store, nowMs, expirySweeps } = this.broker;
    const nextMs = expirySweeps.sweep(this, nowMs, (ref, position, entry) => {
      store.describe(ref, this.#view);
      this.readyBytes -= this.#view.bodyEnd - this.#view.bodyStart;
      this.deadLetter(ref, position, entry, "expired");
    });
    this.#timers.expireNext(nextMs);
  }

  #removeHead(reason: "expired" | "maxlen"): void {
    const { headRef, headPosition, headEntry } = this.lane;
    this.broker.store.describe(headRef, this.#view);
    this.lane.shift();
    this.readyBytes -= this.#view.bodyEnd - this.#view.bodyStart;
    this.deadLetter(headRef, headPosition, headEntry, reason);
  }

  /**
   * Adds a consumer.
   * @throws ChannelError 403 when it would not be alone and one of the consumers is exclusive
   */
  consume(options: ConsumeOptions): Consumer {
    this.#reads.assertReadable();
    const hasExclusive = this.consumers.first?.exclusive === true;
    if (hasExclusive || (options.exclusive && this.consumers.count > 0)) {
      const name = describe("queue", this.name, this.vhost.name);
      throw new ChannelError(ACCESS_REFUSED, `${name} in exclusive use`);
    }
    const consumer = new Consumer(this, options);
    this.consumers.add(consumer);
    this.touch();
    this.broker.schedule(this);
    return consumer;
  }

  /**
   * Removes a consumer; its unacked messages stay unacked. An auto-delete queue ends with its last
   * consumer.
   */
  cancel(consumer: Consumer): void {
    if (consumer.isCancelled) return;
    consumer.isCancelled = true;
    this.consumers.remove(consumer);
    this.touch();
    if (this.consumers.count === 0 && this.autoDelete) this.vhost.removeQueue(this);
  }

  /** Called when a consumer may have capacity again. */
  unblock(consumer: Consumer): void {
    this.consumers.unblock(consumer);
    this.broker.schedule(this);
  }

  /** Removes all ready and delayed messages and returns their number. */
  purge(): number {
    const { store, deadLetters } = this.broker;
    deadLetters.enter(); // A purge spares dead letters, so they must be in the log before it.
    if (!this.isDeleted) this.#entries?.purged(this.id);
    let purged = store.discard(this.lane.takeAll(), this.id);
    this.readyBytes = 0;
    this.#reads.forget();
    if (this.retries !== null) purged += store.discard(this.retries.takeAll(), this.id);
    this.#timers.expireNext(Infinity);
    return purged;
  }

  /**
   * Ends the queue: cancels its consumers and removes its ready and delayed messages. Unacked messages
   * are dropped when they are settled. Called by VHost, which forgets the name. Returns how many
   * messages were ready.
   */
  delete(): number {
    const readyCount = this.readyCount;
    this.isDeleted = true;
    this.purge();
    this.broker.store.closeLane(this.id);
    this.#timers.stop();
    this.retries?.close();
    this.consumers.cancelAll();
    return readyCount;
  }
}
