// Slow clients, flooding clients and short memory: who is stopped, who goes on, and that it ends.

import { assertEquals, assertFalse, assertGreater, assertLessOrEqual } from "@std/assert";
import * as M from "../../../src/amqp/methods_gen.ts";
import { MemoryStore } from "../../../src/store/memory_store.ts";
import { joined, methodFrame } from "../../support/amqp_client.ts";
import { TestNode } from "../../support/test_node.ts";

const KIB = new Uint8Array(1024);

Deno.test("a consumer that does not read gets no more than its outbox holds", () => {
  const node = new TestNode({ limits: { outboxBytesMax: 10_000 } });
  const publisher = node.connect().channel();
  publisher.queue("q");
  const slow = node.connect();
  const channel = slow.channel();
  channel.consume("q", { noAck: true });
  slow.wire.stopReading();
  for (let i = 0; i < 100; i++) publisher.publish("q", KIB);
  assertLessOrEqual(slow.wire.pendingBytes, 10_000 + 1200);
  assertGreater(node.queue("q").readyCount, 80);
  assertEquals(node.broker.extraMemoryBytes, slow.wire.pendingBytes);
  slow.wire.read();
  assertEquals(channel.deliveries().length, 100);
  assertEquals(node.broker.extraMemoryBytes, 0);
});

Deno.test("a backlog larger than the outbox reaches a consumer that reads, turn by turn", () => {
  const node = new TestNode({ limits: { outboxBytesMax: 5000 } });
  const channel = node.connect().channel();
  channel.queue("q");
  for (let i = 0; i < 50; i++) channel.publish("q", KIB);
  channel.consume("q", { noAck: true });
  assertEquals(channel.deliveries().length, 50);
});

Deno.test("another consumer goes on while one does not read", () => {
  const node = new TestNode({ limits: { outboxBytesMax: 3000 } });
  const publisher = node.connect().channel();
  publisher.queue("q");
  const slow = node.connect();
  slow.channel().consume("q", { noAck: true });
  slow.wire.stopReading();
  const fast = node.connect().channel();
  fast.consume("q", { noAck: true });
  for (let i = 0; i < 100; i++) publisher.publish("q", KIB);
  assertGreater(fast.deliveries().length, 90);
  assertEquals(node.queue("q").readyCount, 0);
});

Deno.test("nothing is run for a connection that does not take its output, and little is read", () => {
  const node = new TestNode({ limits: { outboxBytesMax: 2000, inputBytesPerTurn: 4096 } });
  const client = node.connect();
  const channel = client.channel();
  channel.queue("q");
  client.wire.stopReading();
  for (let i = 0; i < 10; i++) channel.publish("nowhere", KIB, { mandatory: true });
  assertEquals(client.wire.isPaused, true);
  assertGreater(client.wire.unreadBytes, 0);
  client.wire.read();
  assertFalse(client.wire.isPaused);
  assertEquals(channel.returns().length, 10);
});

Deno.test("a flooding publisher does not starve another connection's acks", () => {
  const node = new TestNode({ isManual: true, limits: { inputBytesPerTurn: 4096 } });
  const setup = node.connect();
  const queues = setup.channel();
  queues.queue("q");
  queues.queue("flood");
  const consumer = node.connect().channel();
  consumer.qos(10);
  for (let i = 0; i < 100; i++) queues.publish("q", String(i));
  node.loop.settle();
  consumer.consume("q");
  const publisher = node.connect();
  const flooding = publisher.channel();
  const one = flooding.publishFrames("flood", new Uint8Array(100));
  publisher.wire.send(joined(Array.from({ length: 10_000 }, () => one)));
  let rounds = 0;
  let received = 0;
  while (received < 100) {
    const last = consumer.deliveries().at(-1);
    if (last !== undefined) {
      received = last.tag;
      consumer.ack(last.tag, true);
    }
    node.loop.step();
    rounds++;
  }
  // One round trip per prefetch window, however much the publisher has sent.
  assertLessOrEqual(rounds, 30);
  assertLessOrEqual(node.queue("flood").readyCount, 30 * 4096 / one.length + 100);
  node.loop.settle();
  assertEquals(node.queue("flood").readyCount, 10_000);
});

