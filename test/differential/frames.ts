// The frames of one method of a program, and what its channel's view has to expect from it.

import * as M from "../../src/amqp/methods_gen.ts";
import { type FieldTable, textField } from "../../src/amqp/field_value.ts";
import type { Properties } from "../../src/amqp/properties.ts";
import { encodeText } from "../../src/lib/text.ts";
import { contentFrames, joined, methodFrame } from "../support/amqp_client.ts";
import { type Plain, table } from "../support/test_broker.ts";
import { EXCHANGE_TYPES, LAST_QUEUE, type Op, type Program } from "./program.ts";
import type { View } from "./view.ts";

/** What bindings of the headers exchange ask for, by the key that other exchanges would take. */
const MATCHES: Readonly<Record<string, Plain>> = {
  k: { a: 1 },
  l: { "x-match": "any", a: 1, b: 2 },
  "k.l": { "x-match": "all", a: 1, b: 2 },
  "#": { "x-match": "any" },
  "*": { b: "2" },
};
const WRONG_TYPES: Readonly<Record<string, string>> = {
  fanout: "topic",
  direct: "fanout",
  topic: "direct",
  headers: "direct",
};
/** What messages to it have, by theirs. */
const HEADERS: Readonly<Record<string, Plain>> = {
  k: { a: 1 },
  l: { b: 2 },
  "k.l": { a: 1, b: 2 },
};

/** What a method names on one of the brokers. */
export interface Sent {
  readonly tag: number;
  readonly multiple: boolean;
}

/** Where a method is sent. */
export interface Place {
  readonly program: Program;
  readonly view: View;
  readonly channel: number;
  /** Of a publish: the message's name. */
  readonly id: number;
}

const PAYLOAD_MAX = 131_072 - 8;
const UNKNOWN_TAG = 999_999;
const SETTLE_KEYS = { ack: M.BASIC_ACK, nack: M.BASIC_NACK, reject: M.BASIC_REJECT } as const;
const TX_KEYS = { select: M.TX_SELECT, commit: M.TX_COMMIT, rollback: M.TX_ROLLBACK } as const;

/** Makes a method that is answered, unless it says that it is not to be. */
type Ask = (key: number, args: object) => Uint8Array;

/** Bytes of a method; the view learns what it asks for. */
export function frames(op: Op, sent: Sent, place: Place): Uint8Array {
  const { view, channel } = place;
  const ask: Ask = (key, args) => {
    if ((args as { nowait?: boolean }).nowait !== true) view.owed++;
    return methodFrame(key, channel, args);
  };
  switch (op.kind) {
    case "publish":
      return publish(op, place);
    case "get":
      view.gets.push({ queue: knownName(place, op.queue), noAck: op.noAck });
      return ask(M.BASIC_GET, { queue: nameOf(place, op.queue), noAck: op.noAck });
    case "consume":
      return ask(M.BASIC_CONSUME, consumeArgs(op, place));
    case "cancel":
      return ask(M.BASIC_CANCEL, { consumerTag: op.tag, nowait: false });
    case "settle":
      forget(view, sent);
      return settle(op, sent, channel);
    case "settle-all":
      forget(view, { tag: Infinity, multiple: true });
      return settle(op, sent, channel);
    case "settle-unknown":
      return settle({ how: op.how, requeue: true }, { tag: UNKNOWN_TAG, multiple: false }, channel);
    case "recover":
      if (op.how !== "without-requeue") view.unsettled.clear();
      if (op.how === "async") return methodFrame(M.BASIC_RECOVER_ASYNC, channel, { requeue: true });
      return ask(M.BASIC_RECOVER, { requeue: op.how === "" });
    case "refused":
      return refused(op.what, ask);
    case "qos":
      return ask(M.BASIC_QOS, { prefetchSize: 0, prefetchCount: op.count, global: op.global });
    case "tx":
      return ask(TX_KEYS[op.what], {});
    case "confirm":
      if (!view.isTx) view.isConfirming = true;
      return ask(M.CONFIRM_SELECT, { nowait: false });
    case "close":
      view.reset();
      return ask(M.CHANNEL_CLOSE, { replyCode: 200, replyText: "", classId: 0, methodId: 0 });
    default:
      return topology(op, place, ask);
  }
}

function refused(what: (Op & { kind: "refused" })["what"], ask: Ask): Uint8Array {
  switch (what) {
    case "flow":
      return ask(M.CHANNEL_FLOW, { active: false });
    case "prefetch-size":
      return ask(M.BASIC_QOS, { prefetchSize: 1, prefetchCount: 1, global: false });
    case "second-open":
      return ask(M.CHANNEL_OPEN, {});
    case "no-queue":
      return ask(M.QUEUE_PURGE, { queue: "nq", nowait: false });
  }
}

