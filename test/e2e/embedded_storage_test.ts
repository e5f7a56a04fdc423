// A broker inside a program that keeps things in a folder: restarts, the lock, virtual time.

import { assertEquals, assertRejects } from "@std/assert";
import amqplib, { type GetMessage } from "amqplib";
import { Broker, type BrokerOptions, StorageError } from "../../src/mod.ts";
import { withFolder } from "./support/folder.ts";

async function running<T>(
  options: BrokerOptions,
  run: (channel: amqplib.ConfirmChannel, broker: Broker) => Promise<T>,
): Promise<T> {
  const broker = await Broker.start({ amqp: { port: 0 }, ...options });
  try {
    const connection = await amqplib.connect(broker.url);
    const result = await run(await connection.createConfirmChannel(), broker);
    await connection.close();
    return result;
  } finally {
    await broker.close();
  }
}

async function send(channel: amqplib.ConfirmChannel, body: string): Promise<void> {
  channel.sendToQueue("work", Buffer.from(body), { persistent: true });
  await channel.waitForConfirms();
}

Deno.test("start() with dataDir keeps what is durable, delays by virtual time", async () => {
  await withFolder(async (dataDir) => {
    const options = { dataDir, clock: "virtual" } as const;
    const startTime = 1_800_000_000_000;
    await running({ ...options, startTime }, async (channel, broker) => {
      await channel.assertQueue("work", { arguments: { "x-delayed-retry-min": 30_000 } });
      await send(channel, "job");
      channel.nack(await channel.get("work") as GetMessage, false, true);
      await channel.checkQueue("work");
      await broker.clock.advance(10_000);
    });
    await running({ ...options, startTime: 1000 }, async (channel, broker) => {
      // Time goes on where the folder has got to, whatever the clock is told.
      assertEquals(broker.clock.now, startTime + 10_000);
      await broker.clock.advance(19_999);
      assertEquals(await channel.get("work"), false);
      await broker.clock.advance(1);
      const message = await channel.get("work") as GetMessage;
      assertEquals([message.content.toString(), message.fields.redelivered], ["job", true]);
      assertEquals(message.properties.headers?.["x-delivery-count"], 1);
      channel.ack(message);
      await channel.checkQueue("work");
    });
    await running(options, async (channel) => {
      assertEquals(await channel.get("work"), false);
    });
  });
});

Deno.test("start() refuses a folder that another broker of the program uses", async () => {
  await withFolder(async (dataDir) => {
    await running({ dataDir }, async (channel) => {
      await assertRejects(
        () => Broker.start({ amqp: { port: 0 }, dataDir }),
        StorageError,
        "is in use by process",
      );
      await channel.assertQueue("work");
      await send(channel, "job");
    });
    await running({ dataDir, noSync: true }, async (channel) => {
      assertEquals((await channel.checkQueue("work")).messageCount, 1);
    });
  });
});

Deno.test("close() makes everything safe although nobody waited for it", async () => {
  await withFolder(async (dataDir) => {
    await running({ dataDir }, async (channel) => {
      await channel.assertQueue("work");
      for (let i = 0; i < 1000; i++) {
        channel.sendToQueue("work", Buffer.from(String(i)), { persistent: true });
      }
      await channel.checkQueue("work");
    });
    await running({ dataDir }, async (channel) => {
      assertEquals((await channel.checkQueue("work")).messageCount, 1000);
    });
  });
});
