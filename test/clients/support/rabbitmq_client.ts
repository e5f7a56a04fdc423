// rabbitmq-client behind the common interface of the client tests.

import { Buffer } from "node:buffer";
import { type AsyncMessage, type Channel, Connection, type SyncMessage } from "rabbitmq-client";
import type {
  Client,
  ClientChannel,
  ClientConnection,
  DeclaredQueue,
  PublishOptions,
  Received,
} from "./client.ts";

/** The library. */
export const RABBITMQ_CLIENT: Client = {
  name: "rabbitmq-client",
  async connect(url): Promise<ClientConnection> {
    const connection = new Connection({ url, retryLow: 60_000, heartbeat: 0 });
    let report: (text: string) => void = () => {};
    const closedByServer = new Promise<string>((resolve) => report = resolve);
    try {
      await new Promise<void>((resolve, reject) => {
        connection.on("connection", resolve);
        connection.on("error", (error: Error) => {
          report(`${(error as { code?: string }).code}: ${error.message}`);
          reject(error);
        });
      });
    } catch (error) {
      connection.unsafeDestroy();
      throw error;
    }
    return {
      closedByServer,
      openChannel: async () => {
        const channel = await connection.acquire();
        await channel.confirmSelect();
        return wrap(channel);
      },
      close: () => Promise.resolve(connection.unsafeDestroy()),
    };
  },
};

function received(message: AsyncMessage | SyncMessage): Received {
  return {
    body: message.body as Buffer,
    exchange: message.exchange,
    routingKey: message.routingKey,
    redelivered: message.redelivered,
    deliveryTag: message.deliveryTag,
    headers: message.headers ?? {},
    native: message,
  };
}

interface QueueReply {
  queue: string;
  messageCount: number;
  consumerCount: number;
}

function declared({ queue, messageCount, consumerCount }: QueueReply): DeclaredQueue {
  return { name: queue, messageCount, consumerCount };
}

function envelopeOf(options: PublishOptions) {
  const { persistent, ...rest } = options;
  return { ...rest, durable: persistent === true };
}

function wrap(channel: Channel): ClientChannel {
  return {
    declareQueue: async (queue, { args = {}, ...flags } = {}) =>
      declared(
        await channel.queueDeclare({ queue, durable: false, ...flags, arguments: args }),
      ),
    checkQueue: async (queue) => declared(await channel.queueDeclare({ queue, passive: true })),
    deleteQueue: async (queue) => void await channel.queueDelete({ queue }),
    purgeQueue: async (queue) => (await channel.queuePurge({ queue })).messageCount,
    declareExchange: (exchange, type) => channel.exchangeDeclare({ exchange, type }),
    bindQueue: (queue, exchange, routingKey) => channel.queueBind({ queue, exchange, routingKey }),
    unbindQueue: (queue, exchange, routingKey) =>
      channel.queueUnbind({ queue, exchange, routingKey }),
    publish: (exchange, routingKey, body, options = {}) =>
      channel.basicPublish({ exchange, routingKey, ...envelopeOf(options) }, Buffer.from(body)),
    prefetch: (prefetchCount) => channel.basicQos({ prefetchCount }),
    consume: async (queue, take, { noAck = false } = {}) => {
      const reply = await channel.basicConsume({ queue, noAck }, (message) => {
        take(received(message));
      });
      return reply.consumerTag;
    },
    cancel: async (tag) => void await channel.basicCancel(tag),
    get: async (queue) => {
      const message = await channel.basicGet(queue);
      return message === undefined ? null : received(message);
    },
    ack: ({ deliveryTag }, multiple = false) => channel.basicAck({ deliveryTag, multiple }),
    nack: ({ deliveryTag }, requeue, multiple = false) =>
      channel.basicNack({ deliveryTag, requeue, multiple }),
    reject: ({ deliveryTag }, requeue) => channel.basicNack({ deliveryTag, requeue }),
    onReturn: (take) => {
      channel.on("basic.return", ({ body, replyCode, routingKey }) => {
        take({ body: body as Buffer, replyCode, routingKey });
      });
    },
    onCancel: (take) => void channel.on("basic.cancel", take),
    close: () => channel.close(),
  };
}
