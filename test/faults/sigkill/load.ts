// The client under whose load the broker is killed: a publisher that waits for confirms, a consumer that
// acks, rejects, dead-letters and forgets, and declarations. One object is one connection's life; it
// ends with the broker. Everything it does goes into the ledger.

import amqplib, { type ConsumeMessage, type GetMessage } from "amqplib";
import type { Prng } from "../../../src/lib/prng.ts";
import type { Ledger, RetryRule } from "./ledger.ts";

/** Messages that may wait for their confirm. */
const WINDOW = 64;
const PREFETCH = 32;
/** Between two questions that make certain what has been sent before. */
const BARRIER_MS = 20;
const POLL_PAUSE_MS = 5;
const EVENT_EVERY = 8;
const BODY_BYTES_MAX = 3000;
/** One message in so many is a large one: log files are to be filled, too. */
const LARGE_EVERY = 32;
const LARGE_BYTES_MAX = 256 * 1024;

const NEVER_MS = 2 ** 31;
/** The queue that basic.get takes from; half the time what it takes needs no acknowledgement. */
const POLLED = "polled";

const QUICK: RetryRule & { args: object } = {
  deliveryLimit: 5,
  delayMs: (spent) => Math.min(30 * 2 ** (spent - 1), 200),
  args: {
    "x-delayed-retry-min": 30,
    "x-delayed-retry-multiplier": 2,
    "x-delayed-retry-max": 200,
    "x-delivery-limit": 5,
  },
};

/** Queues that work goes to, with what the broker does for its retries. */
const WORK_QUEUES: Readonly<Record<string, RetryRule & { args: object }>> = {
  quick: QUICK,
  // Asked for message by message: after a start each has to be read from the disk first.
  [POLLED]: QUICK,
  // Longer than a round and a start take: its delays outlive the broker.
  slow: {
    deliveryLimit: 20,
    delayMs: () => 2500,
    args: { "x-delayed-retry-min": 2500, "x-delayed-retry-multiplier": 1 },
  },
};

/** Queue of dead letters. */
const DEAD = "dead";
/** Queues that all events go to, in order. */
const COPIES = ["copy-a", "copy-b"];

/** What survives one connection: shared by the rounds of a run. */
export interface LoadState {
  readonly prng: Prng;
  readonly ledger: Ledger;
  /** Events confirmed so far; every copy must hold them, in this order. */
  readonly events: { id: number; isConfirmed: boolean }[];
  /** Queues whose declaration and binding were answered. */
  readonly declared: string[];
  nextId: number;
}

/** One connection with its channels. */
export class Load {
  readonly #state: LoadState;
  readonly #connection: amqplib.ChannelModel;
  readonly #publisher: amqplib.ConfirmChannel;
  readonly #consumer: amqplib.Channel;
  /** Resolves when the connection is gone. */
  readonly gone: Promise<void>;
  #isGone = false;
  #unconfirmed = 0;
  #wake: () => void = () => {};

  constructor(
    state: LoadState,
    connection: amqplib.ChannelModel,
    channels: { publisher: amqplib.ConfirmChannel; consumer: amqplib.Channel },
  ) {
    this.#state = state;
    this.#connection = connection;
    this.#publisher = channels.publisher;
    this.#consumer = channels.consumer;
    this.gone = new Promise((resolve) => {
      connection.on("close", () => {
        this.#isGone = true;
        this.#wake();
        resolve();
      });
    });
  }

  /** Connects and declares what all rounds use. */
  static async open(url: string, state: LoadState): Promise<Load> {
    const connection = await amqplib.connect(url);
    connection.on("error", () => {});
    const publisher = await connection.createConfirmChannel();
    const consumer = await connection.createChannel();
    for (const channel of [publisher, consumer]) channel.on("error", () => {});
    const load = new Load(state, connection, { publisher, consumer });
    await declareAll(publisher);
    return load;
  }

