// Heartbeats with virtual time: sent half an interval after the last write, the peer dead after two
// missed or when its socket takes nothing, and nobody judged before what has arrived is read.

import { assertEquals, assertFalse, assertGreater } from "@std/assert";
import type { AmqpClient } from "../../support/amqp_client.ts";
import { frame } from "../../support/amqp_client.ts";
import type { MemoryWire } from "../../support/memory_wire.ts";
import { TestNode } from "../../support/test_node.ts";
import * as M from "../../../src/amqp/methods_gen.ts";

const HEARTBEAT = frame(8, 0, new Uint8Array(0));

Deno.test("heartbeats leave every half interval while nothing else is said", () => {
  const node = new TestNode();
  const client = node.connect({ heartbeat: 10 });
  for (let seconds = 0; seconds < 60; seconds += 5) {
    client.raw(HEARTBEAT);
    node.advance(5000);
  }
  assertEquals(client.heartbeatCount, 12);
  assertFalse(client.isClosed);
});

Deno.test("the first heartbeat comes half an interval after open-ok", () => {
  const node = new TestNode();
  const stream = node.stream();
  node.advance(3000);
  const client = stream.login({ heartbeat: 10 });
  node.advance(4999);
  assertEquals(client.heartbeatCount, 0);
  node.advance(1);
  assertEquals(client.heartbeatCount, 1);
});

Deno.test("a heartbeat comes half an interval after the last write, whenever that was", () => {
  const node = new TestNode();
  const client = node.connect({ heartbeat: 10 });
  const channel = client.channel();
  channel.queue("q");
  for (const sinceMs of [1, 2500, 4999]) {
    node.advance(sinceMs);
    channel.get("q");
    client.raw(HEARTBEAT);
    const before = client.heartbeatCount;
    node.advance(4999);
    assertEquals(client.heartbeatCount, before);
    node.advance(1);
    assertEquals(client.heartbeatCount, before + 1);
  }
});

Deno.test("heartbeats are left out while the connection is busy", () => {
  const node = new TestNode();
  const client = node.connect({ heartbeat: 10 });
  const channel = client.channel();
  channel.queue("q");
  for (let seconds = 0; seconds < 60; seconds += 2) {
    channel.get("q");
    node.advance(2000);
  }
  assertEquals(client.heartbeatCount, 0);
});

Deno.test("a peer is dead after two missed heartbeats", () => {
  const node = new TestNode();
  const client = node.connect({ heartbeat: 10 });
  const channel = client.channel();
  channel.queue("q");
  channel.publish("q", "x");
  channel.get("q");
  node.advance(19_999);
  assertFalse(client.isClosed);
  node.advance(1);
  assertEquals(client.isClosed, true);
  assertEquals(node.engine.connectionCount, 0);
  assertEquals(node.queue("q").readyCount, 1);
  assertEquals(node.logs.at(-1)?.message, "missed heartbeats from client");
});

Deno.test("a peer that is heard late is dead two intervals later, not at the next tick", () => {
  const node = new TestNode();
  const client = node.connect({ heartbeat: 10 });
  node.advance(3000);
  client.raw(HEARTBEAT);
  node.advance(19_999);
  assertFalse(client.isClosed);
  node.advance(1);
  assertEquals(client.isClosed, true);
});

Deno.test("any bytes prove that the peer lives", () => {
  const node = new TestNode();
  const client = node.connect({ heartbeat: 10 });
  for (let i = 0; i < 10; i++) {
    node.advance(19_000);
    client.raw(HEARTBEAT.subarray(i % 8, i % 8 + 1));
    if (i % 8 === 7) assertFalse(client.isClosed);
  }
  assertFalse(client.isClosed);
});

Deno.test("heartbeat 0 switches checking and sending off", () => {
  const node = new TestNode();
  const client = node.connect({ heartbeat: 0 });
  node.advance(3_600_000);
  assertEquals([client.heartbeatCount, client.isClosed], [0, false]);
});

Deno.test("a blocked publisher is not taken for dead", () => {
  const node = new TestNode({ limits: { memoryBytesMax: 8_388_608 } });
  const publisher = node.connect({ heartbeat: 10 });
  const channel = publisher.channel();
  channel.queue("q");
  for (let i = 0; i < 9; i++) channel.publish("q", new Uint8Array(1_048_576));
  publisher.expect(M.CONNECTION_BLOCKED, 0);
  node.advance(600_000);
  assertFalse(publisher.isClosed);
  assertEquals(publisher.heartbeatCount > 50, true);
  node.connect().channel().consume("q", { noAck: true });
  publisher.expect(M.CONNECTION_UNBLOCKED, 0);
  node.advance(19_999);
  assertFalse(publisher.isClosed);
  node.advance(10_001);
  assertEquals(publisher.isClosed, true);
});

interface Stuck {
  node: TestNode;
  client: AmqpClient & { wire: MemoryWire };
}

