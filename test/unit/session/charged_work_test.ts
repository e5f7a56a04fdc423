// Small messages that many queues take are a lot of work: a turn takes fewer of them, so that others are
// served between them.

import { assertEquals, assertGreater, assertLess } from "@std/assert";
import { joined } from "../../support/amqp_client.ts";
import { TestNode } from "../../support/test_node.ts";

const QUEUES = 200;
const MESSAGES = 100;
const INPUT_BYTES = 16_384;

Deno.test("a turn takes few of the messages that are routed to many queues", () => {
  const node = new TestNode({ limits: { inputBytesPerTurn: INPUT_BYTES } });
  const client = node.connect();
  const channel = client.channel();
  for (let i = 0; i < QUEUES; i++) {
    channel.queue(`q${i}`);
    channel.bind(`q${i}`, "amq.fanout");
  }
  node.isManual = true;
  const one = channel.publishFrames("", "x", { exchange: "amq.fanout" });
  assertLess(one.length * MESSAGES, INPUT_BYTES);
  client.wire.send(joined(Array.from({ length: MESSAGES }, () => one)));
  const first = node.queue("q0").readyCount;
  assertGreater(first, 0);
  assertLess(first * QUEUES, 1000);
  node.loop.settle();
  assertEquals(node.queue(`q${QUEUES - 1}`).readyCount, MESSAGES);
});

Deno.test("a turn publishes few dead letters that are routed to many queues", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  for (let i = 0; i < QUEUES; i++) {
    channel.queue(`q${i}`);
    channel.bind(`q${i}`, "amq.fanout");
  }
  channel.queue("source", { "x-dead-letter-exchange": "amq.fanout" });
  for (let i = 0; i < MESSAGES; i++) channel.publish("source", "x");
  channel.consume("source");
  node.isManual = true;
  channel.nack(0, false, true);
  const first = node.queue("q0").readyCount;
  assertGreater(first, 0);
  assertLess(first, MESSAGES);
  node.loop.settle();
  assertEquals(node.queue(`q${QUEUES - 1}`).readyCount, MESSAGES);
});
