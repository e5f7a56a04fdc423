// One open channel: its consumers, its unacked deliveries, its publisher and its modes. The frame
// switch and the handlers call it for the client, dispatch calls it (as ConsumerChannel) for
// deliveries. It writes frames into its connection's outbox and never touches the transport.

import type { ChannelError } from "../amqp/errors.ts";
import { writeBasicCancel, writeChannelClose } from "../amqp/methods_gen.ts";
import type { Consumer, ConsumerChannel } from "../broker/queue/consumer.ts";
import type { Delivery } from "../broker/queue/delivery.ts";
import { serveFirst, settleTurn } from "../broker/queue/dispatch.ts";
import { Publisher } from "../broker/publish/publisher.ts";
import { CAUSE_CLOSE } from "../broker/retry/rules.ts";
import { SETTLED_AS_RETURNED } from "../broker/queue/settle_run.ts";
import { Unacked } from "../broker/queue/unacked.ts";
import type { VHost } from "../broker/topology/vhost.ts";
import { logClose } from "./close_log.ts";
import { Confirms } from "./confirms.ts";
import type { Connection } from "./connection.ts";
import type { SessionContext } from "./context.ts";
import { writeDelivery } from "./message_writer.ts";
import { areLarge } from "./output_gate.ts";
import { PublishAssembly } from "./publish_assembly.ts";
import type { Transaction } from "./tx.ts";

/** A channel, from channel.open to the close-ok of either side. */
export class Channel implements ConsumerChannel {
  readonly number: number;
  readonly connection: Connection;
  readonly context: SessionContext;
  readonly vhost: VHost;
  readonly publisher: Publisher;
  readonly unacked: Unacked = new Unacked();
  readonly assembly: PublishAssembly = new PublishAssembly();
  readonly confirms: Confirms = new Confirms();
  readonly consumers: Map<string, Consumer> = new Map();
  /** The transaction; null until the client selects transactions. */
  tx: Transaction | null = null;
  /** Whether we have sent channel.close. Then everything except close and close-ok is discarded. */
  isClosing = false;
  /** Whether all that the channel had has been given back. */
  isReleased = false;
  /** Prefetch of consumers that start from now on; 0 means no limit. */
  prefetch = 0;
  /** Prefetch of the whole channel; 0 means no limit. */
  channelPrefetch = 0;
  /** Name of the queue declared last, which an empty queue name stands for. */
  lastQueueName = "";
  /** Tag of the last delivery. */
  deliveryTag = 0;
  /** Whether the engine lists this channel among those with confirms to send. */
  isConfirming = false;
  /**
   * Tags of consumers cancelled by a method whose answer must be sent first; null without such a
   * method.
   */
  #heldCancels: string[] | null = null;
  /**
   * Consumers that were refused because the channel may not have more unacked messages, in the order of
   * refusal. While there is one, the channel has no room.
   */
  readonly #waiting = new Set<Consumer>();

  constructor(connection: Connection, vhost: VHost, number: number) {
    this.number = number;
    this.connection = connection;
    this.context = connection.context;
    this.vhost = vhost;
    this.publisher = new Publisher(vhost);
  }

  /**
   * Sets the prefetch of the whole channel. Deliveries of earlier frames are made under the old one
   * first.
   */
  setChannelPrefetch(count: number): void {
    for (const consumer of this.consumers.values()) settleTurn(consumer.queue);
    this.channelPrefetch = count;
    this.acked();
  }

  /** Whether the channel has as many unacked messages as its limit allows, whatever the prefetch is. */
  get isUnackedFull(): boolean {
    return this.unacked.count >= this.context.limits.unackedPerChannelMax;
  }