  /** Closes in order. */
  async close(): Promise<void> {
    await this.#connection.close();
    await this.gone;
  }

  /** Publishes and consumes until the connection is gone. */
  async run(round: number): Promise<void> {
    try {
      await this.#consumer.prefetch(PREFETCH);
      for (const queue of Object.keys(WORK_QUEUES)) {
        if (queue === POLLED) continue;
        await this.#consumer.consume(queue, (message) => this.#take(message, false));
      }
      this.#barriers();
      this.#poll();
      await this.#declare(round);
      while (!this.#isGone) await this.#publishSome();
    } catch (error) {
      // What a client library says about a connection that is gone is its own business.
      if (!this.#isGone) await this.gone;
      void error;
    }
    this.#state.ledger.killed();
  }

  // --- publishing

  async #declare(round: number): Promise<void> {
    const queue = `round-${round}`;
    await this.#publisher.assertQueue(queue);
    await this.#publisher.bindQueue(queue, "rounds", queue);
    this.#state.declared.push(queue);
  }

  async #publishSome(): Promise<void> {
    const { prng } = this.#state;
    while (!this.#isGone && this.#unconfirmed < WINDOW) {
      if (prng.nextBelow(EVENT_EVERY) === 0) this.#publishEvent();
      else this.#publishWork();
    }
    if (this.#isGone) return;
    await new Promise<void>((resolve) => this.#wake = resolve);
  }

  #publishWork(): void {
    const { prng, ledger } = this.#state;
    const id = this.#state.nextId++;
    const roll = prng.nextBelow(8);
    const queue = roll < 2 ? "slow" : roll < 4 ? POLLED : "quick";
    ledger.published(id, WORK_QUEUES[queue]!, queue === POLLED);
    this.#send({ exchange: "", key: queue, id }, () => ledger.confirmed(id));
  }

  #publishEvent(): void {
    const event = { id: this.#state.nextId++, isConfirmed: false };
    this.#state.events.push(event);
    this.#send({ exchange: "events", key: "", id: event.id }, () => event.isConfirmed = true);
  }

  #send(to: { exchange: string; key: string; id: number }, confirmed: () => void): void {
    const { exchange, key, id } = to;
    const { prng } = this.#state;
    const bytesMax = prng.nextBelow(LARGE_EVERY) === 0 ? LARGE_BYTES_MAX : BODY_BYTES_MAX;
    const filling = "x".repeat(prng.nextBelow(bytesMax));
    this.#unconfirmed++;
    const options = { persistent: true };
    this.#publisher.publish(exchange, key, Buffer.from(`${id} ${filling}`), options, (error) => {
      this.#unconfirmed--;
      if (error === null) confirmed();
      this.#wake();
    });
  }

  // --- consuming

  /** Takes everything there is, acks it, and comes back when nothing has been missing for long. */
  async drain(limitMs: number): Promise<void> {
    for (const queue of Object.keys(WORK_QUEUES)) {
      await this.#consumer.consume(queue, (message) => this.#take(message, true));
    }
    await this.#consumer.consume(DEAD, (message) => {
      if (message === null) return;
      this.#state.ledger.dead(idOf(message));
      this.#consumer.ack(message);
    });
    const { ledger } = this.#state;
    const endMs = Date.now() + limitMs;
    while (ledger.missing.length > 0 && Date.now() < endMs) await sleep(50);
    // What would be there twice has its chance to show up: the longest delay there is.
    await sleep(2600);
    await this.#consumer.checkQueue(DEAD);
  }

  #take(message: ConsumeMessage | GetMessage | null, isDraining: boolean): void {
    if (message === null) return;
    const { ledger, prng } = this.#state;
    const id = idOf(message);
    const count = Number(message.properties.headers?.["x-delivery-count"] ?? 0);
    const nowMs = Date.now();
    ledger.delivered({ id, redelivered: message.fields.redelivered, count, nowMs });
    const chance = isDraining ? 0 : prng.nextBelow(100);
    if (chance < 45) {
      ledger.acking(id, nowMs);
      this.#consumer.ack(message);
    } else if (chance < 70) {
      ledger.rejecting(id, nowMs);
      this.#consumer.reject(message, true);
    } else if (chance < 90) {
      ledger.rejecting(id, nowMs);
      this.#consumer.nack(message, false, true);
    } else if (chance < 97) {
      ledger.burying(id, nowMs);
      this.#consumer.nack(message, false, false);
    }
    // The others stay out for delivery until the broker dies or the connection ends.
  }

  /** Takes messages one by one, some of them for good. */
  async #poll(): Promise<void> {
    const { ledger, prng } = this.#state;
    let noAck = false;
    try {
      while (!this.#isGone) {
        noAck = prng.nextBelow(2) === 0;
        const message = await this.#consumer.get(POLLED, { noAck });
        if (message === false) await sleep(POLL_PAUSE_MS);
        else if (!noAck) this.#take(message, false);
        else ledger.taken(idOf(message), Date.now());
      }
    } catch {
      if (noAck) ledger.getUnanswered();
    }
  }

  /** Asks again and again, so that what was sent before is certain. */
  async #barriers(): Promise<void> {
    try {
      while (!this.#isGone) {
        const { doubtCount } = this.#state.ledger;
        await this.#consumer.checkQueue(DEAD);
        if (!this.#isGone) this.#state.ledger.settled(doubtCount);
        await sleep(BARRIER_MS);
      }
    } catch {
      return;
    }
  }

  // --- at the end

  /** Looks whether definitions and events are what they must be. */
  async inspect(): Promise<void> {
    const { ledger, declared, events } = this.#state;
    for (const queue of declared) {
      this.#publisher.publish("rounds", queue, Buffer.from(queue), { persistent: true });
      await this.#publisher.waitForConfirms();
      const message = await this.#consumer.get(queue, { noAck: true });
      if (message === false) ledger.problem(`the binding of ${queue} is gone`);
    }
    for (const queue of Object.keys(WORK_QUEUES)) {
      const { messageCount } = await this.#consumer.checkQueue(queue);
      if (messageCount > 0) ledger.problem(`${messageCount} messages are still in ${queue}`);
    }
    for (const copy of COPIES) await this.#inspectCopy(copy, events);
  }

  async #inspectCopy(copy: string, events: LoadState["events"]): Promise<void> {
    const { ledger } = this.#state;
    const found: number[] = [];
    for (;;) {
      const message = await this.#consumer.get(copy, { noAck: true });
      if (message === false) break;
      found.push(Number(message.content.toString().split(" ", 1)[0]));
    }
    const ids = new Set(found);
    if (ids.size < found.length) ledger.problem(`${copy} has events twice`);
    if (found.some((id, index) => index > 0 && id < found[index - 1]!)) {
      ledger.problem(`${copy} has events in another order`);
    }
    const lost = events.filter(({ id, isConfirmed }) => isConfirmed && !ids.has(id));
    if (lost.length > 0) ledger.problem(`${copy} has lost ${lost.length} confirmed events`);
  }
}

async function declareAll(channel: amqplib.Channel): Promise<void> {
  await channel.assertQueue(DEAD);
  const dead = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": DEAD };
  for (const [queue, { args }] of Object.entries(WORK_QUEUES)) {
    await channel.assertQueue(queue, { arguments: { ...args, ...dead } });
  }
  await channel.assertExchange("events", "fanout");
  await channel.assertExchange("rounds", "direct");
  for (const copy of COPIES) {
    await channel.assertQueue(copy);
    await channel.bindQueue(copy, "events", "");
  }
}

function idOf(message: ConsumeMessage | GetMessage): number {
  return Number(message.content.toString().split(" ", 1)[0]);
}

function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.min(delayMs, NEVER_MS)));
}
