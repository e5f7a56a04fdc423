// Heartbeats with virtual time: sent at half the interval, the peer dead after two missed.

import { assertEquals, assertFalse } from "@std/assert";
import { frame } from "../../support/amqp_client.ts";
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
  // The first half interval had the handshake's answers.
  assertEquals(client.heartbeatCount, 11);
  assertFalse(client.isClosed);
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
