// Consuming, settling, cancelling and what errors do to a channel, with every client library.

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { bytesOf, type ClientChannel, type Received, textOf } from "./support/client.ts";
import { Inbox } from "./support/inbox.ts";
import { scenario } from "./support/scenario.ts";

async function publishAll(channel: ClientChannel, queue: string, bodies: string[]) {
  for (const body of bodies) await channel.publish("", queue, bytesOf(body));
}

scenario("prefetch() holds back what is not acknowledged", async ({ channel }) => {
  await channel.declareQueue("q");
  await publishAll(channel, "q", ["a", "b", "c", "d"]);
  await channel.prefetch(2);
  const inbox = new Inbox<Received>();
  await channel.consume("q", inbox.put);
  const [first, second] = await inbox.takeMany(2);
  assertEquals((await channel.checkQueue("q")).messageCount, 2);
  assertEquals(inbox.count, 0);
  channel.ack(second!, true);
  assertEquals((await inbox.takeMany(2)).map(textOf), ["c", "d"]);
  assertEquals(textOf(first!), "a");
});

scenario("nack() and reject() with requeue bring a message back at once", async ({ channel }) => {
  await channel.declareQueue("q");
  await publishAll(channel, "q", ["a"]);
  const inbox = new Inbox<Received>();
  await channel.consume("q", inbox.put);
  const first = await inbox.take();
  channel.nack(first, true);
  const second = await inbox.take();
  channel.reject(second, true);
  const third = await inbox.take();
  channel.ack(third);
  const redelivered = [first, second, third].map((message) => message.redelivered);
  assertEquals(redelivered, [false, true, true]);
  assertEquals((await channel.checkQueue("q")).messageCount, 0);
});

scenario("reject() without requeue dead-letters a message", async ({ channel }) => {
  await channel.declareExchange("dlx", "fanout");
  await channel.declareQueue("dead");
  await channel.bindQueue("dead", "dlx", "");
  await channel.declareQueue("q", { args: { "x-dead-letter-exchange": "dlx" } });
  await publishAll(channel, "q", ["bad", "worse"]);
  const inbox = new Inbox<Received>();
  await channel.consume("q", inbox.put);
  const [bad, worse] = await inbox.takeMany(2);
  channel.reject(bad!, false);
  channel.nack(worse!, false);
  const dead = new Inbox<Received>();
  await channel.consume("dead", dead.put, { noAck: true });
  const messages = await dead.takeMany(2);
  assertEquals(messages.map(textOf), ["bad", "worse"]);
  const [death] = messages[0]!.headers["x-death"] as Record<string, unknown>[];
  assertEquals([death!["reason"], death!["queue"]], ["rejected", "q"]);
  assertEquals(messages[0]!.headers["x-first-death-reason"], "rejected");
});

scenario("cancel() ends deliveries and leaves messages where they are", async ({ channel }) => {
  await channel.declareQueue("q");
  const inbox = new Inbox<Received>();
  const tag = await channel.consume("q", inbox.put, { noAck: true });
  await publishAll(channel, "q", ["a"]);
  await inbox.take();
  await channel.cancel(tag);
  await publishAll(channel, "q", ["b"]);
  const { messageCount, consumerCount } = await channel.checkQueue("q");
  assertEquals([messageCount, consumerCount, inbox.count], [1, 0, 0]);
});

scenario("deleteQueue() cancels the queue's consumers", async ({ channel, connection }) => {
  await channel.declareQueue("q");
  const cancelled = new Inbox<string>();
  channel.onCancel(cancelled.put);
  const tag = await channel.consume("q", () => {});
  const other = await connection.openChannel();
  await other.deleteQueue("q");
  assertEquals(await cancelled.take(), tag);
  await other.close();
});

scenario(
  "close() of a channel returns what it has not settled",
  async ({ channel, connection }) => {
    await channel.declareQueue("q");
    await publishAll(channel, "q", ["a", "b"]);
    const other = await connection.openChannel();
    const inbox = new Inbox<Received>();
    await other.consume("q", inbox.put);
    await inbox.takeMany(2);
    await other.close();
    const messages = [await channel.get("q"), await channel.get("q")];
    assertEquals(messages.map((message) => textOf(message!)), ["a", "b"]);
    assertEquals(messages.map((message) => message!.redelivered), [true, true]);
  },
);

scenario("an error closes its channel and no other", async ({ channel, connection }) => {
  const cases: [RegExp, (channel: ClientChannel) => Promise<unknown>][] = [
    [/no queue 'none'/, (broken) => broken.checkQueue("none")],
    [/no exchange 'none'/, async (broken) => {
      await broken.declareQueue("bound");
      await broken.bindQueue("bound", "none", "k");
    }],
    [/inequivalent arg/, async (broken) => {
      await broken.declareQueue("typed");
      await broken.declareQueue("typed", { autoDelete: true });
    }],
    [/x-delayed-retry-min/, (broken) => {
      const args = { "x-delayed-retry-min": "soon" };
      return broken.declareQueue("retried", { args });
    }],
    [/reserved prefix/, (broken) => broken.declareQueue("amq.mine")],
  ];
  for (const [text, cause] of cases) {
    const broken = await connection.openChannel();
    const error = await assertRejects(() => cause(broken), Error);
    assertMatch(error.message, text);
  }
  assertEquals((await channel.declareQueue("fine")).name, "fine");
});
