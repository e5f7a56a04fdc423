// One channel of the test client: the usual calls with short names. Every call returns what the server
// answered at once and throws if the answer did not come.

import type { FieldTable } from "../../src/amqp/field_value.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import type { Properties } from "../../src/amqp/properties.ts";
import { decodeText, encodeText } from "../../src/lib/text.ts";
import type { AmqpClient, Incoming } from "./amqp_client.ts";
import { contentFrames, joined, methodFrame } from "./amqp_client.ts";
import { IS_ON_DISK } from "./chosen_store.ts";
import type { Plain } from "./test_broker.ts";
import { table } from "./test_broker.ts";

/** A delivery, a get-ok or a return as tests look at it. */
export interface Message {
  tag: number;
  consumerTag: string;
  redelivered: boolean;
  exchange: string;
  routingKey: string;
  properties: Properties;
  body: string;
  bytes: Uint8Array;
  /** Only for get-ok. */
  messageCount: number;
  /** Only for returns. */
  replyCode: number;
}

/** What a publish may say besides its body. */
export interface PublishOptions {
  exchange?: string;
  mandatory?: boolean;
  immediate?: boolean;
  properties?: Properties;
}

/** An open channel. */
export class ClientChannel {
  readonly client: AmqpClient;
  readonly number: number;

  constructor(client: AmqpClient, number: number) {
    this.client = client;
    this.number = number;
  }

  send(key: number, args: object = {}): void {
    this.client.send(key, this.number, args);
  }

  rpc(key: number, args: object, answer: number): Incoming {
    return this.client.rpc(key, this.number, args, answer);
  }

  /** Takes channel.close and answers it. */
  takeClose(): M.ChannelClose {
    const { args } = this.client.expect(M.CHANNEL_CLOSE, this.number);
    this.send(M.CHANNEL_CLOSE_OK);
    return args as M.ChannelClose;
  }

  close(): void {
    const args = { replyCode: 200, replyText: "", classId: 0, methodId: 0 };
    this.rpc(M.CHANNEL_CLOSE, args, M.CHANNEL_CLOSE_OK);
  }

  queue(
    name: string,
    args: Plain = {},
    flags: Partial<M.QueueDeclare> = {},
  ): M.QueueDeclareOk {
    const declare = { queue: name, durable: IS_ON_DISK, arguments: table(args), ...flags };
    return this.rpc(M.QUEUE_DECLARE, declare, M.QUEUE_DECLARE_OK).args;
  }

  exchange(name: string, type: string, flags: Partial<M.ExchangeDeclare> = {}): void {
    this.rpc(M.EXCHANGE_DECLARE, { exchange: name, type, ...flags }, M.EXCHANGE_DECLARE_OK);
  }

  bind(queue: string, exchange: string, routingKey = "", args: FieldTable = new Map()): void {
    const bind = { queue, exchange, routingKey, arguments: args };
    this.rpc(M.QUEUE_BIND, bind, M.QUEUE_BIND_OK);
  }

  /** The frames of a publish, to be sent whole or in pieces. */
  publishFrames(key: string, body: string | Uint8Array, options: PublishOptions = {}): Uint8Array {
    const { exchange = "", mandatory = false, immediate = false, properties = {} } = options;
    const bytes = typeof body === "string" ? encodeText(body) : body;
    const args = { exchange, routingKey: key, mandatory, immediate };
    const payloadMax = this.client.frameMax - 8;
    return joined([
      methodFrame(M.BASIC_PUBLISH, this.number, args),
      contentFrames(this.number, bytes, properties, payloadMax),
    ]);
  }

  publish(key: string, body: string | Uint8Array, options: PublishOptions = {}): void {
    this.client.raw(this.publishFrames(key, body, options));
  }

  qos(prefetchCount: number, global = false): void {
    this.rpc(M.BASIC_QOS, { prefetchSize: 0, prefetchCount, global }, M.BASIC_QOS_OK);
  }

  /** Starts a consumer and returns its tag. */
  consume(queue: string, flags: Partial<M.BasicConsume> = {}): string {
    return this.rpc(M.BASIC_CONSUME, { queue, ...flags }, M.BASIC_CONSUME_OK).args.consumerTag;
  }

  cancel(consumerTag: string): void {
    this.rpc(M.BASIC_CANCEL, { consumerTag, nowait: false }, M.BASIC_CANCEL_OK);
  }

  /** The next message of the queue, or null. */
  get(queue: string, noAck = false): Message | null {
    this.send(M.BASIC_GET, { queue, noAck });
    if (this.client.take(M.BASIC_GET_EMPTY, this.number) !== undefined) return null;
    return toMessage(this.client.expect(M.BASIC_GET_OK, this.number));
  }

  ack(deliveryTag: number, multiple = false): void {
    this.send(M.BASIC_ACK, { deliveryTag, multiple });
  }

  nack(deliveryTag: number, requeue: boolean, multiple = false): void {
    this.send(M.BASIC_NACK, { deliveryTag, multiple, requeue });
  }

  reject(deliveryTag: number, requeue: boolean): void {
    this.send(M.BASIC_REJECT, { deliveryTag, requeue });
  }

  confirmSelect(): void {
    this.rpc(M.CONFIRM_SELECT, { nowait: false }, M.CONFIRM_SELECT_OK);
  }

  /** Takes the deliveries that came since the last call. */
  deliveries(): Message[] {
    return this.#all(M.BASIC_DELIVER).map(toMessage);
  }

  /** Takes the returned messages. */
  returns(): Message[] {
    return this.#all(M.BASIC_RETURN).map(toMessage);
  }

  /** Takes the confirms as `+tag`, `-tag`, with `*` behind when multiple. */
  confirms(): string[] {
    const { inbox } = this.client;
    const isConfirm = (one: Incoming) =>
      one.channel === this.number && (one.key === M.BASIC_ACK || one.key === M.BASIC_NACK);
    const found = inbox.filter(isConfirm);
    for (const one of found) inbox.splice(inbox.indexOf(one), 1);
    return found.map(({ key, args }) =>
      `${key === M.BASIC_ACK ? "+" : "-"}${args.deliveryTag}${args.multiple ? "*" : ""}`
    );
  }

  #all(key: number): Incoming[] {
    const found: Incoming[] = [];
    for (;;) {
      const one = this.client.take(key, this.number);
      if (one === undefined) return found;
      found.push(one);
    }
  }
}

/** A message with content as tests look at it. */
export function toMessage({ args, properties, body }: Incoming): Message {
  return {
    tag: args.deliveryTag ?? 0,
    consumerTag: args.consumerTag ?? "",
    redelivered: args.redelivered ?? false,
    exchange: args.exchange,
    routingKey: args.routingKey,
    properties: properties!,
    body: decodeText(body!, 0, body!.length),
    bytes: body!,
    messageCount: args.messageCount ?? 0,
    replyCode: args.replyCode ?? 0,
  };
}
