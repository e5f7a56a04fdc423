// A broker without sessions for unit tests: publish, consume and settle by plain calls, and move time
// by hand. Deliveries are kept as objects so that tests can compare them.

import { decodeProperties } from "../../src/amqp/properties.ts";
import {
  type FieldTable,
  type FieldValue,
  longField,
  textField,
} from "../../src/amqp/field_value.ts";
import { type Properties, writeProperties } from "../../src/amqp/properties.ts";
import { Broker } from "../../src/broker/broker.ts";
import type { Consumer, ConsumerChannel } from "../../src/broker/queue/consumer.ts";
import type { Delivery } from "../../src/broker/queue/delivery.ts";
import { DEFAULT_LIMITS, type Limits } from "../../src/broker/limits.ts";
import { PUBLISH_LOGGED, Publisher } from "../../src/broker/publish/publisher.ts";
import { GET_MESSAGE } from "../../src/broker/queue/get_head.ts";
import type { Queue } from "../../src/broker/queue/queue.ts";
import { Unacked } from "../../src/broker/queue/unacked.ts";
import { Users } from "../../src/broker/access/users.ts";
import type { VHost } from "../../src/broker/topology/vhost.ts";
import { ByteWriter } from "../../src/lib/byte_writer.ts";
import type { Logger } from "../../src/lib/logger.ts";
import { Prng } from "../../src/lib/prng.ts";
import { decodeText, encodeText } from "../../src/lib/text.ts";
import { Scheduler } from "../../src/schedule/scheduler.ts";
import type { Store } from "../../src/store/port.ts";
import { emptySource } from "../../src/store/views.ts";
import { chosenStore, IS_ON_DISK } from "./chosen_store.ts";

/** Field values by what tests write: numbers become longs, strings long strings. */
export type Plain = Record<string, number | string | boolean | FieldValue>;

/** A field table of plain values. */
export function table(plain: Plain): FieldTable {
  const fields = new Map<string, FieldValue>();
  for (const [key, value] of Object.entries(plain)) {
    if (typeof value === "number") fields.set(key, longField(value));
    else if (typeof value === "string") fields.set(key, textField(value));
    else if (typeof value === "boolean") fields.set(key, { tag: "t", value });
    else fields.set(key, value);
  }
  return fields;
}

/** A delivery as tests look at it. */
export interface Seen {
  tag: number;
  consumer: string;
  body: string;
  exchange: string;
  routingKey: string;
  redelivered: boolean;
  /** The `x-delivery-count` that would be written; 0 = none. */
  deliveryCount: number;
  properties: Properties;
}

/** A channel that takes what it has room for. */
export class TestChannel implements ConsumerChannel {
  readonly unacked: Unacked = new Unacked();
  readonly seen: Seen[] = [];
  readonly cancelledTags: string[] = [];
  isOpen = true;
  #nextTag = 1;

  hasCapacity(): boolean {
    return this.isOpen;
  }

  deliver(consumer: Consumer, delivery: Delivery): void {
    this.take(consumer, delivery, consumer.noAck);
  }

  cancelled(consumer: Consumer): void {
    this.cancelledTags.push(consumer.tag);
  }

  take(consumer: Consumer | null, delivery: Delivery, noAck: boolean): Seen {
    const tag = this.#nextTag++;
    const { view } = delivery;
    const exchangeEnd = view.addressStart + 1 + view.bytes[view.addressStart]!;
    const seen = {
      tag,
      consumer: consumer?.tag ?? "",
      body: decodeText(view.bytes, view.bodyStart, view.bodyEnd),
      exchange: decodeText(view.bytes, view.addressStart + 1, exchangeEnd),
      routingKey: decodeText(view.bytes, exchangeEnd + 1, view.addressEnd),
      redelivered: delivery.redelivered,
      deliveryCount: delivery.deliveryCount,
      properties: decodeProperties(view.bytes, view.propertiesStart, view.propertiesEnd),
    };
    this.seen.push(seen);
    if (!noAck) this.unacked.push(tag, consumer, delivery);
    return seen;
  }

  /** Takes what has been delivered since the last call. */
  drain(): Seen[] {
    return this.seen.splice(0);
  }
}