/** A consumer of 100 messages that takes nothing of what it is sent. */
function stuckConsumer(heartbeat: number, watchesPeers = true): Stuck {
  const limits = { outboxBytesMax: 10_000, outputStallMs: 60_000, inputBytesPerTurn: 4096 };
  const node = new TestNode({ limits, watchesPeers });
  const publisher = node.connect().channel();
  publisher.queue("q");
  const client = node.connect({ heartbeat });
  client.channel().consume("q");
  client.wire.stopReading();
  for (let i = 0; i < 100; i++) publisher.publish("q", new Uint8Array(1024));
  assertGreater(client.wire.pendingBytes, 10_000);
  assertGreater(100, node.queue("q").readyCount);
  return { node, client };
}

Deno.test("a silent consumer whose output is held back is dead after two missed heartbeats", () => {
  const { node, client } = stuckConsumer(10);
  node.advance(19_999);
  assertFalse(client.isClosed);
  node.advance(1);
  assertEquals(client.isClosed, true);
  assertEquals(node.queue("q").readyCount, 100);
});

Deno.test("a consumer that takes nothing is given up although it sends heartbeats", () => {
  const { node, client } = stuckConsumer(15);
  for (let seconds = 0; seconds < 25; seconds += 5) {
    node.advance(5000);
    client.raw(HEARTBEAT);
  }
  node.advance(4999);
  assertFalse(client.isClosed);
  node.advance(1);
  assertEquals(client.isClosed, true);
  assertEquals(node.queue("q").readyCount, 100);
  assertEquals(node.logs.at(-1)?.message, "client does not take its output");
});

Deno.test("a consumer that takes nothing and floods us is given up too", () => {
  const { node, client } = stuckConsumer(10);
  for (let i = 0; i < 10_000; i++) client.raw(HEARTBEAT);
  assertEquals(client.wire.isPaused, true);
  node.advance(20_000);
  assertEquals(client.isClosed, true);
});

Deno.test("short heartbeats do not make a slow reader look dead", () => {
  const { node, client } = stuckConsumer(1);
  for (let seconds = 0; seconds < 19; seconds++) {
    client.raw(HEARTBEAT);
    node.advance(1000);
  }
  assertFalse(client.isClosed);
  client.wire.readSome(1);
  for (let seconds = 0; seconds < 19; seconds++) {
    client.raw(HEARTBEAT);
    node.advance(1000);
  }
  assertFalse(client.isClosed);
});

Deno.test("a consumer that takes a little now and then is waited for", () => {
  const { node, client } = stuckConsumer(10);
  for (let i = 0; i < 9; i++) {
    node.advance(19_000);
    assertFalse(client.isClosed);
    client.wire.readSome(1);
    client.raw(HEARTBEAT);
  }
  assertGreater(client.wire.pendingBytes, 0);
});

Deno.test("without heartbeats a consumer that takes nothing has a limit of its own", () => {
  const { node, client } = stuckConsumer(0);
  node.advance(59_999);
  assertFalse(client.isClosed);
  client.wire.readSome(1);
  node.advance(59_999);
  assertFalse(client.isClosed);
  node.advance(60_000);
  assertEquals(client.isClosed, true);
  assertEquals(node.queue("q").readyCount, 100);
});

Deno.test("without heartbeats a consumer that has taken everything is left alone", () => {
  const { node, client } = stuckConsumer(0);
  client.wire.read();
  node.advance(3_600_000);
  assertFalse(client.isClosed);
});

Deno.test("where peers are not watched, nobody is given up and time goes on", () => {
  for (const heartbeat of [0, 10]) {
    const { node, client } = stuckConsumer(heartbeat, false);
    node.advance(3_600_000);
    assertFalse(client.isClosed);
  }
});

/** Lets the process stand still for a while; then `late` arrives, but the timers come first. */
function standStill(node: TestNode, elapsedMs: number, late: () => void): void {
  const { scheduler } = node.broker;
  const group = scheduler.openGroup(() => node.loop.soon(late));
  scheduler.insert(group, node.broker.nowMs, 0);
  node.clock.advance(elapsedMs);
  node.advance(0);
}

Deno.test("after a pause of ours, heartbeats that have arrived are read before anybody is judged", () => {
  const node = new TestNode();
  const client = node.connect({ heartbeat: 10 });
  standStill(node, 25_000, () => client.raw(HEARTBEAT));
  assertFalse(client.isClosed);
  standStill(node, 25_000, () => {});
  assertEquals(client.isClosed, true);
});

Deno.test("after a pause of ours, output that has been taken counts before anybody is judged", () => {
  const { node, client } = stuckConsumer(10);
  standStill(node, 25_000, () => {
    client.raw(HEARTBEAT);
    client.wire.readSome(1);
  });
  assertFalse(client.isClosed);
});

Deno.test("after a pause of ours, a handshake that has arrived is finished", () => {
  const node = new TestNode();
  const client = node.stream();
  standStill(node, 15_000, () => client.login());
  assertFalse(client.isClosed);
  const silent = node.stream();
  standStill(node, 15_000, () => {});
  assertEquals([client.isClosed, silent.isClosed], [false, true]);
});
