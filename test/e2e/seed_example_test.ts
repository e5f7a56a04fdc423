// The request's own example in real time, one of the few tests that wait: 500, 1000, 2000, 4000 and
// 8000 ms, then the dead-letter queue.

import { assertEquals, assertGreaterOrEqual } from "@std/assert";
import amqplib, { type ConsumeMessage } from "amqplib";
import { Inbox } from "../clients/support/inbox.ts";
import { withBroker } from "./support/program.ts";

const DELAYS_MS = [500, 1000, 2000, 4000, 8000];

Deno.test("the example's message comes back after each delay and then dead-letters", async () => {
  await withBroker(async ({ url }) => {
    const connection = await amqplib.connect(url);
    const channel = await connection.createChannel();
    await channel.assertQueue("failed-messages");
    await channel.assertQueue("work", {
      arguments: {
        "x-delivery-limit": 5,
        "x-delayed-retry-min": 500,
        "x-delayed-retry-multiplier": 2,
        "x-delayed-retry-max": 30_000,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": "failed-messages",
      },
    });
    const inbox = new Inbox<ConsumeMessage>();
    await channel.consume("work", (message) => message !== null && inbox.put(message));
    channel.sendToQueue("work", Buffer.from("job"));
    let message = await inbox.take();
    for (const delayMs of DELAYS_MS) {
      const rejectedMs = performance.now();
      channel.reject(message, true);
      message = await inbox.take();
      assertGreaterOrEqual(performance.now() - rejectedMs, delayMs);
    }
    assertEquals(message.properties.headers?.["x-delivery-count"], DELAYS_MS.length);
    const dead = new Inbox<ConsumeMessage>();
    await channel.consume("failed-messages", (found) => found !== null && dead.put(found));
    channel.reject(message, true);
    const { content, properties } = await dead.take();
    assertEquals(content.toString(), "job");
    const [death] = properties.headers?.["x-death"] ?? [];
    assertEquals([death?.reason, death?.queue], ["delivery_limit", "work"]);
    await connection.close();
  });
});
