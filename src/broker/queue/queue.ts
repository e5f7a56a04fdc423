// A queue: its ready, unacked and delayed messages, its consumers and its limits. VHost makes queues,
// publishers and dead-lettering put messages in, dispatch and channels take them out. The broker gives
// it the time. It never writes a frame and never routes: messages that it gives up become dead-letter
// work of the broker.

import { ChannelError } from "../../amqp/errors.ts";
import { ACCESS_REFUSED } from "../../amqp/reply_code.ts";
import {
  type DeathCause,
  type EntrySink,
  RECORD_PERSISTENT,
  type RecordView,
  type RemovalCause,
} from "../../store/port.ts";
import { emptyView } from "../../store/views.ts";
import { messageEndMs, type QueueArguments } from "../arguments/queue_arguments.ts";
import { QueueStats } from "../metrics.ts";
import { describe, type Owner, type QueueSpec } from "../names.ts";
import { Retries } from "../retry/retries.ts";
import { type ConsumeOptions, Consumer } from "./consumer.ts";
import { ConsumerRing } from "./consumer_ring.ts";
import { LETTER_FRESH } from "./dead_letter.ts";
import type { Delivery } from "./delivery.ts";
import { getHead } from "./get_head.ts";
import type { QueueBroker, QueueVHost } from "./home.ts";
import { IdleEnd } from "./idle_end.ts";
import { ReadyMessages } from "./ready_messages.ts";
import { Settlement } from "./settlement.ts";

/** One queue of a vhost. */
export class Queue {
  readonly broker: QueueBroker;
  readonly vhost: QueueVHost;
  /** Unique in the node; never reused for another queue. */
  readonly id: number;
  readonly name: string;
  readonly args: QueueArguments;
  /** The connection that an exclusive queue belongs to; null for other queues. */
  readonly owner: Owner | null;
  readonly ready: ReadyMessages;
  readonly consumers: ConsumerRing = new ConsumerRing();
  readonly stats: QueueStats = new QueueStats();
  /** The unacked side: decides what happens to settled deliveries. */
  readonly settlement: Settlement = new Settlement(this);
  /** The retry side; null for a queue without retries. */
  readonly retries: Retries | null;
  /** Whether the broker sets `x-delivery-count` on this queue, so that a publisher's value is dropped. */
  readonly keepsCount: boolean;
  /** Number of the batch that holds its definition; 0 if no batch of this run does. */
  definedBatch = 0;
  /** Stamp of the last route that found this queue; see route.ts. */
  routeStamp = 0;
  /** Number of messages that it has given up and that are not yet published as dead letters. */
  dyingCount = 0;
  isDeleted = false;
  /** Whether the queue waits in the broker's dispatch. */
  isScheduled = false;
  readonly #spec: QueueSpec;
  readonly #entries: EntrySink | null;
  readonly #idle: IdleEnd | null;
  readonly #view: RecordView = emptyView();

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
    this.#spec = spec;
    this.args = args;
    this.owner = owner;
    this.ready = new ReadyMessages(this, this.#view);
    this.#entries = spec.durable ? this.broker.store.entries : null;
    this.retries = args.retry === null ? null : new Retries(this, args.retry);
    this.keepsCount = this.retries !== null || args.deliveryLimit !== Infinity;
    this.#idle = args.expiresMs === Infinity ? null : new IdleEnd(this);
  }

  get durable(): boolean {
    return this.#spec.durable;
  }

  get exclusive(): boolean {
    return this.#spec.exclusive;
  }

  get autoDelete(): boolean {
    return this.#spec.autoDelete;
  }

  /** Number of messages ready for delivery: the `message_count` on the wire. */
  get readyCount(): number {
    return this.ready.count;
  }

  get readyBytes(): number {
    return this.ready.bodyBytes;
  }

  get unackedCount(): number {
    return this.settlement.unackedCount;
  }

  get unackedBytes(): number {
    return this.settlement.unackedBytes;
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
    this.#idle?.touch();
  }

  /** When a message of this queue expires, ms: the earlier of its own expiration and the queue's TTL. */
  expiryOf(view: RecordView): number {
    return messageEndMs(this.args, view.expiryMs, view.arrivalMs);
  }

  /** Takes the head into `delivery` for basic.get. Returns one of `GET_*`. */
  get(delivery: Delivery, headerBytesMax = Infinity): number {
    this.touch();
    this.ready.reads.assertReadable();
    return getHead(this, delivery, headerBytesMax);
  }

  /** Calls `resume` once, at the beginning of a turn, when a pending `get` may be tried again. */
  whenRead(resume: () => void): void {
    this.ready.reads.wait(resume);
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
      this.entriesFor(this.#view.flags)?.removed(this.id, position, ref, cause);
    }
    this.broker.store.release(ref, this.id);
  }

  /**
   * Returns the sink for state entries of a message with these flags of its record; null when it does
   * not survive a restart.
   */
  entriesFor(flags: number): EntrySink | null {
    return (flags & RECORD_PERSISTENT) === 0 ? null : this.#entries;
  }

  /**
   * Adds a consumer.
   * @throws ChannelError 403 when it would not be alone and one of the consumers is exclusive
   */
  consume(options: ConsumeOptions): Consumer {
    this.ready.reads.assertReadable();
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
    let purged = store.discard(this.ready.takeAll(), this.id);
    if (this.retries !== null) purged += store.discard(this.retries.takeAll(), this.id);
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
    this.#idle?.stop();
    this.retries?.close();
    this.consumers.cancelAll();
    return readyCount;
  }
}