Deno.test("several flooding publishers take turns", () => {
  const node = new TestNode({ isManual: true, limits: { inputBytesPerTurn: 2000 } });
  const publishers = [1, 2, 3].map((number) => {
    const channel = node.connect().channel();
    channel.queue(`q${number}`);
    return channel;
  });
  for (const channel of publishers) {
    const one = channel.publishFrames(`q${publishers.indexOf(channel) + 1}`, KIB);
    channel.client.wire.send(joined(Array.from({ length: 300 }, () => one)));
  }
  for (let round = 0; round < 20; round++) node.loop.step();
  const counts = [1, 2, 3].map((number) => node.queue(`q${number}`).readyCount);
  assertLessOrEqual(Math.max(...counts) - Math.min(...counts), 4);
  assertLessOrEqual(Math.max(...counts), 60);
  node.loop.settle();
  assertEquals(node.queue("q1").readyCount, 300);
});

Deno.test("a client that sends faster than it is run is paused", () => {
  const node = new TestNode({ isManual: true, limits: { inputBytesPerTurn: 1000 } });
  const client = node.connect();
  const channel = client.channel();
  channel.queue("q");
  const one = channel.publishFrames("q", KIB);
  for (let i = 0; i < 20; i++) client.wire.send(one);
  assertEquals(client.wire.isPaused, true);
  assertGreater(client.wire.unreadBytes, 10_000);
  node.loop.settle();
  assertEquals(node.queue("q").readyCount, 20);
  assertFalse(client.wire.isPaused);
});

function shortOfMemory(): TestNode {
  return new TestNode({ limits: { memoryBytesMax: 8_388_608 } });
}

const MIB = new Uint8Array(1_048_576);

Deno.test("publishers are blocked while memory is short, and told so", () => {
  const node = shortOfMemory();
  const publisher = node.connect();
  const channel = publisher.channel();
  channel.queue("q");
  let count = 0;
  while (!node.broker.isMemoryBlocked) {
    channel.publish("q", MIB);
    count++;
  }
  assertEquals(count, 8);
  assertEquals(publisher.inbox.length, 0);
  channel.publish("q", "one too many");
  const blocked = publisher.expect(M.CONNECTION_BLOCKED, 0).args;
  assertEquals(blocked.reason, "low on memory");
  assertEquals(publisher.wire.isPaused, true);
  assertEquals(node.queue("q").readyCount, count);
  const consumer = node.connect().channel();
  consumer.consume("q", { noAck: true });
  node.advance(0);
  publisher.expect(M.CONNECTION_UNBLOCKED, 0);
  assertFalse(publisher.wire.isPaused);
  assertEquals(consumer.deliveries().map(({ bytes }) => bytes.length), [
    ...Array.from({ length: count }, () => MIB.length),
    12,
  ]);
});

Deno.test("a publisher that cannot be told is blocked silently", () => {
  const node = shortOfMemory();
  const publisher = node.connect({ capabilities: [] });
  const channel = publisher.channel();
  channel.queue("q");
  for (let i = 0; i < 9; i++) channel.publish("q", MIB);
  assertEquals(publisher.wire.isPaused, true);
  assertEquals(publisher.inbox.length, 0);
  node.connect().channel().consume("q", { noAck: true });
  assertFalse(publisher.wire.isPaused);
  assertEquals(publisher.inbox.length, 0);
});

Deno.test("clients that do not publish are not blocked", () => {
  const node = shortOfMemory();
  const publisher = node.connect().channel();
  publisher.queue("q");
  for (let i = 0; i < 9; i++) publisher.publish("q", MIB);
  const other = node.connect();
  other.channel().queue("another");
  assertFalse(other.wire.isPaused);
  assertEquals(other.inbox.length, 0);
});