/** A broker, its time and shorthand for what tests do all the time. */
export class TestBroker {
  readonly broker: Broker;
  readonly vhost: VHost;
  readonly owner = { name: "test" };
  readonly #publisher: Publisher;
  readonly #source = emptySource();
  /** Syncs and reads of a chosen store that end at the next turn. */
  readonly #ended: (() => void)[] = [];

  constructor(
    options: {
      limits?: Partial<Limits>;
      store?: Store;
      seed?: number;
      nowMs?: number;
      users?: Users;
      logger?: Logger;
    } = {},
  ) {
    const prng = new Prng(options.seed ?? 1);
    this.broker = new Broker({
      store: options.store ?? chosenStore((callback) => this.#ended.push(callback)),
      scheduler: new Scheduler(),
      limits: { ...DEFAULT_LIMITS, ...options.limits },
      logger: options.logger ?? { log() {} },
      users: options.users ?? new Users([]),
      random: () => prng.nextFloat(),
    });
    this.vhost = this.broker.vhosts.get("/")!;
    this.#publisher = new Publisher(this.vhost);
    this.broker.beginTurn(options.nowMs ?? 1_000_000);
  }

  get nowMs(): number {
    return this.broker.nowMs;
  }

  queue(
    name: string,
    args: Plain = {},
    flags: { autoDelete?: boolean; durable?: boolean } = {},
  ): Queue {
    const { autoDelete = false, durable = IS_ON_DISK } = flags;
    const spec = { name, durable, exclusive: false, autoDelete, args: table(args) };
    return this.vhost.declareQueue(spec, this.owner);
  }

  /** Publishes through an exchange (default: the default one); bits of `PUBLISH_*`. */
  publish(key: string, body: string, properties: Properties = {}, exchange = ""): number {
    const out = new ByteWriter();
    out.shortString(exchange);
    out.shortString(key);
    const propertiesStart = out.byteCount;
    writeProperties(out, properties);
    const bytes = encodeText(body);
    Object.assign(this.#source, {
      address: out.bytes,
      addressStart: 0,
      addressEnd: propertiesStart,
      properties: out.bytes,
      propertiesStart,
      propertiesEnd: out.byteCount,
      body: bytes,
      bodyStart: 0,
      bodyEnd: bytes.length,
    });
    const outcome = this.#publisher.publish(this.#source);
    return IS_ON_DISK ? outcome & ~PUBLISH_LOGGED : outcome;
  }

  consume(
    queue: Queue,
    channel: TestChannel,
    options: {
      tag?: string;
      noAck?: boolean;
      prefetch?: number;
      priority?: number;
      exclusive?: boolean;
      headerBytesMax?: number;
    } = {},
  ): Consumer {
    const { tag = "c", noAck = false, prefetch = 0, priority = 0, exclusive = false } = options;
    const { headerBytesMax = Infinity } = options;
    return queue.consume({ channel, tag, noAck, prefetch, priority, exclusive, headerBytesMax });
  }

  /** basic.get; null when the queue is empty. */
  get(queue: Queue, channel: TestChannel, noAck = false): Seen | null {
    const { delivery } = this.broker;
    if (queue.get(delivery) !== GET_MESSAGE) return null;
    const seen = channel.take(null, delivery, noAck);
    if (noAck) queue.settlement.discarded(delivery);
    channel.seen.pop();
    return seen;
  }

  /** Tells the queue that all its consumers may have capacity again. */
  unblock(queue: Queue): void {
    for (const consumer of queue.consumers.all) queue.unblock(consumer);
  }

  /** Ends the turn and starts the next one `byMs` later; runs until nothing is left to do. */
  turn(byMs = 0): void {
    this.broker.dispatch();
    this.broker.endTurn();
    for (const callback of this.#ended.splice(0)) callback();
    this.broker.beginTurn(this.broker.nowMs + byMs);
    let rounds = 0;
    do {
      this.broker.dispatch();
      this.broker.endTurn();
      if (!this.broker.hasMoreWork) return;
      this.broker.beginTurn(this.broker.nowMs);
    } while (++rounds < 10_000);
    throw new Error("the broker never comes to rest");
  }
}