function topology(op: Op, place: Place, ask: Ask): Uint8Array {
  switch (op.kind) {
    case "declare":
      return ask(M.QUEUE_DECLARE, declareArgs(op, place));
    case "delete": {
      const conditions = { ifUnused: op.if === "unused", ifEmpty: op.if === "empty" };
      const queue = nameOf(place, op.queue);
      if (!op.nowait) place.view.deleting.push(queue);
      return ask(M.QUEUE_DELETE, { queue, ...conditions, nowait: op.nowait });
    }
    case "purge":
      return ask(M.QUEUE_PURGE, { queue: nameOf(place, op.queue), nowait: op.nowait });
    case "exchange":
      return exchange(op, place.program, ask);
    case "exchange-bind":
    case "exchange-unbind": {
      const { destination, source, key: routingKey } = op;
      const args = { destination, source, routingKey, arguments: bindArgs(source, routingKey) };
      return ask(op.kind === "exchange-bind" ? M.EXCHANGE_BIND : M.EXCHANGE_UNBIND, args);
    }
    case "bind":
    case "unbind": {
      const { exchange, key: routingKey, nowait } = op;
      const args = {
        queue: nameOf(place, op.queue),
        exchange,
        routingKey,
        arguments: bindArgs(exchange, routingKey),
      };
      return op.kind === "bind"
        ? ask(M.QUEUE_BIND, { ...args, nowait })
        : ask(M.QUEUE_UNBIND, args);
    }
    default:
      throw new Error(`${op.kind} is not sent as a frame`);
  }
}

function exchange(op: Op & { kind: "exchange" }, program: Program, ask: Ask): Uint8Array {
  const { exchange, how, nowait } = op;
  const type = EXCHANGE_TYPES[exchange] ?? "direct";
  switch (how) {
    case "delete":
    case "delete-unused":
      return ask(M.EXCHANGE_DELETE, { exchange, ifUnused: how === "delete-unused", nowait });
    case "passive":
      return ask(M.EXCHANGE_DECLARE, { exchange, type, passive: true, nowait });
    default: {
      const args = exchange === "dx" && program.hasAlternate ? { "alternate-exchange": "fx" } : {};
      const declared = how === "wrong" ? WRONG_TYPES[type]! : type;
      return ask(M.EXCHANGE_DECLARE, { exchange, type: declared, arguments: table(args), nowait });
    }
  }
}

function bindArgs(exchange: string, key: string): FieldTable {
  return table(exchange === "hx" ? MATCHES[key] ?? {} : {});
}

function nameOf({ program }: Place, queue: number): string {
  return queue === LAST_QUEUE ? "" : program.queues[queue]!.name;
}

/** The queue that is meant, where an empty name stands for one. */
function knownName(place: Place, queue: number): string {
  return queue === LAST_QUEUE ? place.view.lastQueue : nameOf(place, queue);
}

function declareArgs(op: Op & { kind: "declare" }, { program, view }: Place): object {
  const { name: queue, args, ...flags } = program.queues[op.queue]!;
  view.lastQueue = queue;
  const { how, nowait } = op;
  if (how === "passive") return { queue, passive: true, nowait };
  if (how === "invalid") {
    return { queue, ...flags, arguments: table({ "x-max-length": -1 }), nowait };
  }
  const given = how === "wrong" ? { ...args, "x-max-length": 99 } : args;
  return { queue, ...flags, arguments: table(given), nowait };
}

function consumeArgs(op: Op & { kind: "consume" }, place: Place): object {
  const { tag, noAck, exclusive, priority, nowait } = op;
  const queue = nameOf(place, op.queue);
  const consumer = { queue: knownName(place, op.queue), noAck };
  if (nowait) place.view.consumers.set(tag, consumer);
  else place.view.asked.set(tag, consumer);
  const args = priority === 0 ? {} : { "x-priority": priority };
  return { queue, consumerTag: tag, noAck, exclusive, nowait, arguments: table(args) };
}

function publish(op: Op & { kind: "publish" }, { view, channel, id }: Place): Uint8Array {
  if (view.isConfirming) view.unconfirmed.add(++view.confirmedTag);
  const properties: Properties = op.persistent ? { deliveryMode: 2 } : {};
  if (op.expires) properties.expiration = "0";
  if (op.extra === "user-id") properties.userId = "somebody";
  if (op.extra === "bad-expiration") properties.expiration = "soon";
  if (op.extra === "CC" || op.extra === "BCC") {
    const keys = ["q0", "k.l"].map(textField);
    properties.headers = new Map([[op.extra, { tag: "A", value: keys }]]);
  }
  if (op.exchange === "hx") properties.headers ??= table(HEADERS[op.key] ?? {});
  if (op.extra === "bad-cc") properties.headers = new Map([["CC", textField("q0")]]);
  const body = encodeText(`m${id}.`.padEnd(op.bodyBytes, "x"));
  const { exchange, key: routingKey, mandatory } = op;
  const immediate = op.extra === "immediate";
  return joined([
    methodFrame(M.BASIC_PUBLISH, channel, { exchange, routingKey, mandatory, immediate }),
    contentFrames(channel, body, properties, PAYLOAD_MAX),
  ]);
}

function settle(
  op: { readonly how: "ack" | "nack" | "reject"; readonly requeue: boolean },
  { tag, multiple }: Sent,
  channel: number,
): Uint8Array {
  const args = { deliveryTag: tag, multiple, requeue: op.requeue };
  return methodFrame(SETTLE_KEYS[op.how], channel, args);
}

function forget(view: View, { tag, multiple }: Sent): void {
  for (const [one, delivery] of [...view.unsettled]) {
    if (multiple ? one > tag : one !== tag) continue;
    view.unsettled.delete(one);
    if (view.isTx) view.held.set(one, delivery);
  }
}
