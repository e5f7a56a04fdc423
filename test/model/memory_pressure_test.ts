// Publishers wait while memory is short, and only for what gets better: what a disk takes is paged out
// until there is room again. So a durable queue takes any backlog at the least memory that may be set.

import { assert, assertEquals } from "@std/assert";
import { MEMORY_BYTES_MIN } from "../../src/broker/limits.ts";
import type { ClientChannel } from "../support/client_channel.ts";
import { joined } from "../support/amqp_client.ts";
import { keepingStore } from "../support/chosen_store.ts";
import { TestNode } from "../support/test_node.ts";

const MIB = 1024 * 1024;
const WRITE_BYTES = 65_536;

function nodeWith(memoryBytesMax: number): TestNode {
  const node: TestNode = new TestNode({
    limits: { memoryBytesMax },
    store: keepingStore((callback) => node.loop.soon(callback), {
      residentBytesMax: memoryBytesMax / 2,
    }),
  });
  return node;
}

/** Publishes a backlog; fails when the publisher is not read although everything has settled. */
function fill(node: TestNode, channel: ClientChannel, load: { count: number; body: number }): void {
  const { count, body } = load;
  const options = { properties: { deliveryMode: 2 } };
  const one = channel.publishFrames("q", new Uint8Array(body), options);
  const perWrite = Math.max(1, Math.floor(WRITE_BYTES / body));
  for (let sent = 0; sent < count; sent += perWrite) {
    const more = Math.min(perWrite, count - sent);
    channel.client.raw(joined(Array.from({ length: more }, () => one)));
    // Pages that are worth little at once are looked for again after a while.
    const isTaken = () => node.queue("q").readyCount === sent + more;
    for (let waits = 0; !isTaken() && waits < 20; waits++) node.advance(500);
    assert(isTaken(), `stuck at ${node.queue("q").readyCount} of ${count}`);
  }
}

for (const body of [1024, 20_000, 300_000, MEMORY_BYTES_MIN / 8]) {
  Deno.test(`a durable queue takes a backlog of ${body}-byte bodies at the least memory`, () => {
    const node = nodeWith(MEMORY_BYTES_MIN);
    const channel = node.connect().channel();
    channel.queue("q", {}, { durable: true });
    const count = Math.ceil((2 * MEMORY_BYTES_MIN) / body);
    fill(node, channel, { count, body });
    // And gives it out again.
    const consumer = node.connect().channel();
    consumer.consume("q", { noAck: true });
    for (let waits = 0; node.queue("q").readyCount > 0 && waits < 50; waits++) node.advance(500);
    assertEquals(consumer.deliveries().length, count);
  });
}

Deno.test("an empty broker is far from the mark at which publishers wait", () => {
  const node = nodeWith(MEMORY_BYTES_MIN);
  assert(node.broker.memoryBytes < MIB);
});

Deno.test("messages that come and go leave nothing for which publishers would wait", () => {
  const node = nodeWith(MEMORY_BYTES_MIN);
  const channel = node.connect().channel();
  channel.queue("q", {}, { durable: true });
  channel.queue("kept", {}, { durable: true });
  // One message in each block of memory stays, so blocks are held for little.
  for (let round = 0; round < 12; round++) {
    channel.publish("kept", new Uint8Array(1000));
    for (let i = 0; i < 4; i++) channel.publish("q", new Uint8Array(MIB));
    node.advance(500);
    while (channel.get("q", true) !== null);
  }
  assertEquals(node.queue("kept").readyCount, 12);
  assertEquals(node.broker.blockReason, null);
  assert(node.broker.memoryBytes < MIB);
});
