// What clients do, one random operation at a time: publish, consume, settle, and change what there is.
// Refusals by the broker are as good as successes; what matters is what it says and then keeps.

import { ChannelError } from "../../../src/amqp/errors.ts";
import type { Properties } from "../../../src/amqp/properties.ts";
import {
  PUBLISH_LOGGED,
  PUBLISH_REFUSED,
  PUBLISH_ROUTED,
} from "../../../src/broker/publish/publisher.ts";
import { GET_MESSAGE, GET_PENDING } from "../../../src/broker/queue/get_head.ts";
import type { Queue } from "../../../src/broker/queue/queue.ts";
import { CAUSE_NACK, CAUSE_RECOVER, CAUSE_REJECT } from "../../../src/broker/retry/rules.ts";
import { EMPTY_TABLE } from "../../../src/amqp/field_value.ts";
import { table } from "../../support/test_broker.ts";
import type { SimChannel } from "./channel.ts";
import { bodyOf } from "./messages.ts";
import type { SimNode, World } from "./node.ts";
import { Operator } from "./operator.ts";
import type { Dice, QueuePlan } from "./plan.ts";

const EXCHANGES = [
  { name: "fan", type: "fanout", durable: true },
  { name: "topic", type: "topic", durable: true },
  { name: "brief", type: "fanout", durable: false },
] as const;
const KEYS = ["a", "a.b", "b.c.d", ""];

/** Clients of one node. */
export class Workload {
  readonly #world: World;
  readonly #node: SimNode;
  readonly #dice: Dice;
  readonly #operator: Operator;

  constructor(world: World, node: SimNode, dice: Dice) {
    this.#world = world;
    this.#node = node;
    this.#dice = dice;
    this.#operator = new Operator(world, node, dice);
  }

  /** Makes every queue and exchange of the plan. */
  declareAll(): void {
    for (const plan of this.#world.plan.queues) this.#declare(plan);
    for (const exchange of EXCHANGES) this.#declareExchange(exchange);
  }

  /** Does one random thing. */
  step(): void {
    this.#operator.step();
    const { plan, trace } = this.#world;
    const roll = this.#dice.below(100 + plan.settlePercent);
    try {
      if (roll < 45) this.#publish();
      else if (roll < 50) this.#fanOut();
      else if (roll < 58) this.#consume();
      else if (roll < 64) this.#get();
      else if (roll < 80) this.#change();
      else this.#settle();
    } catch (error) {
      if (!(error instanceof ChannelError)) throw error;
      trace(`  refused: ${error.message}`);
    }
  }

  // --- publishing

  #publish(): void {
    const { name } = this.#dice.pick(this.#world.plan.queues);
    this.#send("", name);
  }

  #fanOut(): void {
    const { name } = this.#dice.pick(EXCHANGES);
    if (this.#node.t.vhost.exchanges.has(name)) this.#send(name, this.#dice.pick(KEYS));
  }

