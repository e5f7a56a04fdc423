// Automatic retries and the older pattern of time-to-live and dead-letter queues, with every client
// library and time moved by hand.

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { Broker } from "../../src/mod.ts";
import { bytesOf, type ClientChannel, type Received, textOf } from "./support/client.ts";
import { Inbox } from "./support/inbox.ts";
import { scenario } from "./support/scenario.ts";

const EXAMPLE = {
  "x-delivery-limit": 5,
  "x-delayed-retry-min": 500,
  "x-delayed-retry-multiplier": 2,
  "x-delayed-retry-max": 30_000,
  "x-dead-letter-exchange": "",
  "x-dead-letter-routing-key": "failed-messages",
};

/** An answered question: everything sent before it on this channel has been done. */
async function settled(channel: ClientChannel, queue: string): Promise<number> {
  return (await channel.checkQueue(queue)).messageCount;
}

/** Lets time pass in two steps and finds a message only after the second one. */
async function returnsAfter(
  broker: Broker,
  inbox: Inbox<Received>,
  delayMs: number,
): Promise<Received> {
  await broker.clock.advance(delayMs - 1);
  assertEquals(inbox.count, 0, `back before ${delayMs} ms`);
  await broker.clock.advance(1);
  return await inbox.take();
}

scenario(
  "reject() brings a message back after growing delays, then dead-letters it",
  async (scene) => {
    const { broker, channel } = scene;
    await channel.declareQueue("failed-messages");
    await channel.declareQueue("work", { durable: true, args: EXAMPLE });
    const inbox = new Inbox<Received>();
    await channel.consume("work", inbox.put);
    await channel.publish("", "work", bytesOf("job"), { headers: { kept: "yes" } });
    let message = await inbox.take();
    assertEquals("x-delivery-count" in message.headers, false);
    for (const [index, delayMs] of [500, 1000, 2000, 4000, 8000].entries()) {
      if (index % 2 === 0) channel.reject(message, true);
      else channel.nack(message, true);
      await settled(channel, "work");
      message = await returnsAfter(broker, inbox, delayMs);
      assertEquals(textOf(message), "job");
      assertEquals([message.redelivered, message.headers["kept"]], [true, "yes"]);
      assertEquals(Number(message.headers["x-delivery-count"]), index + 1);
    }
    channel.reject(message, true);
    await settled(channel, "work");
    const dead = await channel.get("failed-messages");
    const [death] = dead!.headers["x-death"] as Record<string, unknown>[];
    assertEquals([death!["reason"], death!["queue"], Number(death!["count"])], [
      "delivery_limit",
      "work",
      1,
    ]);
    assertEquals(dead!.headers["kept"], "yes");
  },
);

scenario("ack() after a retry ends it", async ({ broker, channel }) => {
  await channel.declareQueue("work", { args: { "x-delayed-retry-min": 100 } });
  const inbox = new Inbox<Received>();
  await channel.consume("work", inbox.put);
  await channel.publish("", "work", bytesOf("job"));
  channel.nack(await inbox.take(), true);
  await settled(channel, "work");
  channel.ack(await returnsAfter(broker, inbox, 100));
  await settled(channel, "work");
  await broker.clock.advance(100_000);
  assertEquals([inbox.count, await settled(channel, "work")], [0, 0]);
});

scenario("nack() of several delays each by its own count", async ({ broker, channel }) => {
  await channel.declareQueue("work", { args: { "x-delayed-retry-min": 100 } });
  const inbox = new Inbox<Received>();
  await channel.consume("work", inbox.put);
  for (const body of ["a", "b", "c"]) await channel.publish("", "work", bytesOf(body));
  const messages = await inbox.takeMany(3);
  channel.nack(messages[2]!, true, true);
  await settled(channel, "work");
  await broker.clock.advance(100);
  assertEquals((await inbox.takeMany(3)).map(textOf), ["a", "b", "c"]);
});

scenario(
  "close() of a channel brings messages back at once and spends a delivery",
  async (scene) => {
    const { channel, connection } = scene;
    await channel.declareQueue("work", { args: { "x-delayed-retry-min": 100 } });
    await channel.publish("", "work", bytesOf("job"));
    const other = await connection.openChannel();
    const inbox = new Inbox<Received>();
    await other.consume("work", inbox.put);
    await inbox.take();
    await other.close();
    const message = await channel.get("work");
    assertEquals(Number(message!.headers["x-delivery-count"]), 1);
  },
);

scenario("clients cannot touch the retry queue", async ({ channel, connection }) => {
  await channel.declareQueue("work", { args: { "x-delayed-retry-min": 100 } });
  const attempts: ((channel: ClientChannel) => Promise<unknown>)[] = [
    (refused) => refused.declareQueue("amq.retry-work"),
    (refused) => refused.checkQueue("amq.retry-work"),
    (refused) => refused.deleteQueue("amq.retry-work"),
    (refused) => refused.purgeQueue("amq.retry-work"),
    (refused) => refused.get("amq.retry-work"),
    (refused) => refused.consume("amq.retry-work", () => {}),
    (refused) => refused.bindQueue("amq.retry-work", "amq.direct", "k"),
  ];
  for (const attempt of attempts) {
    const refused = await connection.openChannel();
    const error = await assertRejects(() => attempt(refused), Error);
    assertMatch(error.message, /ACCESS.REFUSED/);
  }
});

// The pattern people used before: a consumer sends failures to a queue whose messages expire back into
// the work queue, and reads from x-death how often that has happened.
scenario("time-to-live and dead-letter queues retry until x-death says stop", async (scene) => {
  const { broker, channel } = scene;
  await channel.declareExchange("main-exchange", "direct");
  await channel.declareQueue("main.queue");
  await channel.bindQueue("main.queue", "main-exchange", "main.queue");
  await declareDelayQueue(channel, "retry.1s", 1000);
  await declareDelayQueue(channel, "retry.5s", 5000);
  const inbox = new Inbox<Received>();
  await channel.consume("main.queue", inbox.put, { noAck: true });
  await channel.publish("main-exchange", "main.queue", bytesOf("job"));
  let message = await inbox.take();
  for (const [queue, delayMs] of [["retry.1s", 1000], ["retry.1s", 1000], ["retry.5s", 5000]]) {
    const headers = { ...message.headers };
    await channel.publish("", queue as string, message.body, { headers });
    message = await returnsAfter(broker, inbox, delayMs as number);
    assertEquals(textOf(message), "job");
  }
  assertEquals(deathCounts(message), { "retry.1s": 2, "retry.5s": 1 });
});

async function declareDelayQueue(channel: ClientChannel, name: string, ttlMs: number) {
  const args = {
    "x-dead-letter-exchange": "main-exchange",
    "x-dead-letter-routing-key": "main.queue",
    "x-message-ttl": ttlMs,
  };
  await channel.declareQueue(name, { args });
}

function deathCounts(message: Received): Record<string, number> {
  const deaths = message.headers["x-death"] as Record<string, unknown>[];
  return Object.fromEntries(deaths.map((death) => [death["queue"], Number(death["count"])]));
}

scenario("an expiration shorter than the one before it is kept", async ({ broker, channel }) => {
  await channel.declareQueue("expired");
  const args = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "expired" };
  await channel.declareQueue("waiting", { args });
  await channel.publish("", "waiting", bytesOf("long"), { expiration: "60000" });
  await channel.publish("", "waiting", bytesOf("short"), { expiration: "1000" });
  await broker.clock.advance(1000);
  assertEquals(textOf((await channel.get("expired"))!), "short");
  assertEquals(await settled(channel, "waiting"), 1);
});