  // Messages without acknowledgement and messages of basic.get do not count for the prefetch. As in
  // RabbitMQ, a consumer without acknowledgement still waits for room in it.
  #hasRoomFor(consumer: Consumer): boolean {
    const { unacked, channelPrefetch } = this;
    if (channelPrefetch !== 0 && unacked.consumerCount >= channelPrefetch) return false;
    return consumer.noAck || !this.isUnackedFull;
  }

  hasCapacity(consumer: Consumer): boolean {
    if (!this.#hasRoomFor(consumer)) {
      this.#waiting.add(consumer);
      return false;
    }
    const { readyBytes, readyCount } = consumer.queue;
    return this.connection.hasOutputCapacity(areLarge(readyBytes, readyCount));
  }

  deliver(consumer: Consumer, delivery: Delivery): void {
    const { context, connection } = this;
    const { metrics } = context.broker;
    const tag = ++this.deliveryTag;
    if (this.#waiting.size > 0) this.#waiting.delete(consumer);
    if (delivery.redelivered) metrics.redelivered++;
    if (consumer.noAck) {
      metrics.deliveredNoAck++;
    } else {
      metrics.delivered++;
      this.unacked.push(tag, consumer, delivery);
    }
    context.zone.isBroker = false;
    try {
      writeDelivery(connection.writer(), this, consumer, delivery);
    } catch (error) {
      connection.failLater(error);
    }
    context.zone.isBroker = true;
    // A large message is counted at once, because the same turn may have more large ones for other
    // clients.
    if (areLarge(delivery.bodyBytes, 1)) connection.memory.report();
  }

  /** Forgets a consumer that has ended. */
  forget(consumer: Consumer): void {
    this.consumers.delete(consumer.tag);
    this.#waiting.delete(consumer);
  }

  cancelled(consumer: Consumer): void {
    this.forget(consumer);
    if (this.#heldCancels !== null) this.#heldCancels.push(consumer.tag);
    else this.sendCancels([consumer.tag]);
  }

  /**
   * Runs `run`, which may cancel consumers of this channel, and returns their tags. The caller passes
   * them to `sendCancels` after its answer, because a client that closes on the cancel would lose the
   * answer.
   */
  holdCancels(run: () => void): string[] {
    const tags: string[] = [];
    this.#heldCancels = tags;
    try {
      run();
    } finally {
      this.#heldCancels = null;
    }
    return tags;
  }

  /** Tells the client which of its consumers the broker has cancelled. */
  sendCancels(tags: readonly string[]): void {
    const { connection, context } = this;
    if (this.isReleased || !connection.capabilities.consumerCancelNotify) return;
    const { isBroker } = context.zone;
    context.zone.isBroker = false;
    try {
      for (const tag of tags) writeBasicCancel(connection.writer(), this.number, tag, true);
    } catch (error) {
      connection.failLater(error);
    }
    context.zone.isBroker = isBroker;
  }

  /** Called after unacked messages have been settled: consumers that were refused may continue. */
  acked(): void {
    if (this.#waiting.size > 0) this.context.zone.run(this.#serveWaiting);
  }

  // Serves one message each in turn, so that no queue and no consumer takes all the freed room.
  // Consumers that are not reached keep their place; served ones go behind all others.
  readonly #serveWaiting = (): void => {
    for (const consumer of this.#waiting) {
      if (!this.#hasRoomFor(consumer)) continue;
      this.#waiting.delete(consumer);
      if (serveFirst(consumer.queue, consumer)) this.#waiting.add(consumer);
    }
  };

  /** Puts consumers that were refused for lack of capacity back into their rings. */
  resume(): void {
    for (const consumer of this.consumers.values()) {
      if (consumer.isBlocked) consumer.queue.unblock(consumer);
    }
  }

  /** Confirms the publishes that are decided. Returns true when none waits any more. */
  settleConfirms(): boolean {
    const { confirms, connection, context } = this;
    const { safety, metrics } = context.broker;
    if (confirms.hasSafe(safety.safeBatch)) {
      confirms.settle(connection.writer(), this.number, safety, metrics);
    }
    this.isConfirming = confirms.isWaiting;
    return !this.isConfirming;
  }

  /** Copies the unfinished publish out of the input, because the chunk is about to be dropped. */
  detach(): void {
    const { assembly } = this;
    const before = assembly.heldBytes;
    assembly.detach();
    if (assembly.heldBytes !== before) {
      this.connection.memory.changeContent(assembly.heldBytes - before);
    }
  }

  /** Ends the publish, whether finished or given up, and releases its memory. */
  endPublish(): void {
    const { assembly } = this;
    const before = assembly.heldBytes;
    assembly.reset();
    if (assembly.heldBytes !== before) {
      this.connection.memory.changeContent(assembly.heldBytes - before);
    }
  }

  /** Closes the channel because of a mistake of the client. */
  fail(error: ChannelError, methodKey: number): void {
    const place = { message: "channel closed with an error", channel: this.number, methodKey };
    logClose(this.connection, error, place);
    this.release();
    this.isClosing = true;
    writeChannelClose(this.connection.writer(), this.number, {
      replyCode: error.code,
      replyText: error.replyText,
      classId: error.classId || methodKey >>> 16,
      methodId: error.methodId || methodKey & 0xffff,
    });
  }

  /**
   * Gives everything back. Consumers are cancelled first, so that no returned message is delivered here
   * again.
   */
  release(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    const { context } = this;
    context.broker.metrics.channelsClosed++;
    this.endPublish();
    this.confirms.clear();
    this.tx?.clear();
    this.tx = null;
    // The newest first: of many that one queue has, it is found soonest.
    const consumers = [...this.consumers.values()].reverse();
    this.consumers.clear();
    this.#waiting.clear();
    context.zone.run(() => {
      for (const consumer of consumers) consumer.queue.cancel(consumer);
    });
    this.requeueAll(CAUSE_CLOSE);
  }

  /**
   * Returns all unacked messages, for CAUSE_RECOVER or CAUSE_CLOSE (retry/rules.ts), at once or in pieces
   * from here on. A recover leaves messages that a transaction holds.
   */
  requeueAll(cause: number): void {
    const { unacked, context } = this;
    const { settling } = context;
    const includesHeld = cause === CAUSE_CLOSE;
    if (settling.takes(this, unacked.reach(0))) {
      return context.zone.run(() => unacked.requeueAll(cause, includesHeld));
    }
    const { lastTag } = unacked;
    const how = SETTLED_AS_RETURNED;
    settling.begin(this, { how, cause, includesHeld, isCounted: false, lastTag, nextTag: 1 });
  }
}
