// What one channel of one broker has been told: sorted into what has an order (answers, the deliveries of
// each consumer, returns) and what has none, and checked against the laws of the protocol that hold for
// every broker by itself. run.ts compares the views of both brokers.

import { fieldTableToJson, type JsonObject } from "../../src/amqp/field_json.ts";
import type { FieldTable } from "../../src/amqp/field_value.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import type { Properties } from "../../src/amqp/properties.ts";
import { decodeText } from "../../src/lib/text.ts";
import type { Incoming } from "../support/amqp_client.ts";

/** A consumer as the client knows it. */
export interface KnownConsumer {
  readonly queue: string;
  readonly noAck: boolean;
}

/** A delivery that waits to be settled. */
export interface Unsettled {
  /** The same on both brokers; tags need not be. */
  readonly key: string;
  readonly queue: string;
  readonly consumerTag: string;
}

/** What came in one step. */
export interface Seen {
  /** Answers and closes, in order. */
  answers: string[];
  deliveries: Record<string, string[]>;
  returns: string[];
  confirms: Record<string, string>;
  cancels: string[];
  /** Laws of the protocol that were broken. */
  broken: string[];
}

/** Headers that RabbitMQ 3.10 does not know, or that hold the time. */
const LEFT_OUT = new Set([
  "time",
  "x-last-death-exchange",
  "x-last-death-queue",
  "x-last-death-reason",
]);

function emptySeen(): Seen {
  return { answers: [], deliveries: {}, returns: [], confirms: {}, cancels: [], broken: [] };
}

/** One channel as its client sees it. */
export class View {
  seen: Seen = emptySeen();
  isTx = false;
  isConfirming = false;
  /** Answers that methods have asked for and that have not come. */
  owed = 0;
  /** The broker has closed the channel or its connection. */
  isRefused = false;
  isConnectionRefused = false;
  readonly consumers: Map<string, KnownConsumer> = new Map();
  /** Those asked for; the answer says whether they are there. */
  readonly asked: Map<string, KnownConsumer> = new Map();
  readonly unsettled: Map<number, Unsettled> = new Map();
  /** Settled in a transaction that is still open. */
  readonly held: Map<number, Unsettled> = new Map();
  readonly gets: { queue: string; noAck: boolean }[] = [];
  /** Queues whose deletion has no answer yet. */
  readonly deleting: string[] = [];
  /** The limit of the channel, from `basic.qos` with `global`; 0 for none. */
  channelLimit = 0;
  /** Name of the queue declared last. */
  lastQueue = "";
  /** Number of the last publish that asks for a confirm. */
  confirmedTag = 0;
  readonly unconfirmed: Set<number> = new Set();
  #lastTag = 0;

  /** Whether nothing is owed any more. */
  get isDone(): boolean {
    return this.isRefused || (this.owed === 0 && this.unconfirmed.size === 0);
  }

  /** Whether the channel gets nothing more until it settles something. */
  get isFull(): boolean {
    return this.channelLimit > 0 && this.unsettled.size + this.held.size >= this.channelLimit;
  }

  /** The channel is new, or gone. */
  reset(): void {
    this.isRefused = false;
    this.isConnectionRefused = false;
    this.isTx = false;
    this.isConfirming = false;
    this.owed = 0;
    this.consumers.clear();
    this.asked.clear();
    this.unsettled.clear();
    this.held.clear();
    this.gets.length = 0;
    this.deleting.length = 0;
    this.channelLimit = 0;
    this.lastQueue = "";
    this.confirmedTag = 0;
    this.unconfirmed.clear();
    this.#lastTag = 0;
  }

  /** Gives out what was seen since the last call. */
  takeSeen(): Seen {
    const { seen } = this;
    this.seen = emptySeen();
    return seen;
  }