  #send(exchange: string, routingKey: string): void {
    const { plan, messages, life, trace } = this.#world;
    const { store, t } = this.#node;
    const dice = this.#dice;
    if (store.isDiskLow && dice.percent(90)) return;
    const isPersistent = dice.percent(80);
    const bodyBytes = 8 + dice.below(dice.pick([1, 40, plan.bodyBytesMax]));
    const batch = store.openBatch;
    const message = messages.publish({ life, batch, isPersistent, bodyBytes });
    const properties: Properties = { messageId: message.id };
    if (isPersistent) properties.deliveryMode = 2;
    if (dice.percent(15)) properties.expiration = String(dice.pick([0, 30, 500, 4_000]));
    if (dice.percent(20)) {
      properties.headers = table({ n: dice.below(1000), "x-delivery-count": 7 });
    }
    trace(`  publish ${message.id} (${bodyBytes} B) to '${exchange}' ${routingKey}`);
    const body = bodyOf(message.id, bodyBytes);
    const outcome = t.publish(routingKey, body, properties, exchange);
    const isKept = (outcome & PUBLISH_ROUTED) !== 0 && (outcome & PUBLISH_REFUSED) === 0;
    if (isKept && (outcome & PUBLISH_LOGGED) !== 0) messages.waitFor(message, batch);
  }

  // --- consuming

  #channel(): SimChannel {
    const { channels } = this.#node;
    if (channels.length < 3) return this.#node.openChannel();
    return this.#dice.pick(channels);
  }

  #queue(): Queue | null {
    const { name } = this.#dice.pick(this.#world.plan.queues);
    return this.#node.queue(name) ?? null;
  }

  #consume(): void {
    const queue = this.#queue();
    if (queue === null || queue.consumers.count >= 2) return;
    const dice = this.#dice;
    const channel = this.#channel();
    const noAck = dice.percent(10);
    this.#world.trace(`  consume ${queue.name} on ${channel.name}${noAck ? ", no ack" : ""}`);
    const options = { channel, tag: "c", noAck, prefetch: dice.pick([0, 1, 5]), priority: 0 };
    channel.consumers.push(queue.consume({ ...options, exclusive: false }));
  }

  #get(): void {
    const queue = this.#queue();
    if (queue === null) return;
    const noAck = this.#dice.percent(20);
    this.#attempt(queue, this.#channel(), noAck);
  }

  // As basic.get does: what has to be read first is tried again when it has been.
  #attempt(queue: Queue, channel: SimChannel, noAck: boolean): void {
    const { delivery } = this.#node.t.broker;
    const outcome = queue.get(delivery);
    if (outcome === GET_PENDING) {
      queue.whenRead(() => this.#attemptAgain(queue, channel, noAck));
    } else if (outcome === GET_MESSAGE) {
      channel.take(null, delivery, noAck);
      if (noAck) queue.settlement.discarded(delivery);
    }
  }

  #attemptAgain(queue: Queue, channel: SimChannel, noAck: boolean): void {
    if (queue.isDeleted || !this.#node.channels.includes(channel)) return;
    try {
      this.#attempt(queue, channel, noAck);
    } catch (error) {
      if (!(error instanceof ChannelError)) throw error;
      this.#world.trace(`  refused: ${error.message}`);
    }
  }

  #settle(): void {
    const { channels, watch } = this.#node;
    const dice = this.#dice;
    if (channels.length === 0) return;
    const channel = dice.pick(channels);
    const visible = channel.visible();
    if (visible.length === 0) return;
    const { tag } = dice.pick(visible);
    const multiple = dice.percent(15);
    const settled = channel.settled(tag, multiple);
    const keys = settled.map(({ key }) => key);
    const { retryPercent } = this.#world.plan;
    const how = retryPercent > 0 && dice.percent(retryPercent)
      ? "retry"
      : dice.pick(["ack", "ack", "ack", "retry", "retry", "nack", "reject"]);
    this.#world.trace(`  ${how} ${keys}`);
    if (how === "ack") {
      for (const key of keys) watch.acking.add(key);
      channel.unacked.ack(tag, multiple);
    } else if (how === "reject") {
      const batch = this.#node.store.openBatch;
      for (const { key, queue, isKept } of settled) {
        watch.rejecting.add(key);
        if (isKept) this.#node.rejects.push({ key, queueId: queue.id, batch });
      }
      channel.unacked.reject(tag, multiple, false, CAUSE_REJECT);
    } else {
      channel.unacked.reject(tag, multiple, true, how === "retry" ? CAUSE_REJECT : CAUSE_NACK);
    }
  }

  // --- changes

  #change(): void {
    const dice = this.#dice;
    const roll = dice.below(100);
    if (roll < 25) this.#declare(dice.pick(this.#world.plan.queues));
    else if (roll < 30) this.#deleteQueue();
    else if (roll < 36) this.#purge();
    else if (roll < 56) this.#bind();
    else if (roll < 62) this.#unbind();
    else if (roll < 70) this.#declareExchange(dice.pick(EXCHANGES));
    else if (roll < 73) this.#deleteExchange();
    else if (roll < 85) this.#cancel();
    else if (roll < 92) this.#closeChannel();
    else this.#recover();
  }

  #declare(plan: QueuePlan): void {
    const { name, durable, args } = plan;
    if (this.#node.queue(name) === undefined) this.#world.trace(`  declare ${name}`);
    this.#node.t.queue(name, args, { durable });
  }

  #deleteQueue(): void {
    const queue = this.#queue();
    if (queue === null) return;
    this.#world.trace(`  delete ${queue.name}`);
    const { vhost, owner } = this.#node.t;
    vhost.deleteQueue(queue.name, { ifUnused: false, ifEmpty: false }, owner);
  }

  #purge(): void {
    const queue = this.#queue();
    if (queue === null) return;
    this.#world.trace(`  purge ${queue.name}`);
    queue.purge();
  }

  #bind(): void {
    const dice = this.#dice;
    const { vhost, owner } = this.#node.t;
    const routingKey = dice.pick(["", "#", "a.*", "*.b"]);
    const exchange = dice.pick(EXCHANGES).name;
    const args = dice.percent(30) ? table({ n: dice.below(3) }) : EMPTY_TABLE;
    if (dice.percent(20)) {
      vhost.bindExchange({ source: exchange, destination: "fan", routingKey, args });
    } else {
      const queue = dice.pick(this.#world.plan.queues).name;
      vhost.bindQueue({ queue, exchange, routingKey, args }, owner);
    }
  }

  #unbind(): void {
    const dice = this.#dice;
    const { vhost, owner } = this.#node.t;
    const bindings = [...vhost.bindings()].filter(({ source }) => source !== "");
    if (bindings.length === 0) return;
    const { source, destination, destinationType, routingKey, args } = dice.pick(bindings);
    if (destinationType === "exchange") {
      vhost.unbindExchange({ source, destination, routingKey, args });
    } else {
      vhost.unbindQueue({ exchange: source, queue: destination, routingKey, args }, owner);
    }
  }

  #declareExchange(exchange: (typeof EXCHANGES)[number]): void {
    const args = exchange.name === "topic" ? table({ "alternate-exchange": "fan" }) : EMPTY_TABLE;
    this.#node.t.vhost.declareExchange({
      ...exchange,
      autoDelete: false,
      internal: false,
      args,
    });
  }

  #deleteExchange(): void {
    this.#node.t.vhost.deleteExchange(this.#dice.pick(EXCHANGES).name, false);
  }

  #cancel(): void {
    const { channels } = this.#node;
    if (channels.length === 0) return;
    const { consumers } = this.#dice.pick(channels);
    if (consumers.length === 0) return;
    const consumer = this.#dice.pick(consumers);
    consumers.splice(consumers.indexOf(consumer), 1);
    consumer.queue.cancel(consumer);
  }

  #closeChannel(): void {
    const { channels } = this.#node;
    if (channels.length === 0) return;
    const channel = this.#dice.pick(channels);
    this.#world.trace(`  close ${channel.name}`);
    this.#node.closeChannel(channel);
  }

  #recover(): void {
    const { channels } = this.#node;
    if (channels.length === 0) return;
    const channel = this.#dice.pick(channels);
    this.#world.trace(`  recover ${channel.name}`);
    channel.held.clear();
    channel.unacked.requeueAll(CAUSE_RECOVER, false);
  }
}
