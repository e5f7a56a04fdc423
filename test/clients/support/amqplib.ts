// amqplib behind the common interface of the client tests.

import { Buffer } from "node:buffer";
import amqplib, { type ChannelModel, type ConfirmChannel, type Message } from "amqplib";
import type {
  Client,
  ClientChannel,
  ClientConnection,
  DeclaredQueue,
  PublishOptions,
  QueueOptions,
  Received,
} from "./client.ts";

type Incoming = { readonly content: Buffer; readonly fields: object; readonly properties: object };

/** The library. */
export const AMQPLIB: Client = {
  name: "amqplib",
  async connect(url): Promise<ClientConnection> {
    const model: ChannelModel = await amqplib.connect(url);
    const closedByServer = new Promise<string>((resolve) => {
      model.on("error", (error: Error) => resolve(error.message));
      model.on("close", (error?: Error) => resolve(error?.message ?? "closed"));
    });
    return {
      closedByServer,
      openChannel: async () => wrap(await model.createConfirmChannel()),
      close: () => model.close(),
    };
  },
};

function received(message: Incoming): Received {
  const fields = message.fields as Record<string, never>;
  const properties = message.properties as Record<string, never>;
  return {
    body: message.content,
    exchange: fields["exchange"]!,
    routingKey: fields["routingKey"]!,
    redelivered: fields["redelivered"]!,
    deliveryTag: fields["deliveryTag"]!,
    headers: properties["headers"] ?? {},
    native: message,
  };
}

function declared(reply: { queue: string; messageCount: number; consumerCount: number }) {
  const { queue, messageCount, consumerCount } = reply;
  return { name: queue, messageCount, consumerCount } satisfies DeclaredQueue;
}

function queueOptions({ args, ...flags }: QueueOptions) {
  return { durable: false, ...flags, arguments: args ?? {} };
}

function publishOptions(options: PublishOptions) {
  return { ...options, headers: options.headers ?? {} };
}

function wrap(channel: ConfirmChannel): ClientChannel {
  let onCancel: (tag: string) => void = () => {};
  // Errors of a channel also reject what was being asked for; here they would be uncaught.
  channel.on("error", () => {});
  return {
    declareQueue: async (name, options = {}) =>
      declared(await channel.assertQueue(name, queueOptions(options))),
    checkQueue: async (name) => declared(await channel.checkQueue(name)),
    deleteQueue: async (name) => void await channel.deleteQueue(name),
    purgeQueue: async (name) => (await channel.purgeQueue(name)).messageCount,
    declareExchange: async (name, type) =>
      void await channel.assertExchange(name, type, { durable: false }),
    bindQueue: async (queue, exchange, key) => void await channel.bindQueue(queue, exchange, key),
    unbindQueue: async (queue, exchange, key) =>
      void await channel.unbindQueue(queue, exchange, key),
    publish: (exchange, key, body, options = {}) =>
      new Promise((resolve, reject) => {
        const done = (error: unknown) => error ? reject(error) : resolve();
        channel.publish(exchange, key, Buffer.from(body), publishOptions(options), done);
      }),
    prefetch: async (count) => void await channel.prefetch(count),
    consume: async (queue, take, options = {}) => {
      const { consumerTag } = await channel.consume(queue, (message) => {
        if (message === null) onCancel(consumerTag);
        else take(received(message));
      }, options);
      return consumerTag;
    },
    cancel: async (tag) => void await channel.cancel(tag),
    get: async (queue) => {
      const message = await channel.get(queue);
      return message === false ? null : received(message);
    },
    ack: (message, multiple) => channel.ack(message.native as Message, multiple),
    nack: (message, requeue, multiple) =>
      channel.nack(message.native as Message, multiple, requeue),
    reject: (message, requeue) => channel.reject(message.native as Message, requeue),
    onReturn: (take) => {
      channel.on("return", ({ content, fields }: Message) => {
        const { replyCode, routingKey } = fields as unknown as Record<string, never>;
        take({ body: content, replyCode: replyCode!, routingKey: routingKey! });
      });
    },
    onCancel: (take) => onCancel = take,
    close: () => channel.close(),
  };
}
