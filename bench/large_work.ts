// Work of one client that is large, while a bystander asks for its answers (bystander.ts): hundreds of
// thousands of messages that expire, are rejected into their delay, committed or given back at once, a
// body of 128 MiB, and the bindings of a queue that is deleted. Every case is made ready first, and the
// bystander begins before the one thing that is measured.

import amqplib, { type Channel, type ChannelModel } from "amqplib";
import type { RunningBroker } from "./versus/brokers.ts";

const LOOKS_MAX = 1200;
const LOOK_MS = 50;
const BODY = Buffer.alloc(16, 120);
const LARGE_BODY_BYTES = 134_217_728;
const DELAY_MS = 3_600_000;
const COUNTS = { expired: 400_000, nacked: 500_000, committed: 300_000, returned: 1_000_000 };
const BINDINGS = 100_000;

/** Makes a case ready, calls `begin`, and does what is measured. */
export type LargeWork = (broker: RunningBroker, begin: () => Promise<void>) => Promise<void>;

/** The cases by name. */
export const LARGE_WORK: Readonly<Record<string, LargeWork>> = {
  "400 000 expire": expire,
  "500 000 nacked into delay": nackIntoDelay,
  "500 000 acked": ackAll,
  "commit of 300 000 publishes": commitPublishes,
  "commit of 300 000 acks": commitAcks,
  "1 000 000 returned": returnAll,
  "body of 128 MiB": largeBody,
  "100 000 topic bindings": bindings,
};

async function connected(
  broker: RunningBroker,
  run: (connection: ChannelModel, channel: Channel) => Promise<void>,
): Promise<void> {
  const connection = await amqplib.connect(`amqp://guest:guest@127.0.0.1:${broker.port}`);
  connection.on("error", () => {});
  const channel = await connection.createChannel();
  await run(connection, channel);
  await connection.close().catch(() => {});
}

async function publish(
  channel: Channel,
  queue: string,
  count: number,
  properties: (index: number) => amqplib.Options.Publish = () => ({}),
): Promise<void> {
  for (let i = 0; i < count; i++) {
    if (channel.sendToQueue(queue, BODY, properties(i))) continue;
    await new Promise((resolve) => channel.once("drain", resolve));
  }
}

async function until(isDone: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < LOOKS_MAX && !await isDone(); i++) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

async function readyCount(channel: Channel, queue: string): Promise<number> {
  return (await channel.checkQueue(queue)).messageCount;
}

// Takes `count` messages and acknowledges none.
async function take(channel: Channel, queue: string, count: number): Promise<void> {
  let taken = 0;
  const { consumerTag } = await channel.consume(queue, () => taken++, { noAck: false });
  await until(() => taken === count);
  await channel.cancel(consumerTag);
}

async function expire(broker: RunningBroker, begin: () => Promise<void>): Promise<void> {
  await connected(broker, async (_connection, channel) => {
    await channel.assertQueue("expiring");
    const endMs = Date.now() + COUNTS.expired / 20;
    await publish(channel, "expiring", COUNTS.expired, () => {
      return { expiration: String(Math.max(0, endMs - Date.now())) };
    });
    await readyCount(channel, "expiring");
    await begin();
    await until(async () => await readyCount(channel, "expiring") === 0);
  });
}

async function nackIntoDelay(broker: RunningBroker, begin: () => Promise<void>): Promise<void> {
  await connected(broker, async (_connection, channel) => {
    const args = { "x-delayed-retry-min": DELAY_MS, "x-delayed-retry-jitter": 50 };
    await channel.assertQueue("nacked", { arguments: args });
    await publish(channel, "nacked", COUNTS.nacked);
    await take(channel, "nacked", COUNTS.nacked);
    await begin();
    channel.nackAll(true);
    await channel.prefetch(1);
  });
}

async function ackAll(broker: RunningBroker, begin: () => Promise<void>): Promise<void> {
  await connected(broker, async (_connection, channel) => {
    await channel.assertQueue("acked");
    await publish(channel, "acked", COUNTS.nacked);
    await take(channel, "acked", COUNTS.nacked);
    await begin();
    channel.ackAll();
    await channel.prefetch(1);
  });
}

// amqplib has no transactions: they are selected and committed with the protocol's own methods.
async function transaction(channel: Channel, method: number, answer: number): Promise<void> {
  const { rpc } = channel as unknown as {
    rpc(method: number, fields: object, answer: number): Promise<unknown>;
  };
  await rpc.call(channel, method, {}, answer);
}

const TX_SELECT = 0x5a000a;
const TX_COMMIT = 0x5a0014;

async function commitPublishes(broker: RunningBroker, begin: () => Promise<void>): Promise<void> {
  await connected(broker, async (_connection, channel) => {
    await channel.assertQueue("committed");
    await transaction(channel, TX_SELECT, TX_SELECT + 1);
    await publish(channel, "committed", COUNTS.committed, () => ({ persistent: true }));
    await readyCount(channel, "committed");
    await begin();
    await transaction(channel, TX_COMMIT, TX_COMMIT + 1);
  });
}

async function commitAcks(broker: RunningBroker, begin: () => Promise<void>): Promise<void> {
  await connected(broker, async (connection, channel) => {
    await channel.assertQueue("settled");
    await publish(channel, "settled", COUNTS.committed, () => ({ persistent: true }));
    const settling = await connection.createChannel();
    await transaction(settling, TX_SELECT, TX_SELECT + 1);
    await take(settling, "settled", COUNTS.committed);
    settling.ackAll();
    await readyCount(settling, "settled");
    await begin();
    await transaction(settling, TX_COMMIT, TX_COMMIT + 1);
  });
}

async function returnAll(broker: RunningBroker, begin: () => Promise<void>): Promise<void> {
  await connected(broker, async (connection, channel) => {
    await channel.assertQueue("returned");
    await publish(channel, "returned", COUNTS.returned);
    const taking = await connection.createChannel();
    await take(taking, "returned", COUNTS.returned);
    await begin();
    await taking.close();
    await until(async () => await readyCount(channel, "returned") === COUNTS.returned);
  });
}

async function largeBody(broker: RunningBroker, begin: () => Promise<void>): Promise<void> {
  await connected(broker, async (connection, _channel) => {
    const channel = await connection.createConfirmChannel();
    await channel.assertQueue("large");
    const body = Buffer.alloc(LARGE_BODY_BYTES, 120);
    await begin();
    channel.sendToQueue("large", body, { persistent: true });
    await channel.waitForConfirms();
    let taken = 0;
    await channel.consume("large", (message) => taken += message!.content.length, { noAck: true });
    await until(() => taken === LARGE_BODY_BYTES);
  });
}

async function bindings(broker: RunningBroker, begin: () => Promise<void>): Promise<void> {
  await connected(broker, async (_connection, channel) => {
    await channel.assertExchange("topics", "topic");
    await channel.assertQueue("bound");
    const step = 1000;
    for (let from = 0; from < BINDINGS; from += step) {
      await Promise.all(
        Array.from(
          { length: step },
          (_, i) => channel.bindQueue("bound", "topics", `a.${from + i}.*`),
        ),
      );
    }
    await begin();
    await channel.deleteQueue("bound");
    await channel.checkExchange("topics");
  });
}