Deno.test("a blocked publisher may close, and is forgotten when it is gone", () => {
  const node = shortOfMemory();
  const publisher = node.connect();
  const channel = publisher.channel();
  channel.queue("q");
  for (let i = 0; i < 9; i++) channel.publish("q", MIB);
  assertEquals(publisher.wire.isPaused, true);
  publisher.wire.drop();
  assertEquals(node.engine.connectionCount, 0);
  const consumer = node.connect().channel();
  consumer.consume("q", { noAck: true });
  assertFalse(node.broker.isMemoryBlocked);
});

Deno.test("a few bytes that ask for megabytes get them in portions", () => {
  const node = new TestNode({ limits: { outboxBytesMax: 200_000 } });
  const publisher = node.connect().channel();
  publisher.queue("q");
  for (let i = 0; i < 40; i++) publisher.publish("q", new Uint8Array(100_000));
  const client = node.connect();
  const channel = client.channel();
  const gets = Array.from({ length: 40 }, () => {
    return methodFrame(M.BASIC_GET, channel.number, { queue: "q", noAck: true });
  });
  client.wire.stopReading();
  client.raw(joined(gets));
  assertLessOrEqual(client.wire.pendingBytes, 400_000);
  client.wire.read();
  assertEquals(client.inbox.length, 40);
});

Deno.test("one write per connection and turn, however much there is to say", () => {
  // A disk would have its confirms wait for another turn.
  const node = new TestNode({ store: new MemoryStore() });
  const client = node.connect();
  const channel = client.channel();
  channel.queue("q");
  channel.confirmSelect();
  channel.consume("q");
  const before = client.wire.writeCount;
  client.raw(joined(Array.from({ length: 50 }, () => channel.publishFrames("q", "x"))));
  assertEquals(client.wire.writeCount, before + 1);
  assertEquals(channel.deliveries().length, 50);
  assertEquals(channel.confirms(), ["+50*"]);
});

// A quarter of the memory of messages may be output that waits: here 2 MiB of 8.
Deno.test("clients that do not read are given no more than the node has room for, together", () => {
  const node = shortOfMemory();
  const publisher = node.connect().channel();
  publisher.queue("large");
  publisher.queue("small");
  for (let i = 0; i < 10; i++) publisher.publish("small", KIB);
  for (let i = 0; i < 7; i++) publisher.publish("large", MIB);
  const slow = Array.from({ length: 10 }, () => node.connect());
  for (const client of slow) {
    const channel = client.channel();
    client.wire.stopReading();
    channel.send(M.BASIC_CONSUME, { queue: "large", consumerTag: "c" });
  }
  assertGreater(node.broker.extraMemoryBytes, MIB.length);
  assertLessOrEqual(node.broker.extraMemoryBytes, 3 * MIB.length + 10_000);
  // Small messages go to whoever has none waiting.
  const fast = node.connect().channel();
  fast.consume("small");
  assertEquals(fast.deliveries().length, 10);
  // What they take makes room for the next ones.
  for (let round = 0; round < 7; round++) {
    for (const client of slow) {
      client.wire.read();
      client.wire.stopReading();
    }
  }
  assertEquals(node.queue("large").readyCount, 0);
});

Deno.test("clients that do not read small messages have less waiting the more of them there are", () => {
  const node = shortOfMemory();
  const publisher = node.connect().channel();
  publisher.queue("q");
  const slow = Array.from({ length: 8 }, () => node.connect());
  for (const client of slow) {
    client.channel().consume("q", { noAck: true });
    client.wire.stopReading();
  }
  for (let i = 0; i < 6000; i++) publisher.publish("q", KIB);
  assertLessOrEqual(node.broker.extraMemoryBytes, 2 * MIB.length);
  const ready = node.queue("q").readyCount;
  assertGreater(ready, 1000);
  const late = node.connect().channel();
  late.consume("q", { noAck: true });
  assertEquals(late.deliveries().length, ready);
});