  #broken(what: string): void {
    this.seen.broken.push(what);
  }

  /** Something came on the channel, or for its whole connection. */
  observe(incoming: Incoming): void {
    switch (incoming.key) {
      case M.BASIC_DELIVER:
        return this.#delivered(incoming);
      case M.BASIC_ACK:
        return this.#confirmed(incoming.args, "+");
      case M.BASIC_NACK:
        return this.#confirmed(incoming.args, "-");
      case M.BASIC_RETURN:
        this.seen.returns.push(`${incoming.args.replyCode} ${content(incoming)}`);
        return;
      case M.BASIC_CANCEL:
        return this.#cancelled(incoming.args.consumerTag);
      case M.CHANNEL_OPEN_OK:
        return;
      case M.CHANNEL_CLOSE:
      case M.CONNECTION_CLOSE:
        return this.#refused(incoming);
      default:
        return this.#answered(incoming);
    }
  }

  #refused({ key, name, args }: Incoming): void {
    const { replyCode, replyText, classId, methodId } = args;
    this.seen.answers.push(`${name} ${replyCode} ${replyText} (${classId}.${methodId})`);
    this.isRefused = true;
    if (key === M.CONNECTION_CLOSE) this.isConnectionRefused = true;
  }

  #delivered(incoming: Incoming): void {
    const { deliveryTag, consumerTag } = incoming.args;
    this.#tag(deliveryTag);
    const consumer = this.consumers.get(consumerTag);
    if (consumer === undefined) {
      return this.#broken(`delivery to ${consumerTag}, which is not there`);
    }
    const list = this.seen.deliveries[consumerTag] ??= [];
    list.push(content(incoming));
    if (consumer.noAck) return;
    const { queue } = consumer;
    this.unsettled.set(deliveryTag, {
      key: `${consumerTag} ${idOf(incoming)}`,
      queue,
      consumerTag,
    });
  }

  #cancelled(consumerTag: string): void {
    this.seen.cancels.push(consumerTag);
    const consumer = this.consumers.get(consumerTag);
    if (consumer === undefined) return this.#broken(`cancel of ${consumerTag}, which is not there`);
    this.consumers.delete(consumerTag);
    if (this.deleting.includes(consumer.queue)) this.#broken("cancel before delete-ok");
  }

  // A second delete of the queue finds nobody to cancel.
  #deleted(queue: string): void {
    this.deleting.forEach((name, index) => {
      if (name === queue) this.deleting[index] = "";
    });
  }

  #tag(deliveryTag: number): void {
    if (deliveryTag <= this.#lastTag) this.#broken(`tag ${deliveryTag} after ${this.#lastTag}`);
    this.#lastTag = deliveryTag;
  }

  // As the protocol says it: every tag up to this one that has no answer yet has this one.
  #confirmed({ deliveryTag, multiple }: M.BasicAck, outcome: string): void {
    if (!multiple && !this.unconfirmed.has(deliveryTag)) {
      return this.#broken(`confirm of ${deliveryTag}, which waits for none`);
    }
    for (const tag of [...this.unconfirmed]) {
      if (multiple ? tag > deliveryTag : tag !== deliveryTag) continue;
      this.unconfirmed.delete(tag);
      this.seen.confirms[`${tag}`] = outcome;
    }
  }

  #answered(incoming: Incoming): void {
    const { key, name, args } = incoming;
    this.owed--;
    if (this.owed < 0) this.#broken(`${name} that nobody asked for`);
    if (key === M.BASIC_GET_OK) return this.#got(incoming);
    if (key === M.BASIC_GET_EMPTY) this.gets.shift();
    if (key === M.BASIC_CONSUME_OK) {
      this.consumers.set(args.consumerTag, this.asked.get(args.consumerTag)!);
    }
    if (key === M.BASIC_CANCEL_OK) this.consumers.delete(args.consumerTag);
    if (key === M.QUEUE_DELETE_OK) this.#deleted(this.deleting.shift()!);
    if (key === M.TX_SELECT_OK) this.isTx = true;
    if (key === M.TX_COMMIT_OK) this.held.clear();
    if (key === M.TX_ROLLBACK_OK) this.#rolledBack();
    this.seen.answers.push(`${name}${plain(args)}`);
  }

  #got(incoming: Incoming): void {
    const { deliveryTag, messageCount } = incoming.args;
    this.#tag(deliveryTag);
    const { queue, noAck } = this.gets.shift()!;
    this.seen.answers.push(`get-ok ${content(incoming)}, ${messageCount} left`);
    if (noAck) return;
    this.unsettled.set(deliveryTag, { key: `${queue} ${idOf(incoming)}`, queue, consumerTag: "" });
  }

  #rolledBack(): void {
    const all = [...this.unsettled, ...this.held].sort(([a], [b]) => a - b);
    this.unsettled.clear();
    this.held.clear();
    for (const [tag, one] of all) this.unsettled.set(tag, one);
  }
}

function plain(args: object): string {
  const parts = Object.entries(args).map(([name, value]) => ` ${name}=${value}`);
  return parts.join("");
}

function idOf({ body }: Incoming): string {
  const text = decodeText(body!, 0, Math.min(body!.length, 20));
  return text.slice(0, text.indexOf(".") + 1);
}

// A message as both brokers have to show it.
function content(incoming: Incoming): string {
  const { args, properties, body } = incoming;
  const redelivered = args.redelivered === true ? " again" : "";
  const where = `${args.exchange}/${args.routingKey}`;
  return `${idOf(incoming)}${body!.length}B${redelivered} ${where} ${propertiesText(properties!)}`;
}

function propertiesText(properties: Properties): string {
  const { headers, ...others } = properties;
  const parts = Object.entries(others).map(([name, value]) => `${name}=${value}`);
  if (headers !== undefined) parts.push(JSON.stringify(tableText(headers)));
  return parts.join(" ");
}

type JsonValue = JsonObject[string];

function tableText(table: FieldTable): JsonValue {
  return strip(fieldTableToJson(table));
}

function strip(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(strip);
  if (value === null || typeof value !== "object") return value;
  const names = Object.keys(value).filter((name) => !LEFT_OUT.has(name)).sort();
  return Object.fromEntries(names.map((name) => [name, strip(value[name]!)]));
}
