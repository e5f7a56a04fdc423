// @cloudamqp/amqp-client behind the common interface of the client tests.

import { AMQPClient, type AMQPMessage, type AMQPProperties } from "@cloudamqp/amqp-client";
import type {
  Client,
  ClientChannel,
  ClientConnection,
  DeclaredQueue,
  PublishOptions,
  Received,
} from "./client.ts";

type Connection = Awaited<ReturnType<AMQPClient["connect"]>>;
type Channel = Awaited<ReturnType<Connection["channel"]>>;

/** The library. */
export const CLOUDAMQP: Client = {
  name: "@cloudamqp/amqp-client",
  async connect(url): Promise<ClientConnection> {
    const client = new AMQPClient(url, undefined, null);
    const closedByServer = new Promise<string>((resolve) => {
      client.onerror = (error) => resolve(error.message);
    });
    const connection = await client.connect();
    return {
      closedByServer,
      openChannel: async () => {
        const channel = await connection.channel();
        await channel.confirmSelect();
        return wrap(channel);
      },
      close: async () => {
        if (!connection.closed) await connection.close();
      },
    };
  },
};

function received(message: AMQPMessage): Received {
  return {
    body: message.body ?? new Uint8Array(0),
    exchange: message.exchange,
    routingKey: message.routingKey,
    redelivered: message.redelivered,
    deliveryTag: message.deliveryTag,
    headers: message.properties.headers ?? {},
    native: message,
  };
}

function declared(reply: { name: string; messageCount: number; consumerCount: number }) {
  const { name, messageCount, consumerCount } = reply;
  return { name, messageCount, consumerCount } satisfies DeclaredQueue;
}

function propertiesOf({ headers, expiration, persistent }: PublishOptions): AMQPProperties {
  return {
    ...(headers === undefined ? {} : { headers: headers as Record<string, never> }),
    ...(expiration === undefined ? {} : { expiration }),
    deliveryMode: persistent === true ? 2 : 1,
  };
}

function wrap(channel: Channel): ClientChannel {
  let onCancel: (tag: string) => void = () => {};
  channel.onerror = () => {};
  return {
    declareQueue: async (name, { args = {}, ...flags } = {}) =>
      declared(await channel.queueDeclare(name, { durable: false, ...flags }, args)),
    checkQueue: async (name) => declared(await channel.queueDeclare(name, { passive: true })),
    deleteQueue: async (name) => void await channel.queueDelete(name),
    purgeQueue: async (name) => (await channel.queuePurge(name)).messageCount,
    declareExchange: (name, type) => channel.exchangeDeclare(name, type, { durable: false }),
    bindQueue: (queue, exchange, key) => channel.queueBind(queue, exchange, key),
    unbindQueue: (queue, exchange, key) => channel.queueUnbind(queue, exchange, key),
    publish: async (exchange, key, body, options = {}) => {
      const { mandatory = false } = options;
      await channel.basicPublish(exchange, key, body, propertiesOf(options), mandatory);
    },
    prefetch: (count) => channel.prefetch(count),
    consume: async (queue, take, { noAck = false } = {}) => {
      const consumer = await channel.basicConsume(
        queue,
        { noAck },
        (message) => take(received(message)),
      );
      consumer.wait().catch(() => onCancel(consumer.tag));
      return consumer.tag;
    },
    cancel: async (tag) => void await channel.basicCancel(tag),
    get: async (queue) => {
      const message = await channel.basicGet(queue, { noAck: false });
      return message === null ? null : received(message);
    },
    ack: ({ deliveryTag }, multiple = false) => void channel.basicAck(deliveryTag, multiple),
    nack: ({ deliveryTag }, requeue, multiple = false) =>
      void channel.basicNack(deliveryTag, requeue, multiple),
    reject: ({ deliveryTag }, requeue) => void channel.basicReject(deliveryTag, requeue),
    onReturn: (take) => {
      channel.onReturn = ({ body, replyCode = 0, routingKey }) =>
        take({ body: body ?? new Uint8Array(0), replyCode, routingKey });
    },
    onCancel: (take) => onCancel = take,
    close: () => channel.close(),
  };
}
