// Bodies that have begun and do not end: however many there are and whoever they belong to, what they
// take stays within its share of memory, and everybody else goes on.

import { assert, assertEquals, assertFalse, assertLessOrEqual } from "@std/assert";
import * as M from "../../../src/amqp/methods_gen.ts";
import { FRAME_BODY } from "../../../src/amqp/frame.ts";
import { type AmqpClient, frame, headerFrame } from "../../support/amqp_client.ts";
import type { MemoryWire } from "../../support/memory_wire.ts";
import type { ClientChannel } from "../../support/client_channel.ts";
import { TestNode } from "../../support/test_node.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const PIECE = new Uint8Array(100 * KIB);

type Client = AmqpClient & { wire: MemoryWire };

/** Messages may take 8 MiB: a body 1 MiB, one connection's unfinished content 2 MiB, all 0.5 MiB. */
function smallNode(): TestNode {
  const node = new TestNode({ limits: { memoryBytesMax: 8 * MIB } });
  node.connect().channel().queue("q");
  return node;
}

/** Begins a body and sends `sentBytes` of it, as far as the node takes them. */
function begin(channel: ClientChannel, bodyBytes: number, sentBytes: number): void {
  const { client, number } = channel;
  client.send(M.BASIC_PUBLISH, number, { exchange: "", routingKey: "q" });
  client.raw(headerFrame(number, bodyBytes));
  send(channel, sentBytes);
}

function send(channel: ClientChannel, byteCount: number): void {
  for (let sent = 0; sent < byteCount; sent += PIECE.length) {
    const piece = PIECE.subarray(0, Math.min(PIECE.length, byteCount - sent));
    channel.client.raw(frame(FRAME_BODY, channel.number, piece));
  }
}

function isTakenFrom(node: TestNode): boolean {
  const before = node.queue("q").readyCount;
  node.connect().channel().publish("q", "small");
  return node.queue("q").readyCount === before + 1;
}

Deno.test("bodies that one connection begins on many channels never stop others from publishing", () => {
  const node = smallNode();
  const client = node.connect();
  for (let i = 0; i < 20; i++) {
    if (client.inbox.length > 0) break;
    const channel = client.channel();
    begin(channel, MIB, 700 * KIB);
  }
  const close = client.takeClose();
  assertEquals(close.replyCode, 506);
  assertEquals(
    close.replyText,
    "RESOURCE_ERROR - connection holds more than 2097152 bytes of unfinished content",
  );
  assert(isTakenFrom(node));
  assertEquals(node.broker.extraMemoryBytes, 0);
});

Deno.test("a body larger than its share of memory is refused with the number", () => {
  const node = smallNode();
  const channel = node.connect().channel();
  begin(channel, MIB + 1, 0);
  assertEquals(
    channel.takeClose().replyText,
    `PRECONDITION_FAILED - message size ${MIB + 1} is larger than configured max size ${MIB}`,
  );
});

Deno.test("bodies that many connections begin stay within a share, and small messages go on", () => {
  const node = smallNode();
  const clients: Client[] = [];
  for (let i = 0; i < 40; i++) {
    const client = node.connect();
    clients.push(client);
    begin(client.channel(), MIB, 900 * KIB);
  }
  assertLessOrEqual(node.broker.extraMemoryBytes, 3 * MIB);
  assertFalse(node.broker.isMemoryBlocked);
  assert(isTakenFrom(node));
});

Deno.test("bodies that many connections send at once all arrive, some after the others", () => {
  const node = smallNode();
  const channels = Array.from({ length: 12 }, () => node.connect().channel());
  for (const channel of channels) begin(channel, 800 * KIB, 0);
  for (let round = 0; round < 8; round++) {
    for (const channel of channels) send(channel, 100 * KIB);
    assertLessOrEqual(node.broker.extraMemoryBytes, 3 * MIB);
  }
  assertLessOrEqual(node.queue("q").readyCount, 12);
  // Memory is short by now: a consumer makes room, and the rest follows.
  const consumer = node.connect().channel();
  consumer.consume("q", { noAck: true });
  node.advance(0);
  assertEquals(consumer.deliveries().length, 12);
  assertEquals(node.broker.extraMemoryBytes, 0);
});

Deno.test("a body that has begun waits too while memory is short, and ends when there is room", () => {
  const node = smallNode();
  const begun = node.connect();
  const channel = begun.channel();
  begin(channel, MIB, 200 * KIB);
  const other = node.connect().channel();
  for (let i = 0; i < 9; i++) other.publish("q", new Uint8Array(MIB));
  assert(node.broker.isMemoryBlocked);
  const { extraMemoryBytes } = node.broker;
  send(channel, MIB - 200 * KIB);
  begun.expect(M.CONNECTION_BLOCKED, 0);
  assert(begun.wire.isPaused);
  assertLessOrEqual(node.broker.extraMemoryBytes, extraMemoryBytes + 200 * KIB);
  const consumer = node.connect().channel();
  consumer.consume("q", { noAck: true });
  node.advance(0);
  begun.expect(M.CONNECTION_UNBLOCKED, 0);
  assertEquals(consumer.deliveries().length, 10);
});

Deno.test("whoever holds up others with a body and sends nothing is closed with a clear error", () => {
  const node = smallNode();
  const silent = node.connect();
  begin(silent.channel(), MIB, 900 * KIB);
  const waiting = node.connect().channel();
  waiting.publish("q", new Uint8Array(MIB));
  assertEquals(waiting.client.inbox.length, 0);
  assertEquals(node.queue("q").readyCount, 0);
  node.advance(30_000);
  const close = silent.takeClose();
  assertEquals(close.replyCode, 506);
  assertEquals(
    close.replyText,
    "RESOURCE_ERROR - unfinished content makes others wait and does not go on",
  );
  assertEquals(node.queue("q").readyCount, 1);
});

Deno.test("a slow sender of a body that nobody waits for is left alone", () => {
  const node = smallNode();
  const slow = node.connect();
  const channel = slow.channel();
  begin(channel, MIB, 900 * KIB);
  node.advance(120_000);
  assertEquals(slow.inbox.length, 0);
  send(channel, MIB - 900 * KIB);
  assertEquals(node.queue("q").readyCount, 1);
});

Deno.test("a connection that is gone gives back what its bodies held, and others go on", () => {
  const node = smallNode();
  const gone = node.connect();
  begin(gone.channel(), MIB, 900 * KIB);
  const waiting = node.connect().channel();
  waiting.publish("q", new Uint8Array(MIB));
  assertEquals(node.queue("q").readyCount, 0);
  gone.wire.drop();
  assertEquals(node.queue("q").readyCount, 1);
});

Deno.test("a waiting connection that is gone is forgotten", () => {
  const node = smallNode();
  const first = node.connect().channel();
  begin(first, MIB, 900 * KIB);
  const waiting = node.connect();
  begin(waiting.channel(), MIB, 0);
  assert(waiting.wire.isPaused);
  waiting.wire.drop();
  send(first, MIB - 900 * KIB);
  assertEquals(node.queue("q").readyCount, 1);
  assertEquals(node.broker.extraMemoryBytes, 0);
});
