// Connecting, and declaring, binding and deleting queues and exchanges, with every client library.

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { bytesOf, textOf } from "./support/client.ts";
import { CLIENTS, scenario, withBroker } from "./support/scenario.ts";

scenario("declareQueue() answers with name and counts", async ({ channel }) => {
  assertEquals(await channel.declareQueue("q"), { name: "q", messageCount: 0, consumerCount: 0 });
  await channel.publish("", "q", bytesOf("a"));
  await channel.publish("", "q", bytesOf("b"));
  assertEquals((await channel.checkQueue("q")).messageCount, 2);
  await channel.consume("q", () => {});
  assertEquals((await channel.declareQueue("q")).consumerCount, 1);
});

scenario("declareQueue() makes a name when none is given", async ({ channel }) => {
  const { name } = await channel.declareQueue("", { exclusive: true });
  assertMatch(name, /^amq\.gen-/);
});

scenario(
  "bindQueue() and unbindQueue() decide what a topic exchange routes",
  async ({ channel }) => {
    await channel.declareExchange("logs", "topic");
    await channel.declareQueue("errors");
    await channel.bindQueue("errors", "logs", "*.error");
    await channel.publish("logs", "app.error", bytesOf("routed"));
    await channel.publish("logs", "app.info", bytesOf("dropped"));
    await channel.unbindQueue("errors", "logs", "*.error");
    await channel.publish("logs", "app.error", bytesOf("late"));
    const message = await channel.get("errors");
    assertEquals(textOf(message!), "routed");
    assertEquals([message!.exchange, message!.routingKey], ["logs", "app.error"]);
    assertEquals(await channel.get("errors"), null);
  },
);

scenario("purgeQueue() and deleteQueue() take the messages away", async ({ channel }) => {
  await channel.declareQueue("q");
  for (let i = 0; i < 3; i++) await channel.publish("", "q", bytesOf("x"));
  assertEquals(await channel.purgeQueue("q"), 3);
  await channel.publish("", "q", bytesOf("x"));
  await channel.deleteQueue("q");
  assertEquals((await channel.declareQueue("q")).messageCount, 0);
});

scenario("close() of a connection deletes its exclusive queues", async ({ broker, client }) => {
  const other = await client.connect(broker.url);
  const owner = await other.openChannel();
  await owner.declareQueue("mine", { exclusive: true });
  await other.close();
  const third = await client.connect(broker.url);
  const channel = await third.openChannel();
  await assertRejects(() => channel.checkQueue("mine"));
  await third.close();
});

for (const client of CLIENTS) {
  Deno.test(`${client.name}: connect() fails with a wrong password`, async () => {
    await withBroker({}, async (broker) => {
      const url = broker.url.replace("guest:guest", "guest:wrong");
      const error = await assertRejects(() => client.connect(url), Error);
      assertMatch(error.message, /ACCESS.REFUSED/);
    });
  });

  Deno.test(`${client.name}: connect() fails for an unknown vhost`, async () => {
    await withBroker({}, async (broker) => {
      const error = await assertRejects(() => client.connect(`${broker.url}/nope`), Error);
      // amqplib names the method it got instead of its text.
      assertMatch(error.message, /NOT.ALLOWED|vhost|ConnectionClose/);
    });
  });

  Deno.test(`${client.name}: close() of the broker ends connections with 320`, async () => {
    await withBroker({}, async (broker) => {
      const connection = await client.connect(broker.url);
      await connection.openChannel();
      const [text] = await Promise.all([connection.closedByServer, broker.close()]);
      assertMatch(text, /CONNECTION.FORCED/);
      await connection.close().catch(() => {});
    });
  });
}
