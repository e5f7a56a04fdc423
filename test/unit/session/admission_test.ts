// Publishers at the pace of consumers that are fast, and no slower than they like otherwise.

import { assertEquals, assertFalse, assertGreater, assertLessOrEqual } from "@std/assert";
import { HOLD_ADMISSION } from "../../../src/session/input.ts";
import { MemoryStore } from "../../../src/store/memory_store.ts";
import { joined } from "../../support/amqp_client.ts";
import * as M from "../../../src/amqp/methods_gen.ts";
import type { ClientChannel } from "../../support/client_channel.ts";
import { TestNode } from "../../support/test_node.ts";

const BUDGET = 10_000;

interface Scene {
  node: TestNode;
  publisher: ClientChannel;
  consumer: ClientChannel;
}

/** A queue with a backlog of 2000, a consumer with prefetch 50, and a publisher that floods. */
function scene(): Scene {
  // Turns are run by hand from here on: nothing is to wait for a disk.
  const node = new TestNode({ store: new MemoryStore(), limits: { inputBytesPerTurn: BUDGET } });
  const publisher = node.connect().channel();
  publisher.queue("q");
  flood(publisher, 2000);
  const consumer = node.connect().channel();
  consumer.qos(50);
  consumer.consume("q");
  node.isManual = true;
  return { node, publisher, consumer };
}

function flood(publisher: ClientChannel, count: number): void {
  const one = publisher.publishFrames("q", new Uint8Array(40));
  publisher.client.wire.send(joined(Array.from({ length: count }, () => one)));
}

function isHeld({ node }: Scene): boolean {
  const [connection] = [...node.engine.connections];
  return (connection!.input.holds & HOLD_ADMISSION) !== 0;
}

function ackAll(consumer: ClientChannel): number {
  const deliveries = consumer.deliveries();
  if (deliveries.length > 0) consumer.ack(deliveries.at(-1)!.tag, true);
  return deliveries.length;
}

Deno.test("a flooding publisher is held until as much has left a backlogged queue", () => {
  const s = scene();
  const before = s.node.queue("q").readyCount;
  flood(s.publisher, 5000);
  assertEquals(isHeld(s), true);
  const admitted = s.node.queue("q").readyCount - before;
  assertGreater(admitted, 50);
  assertLessOrEqual(admitted, BUDGET / 60);
  const { metrics } = s.node.broker;
  const publishedBefore = metrics.published;
  let acked = 0;
  while (metrics.published === publishedBefore) {
    acked += ackAll(s.consumer);
    s.node.loop.step();
  }
  // As much as came, and at most as much again so that the backlog melts.
  assertGreater(acked, admitted - 1);
  assertLessOrEqual(acked, 2 * admitted + 50);
});

Deno.test("what is admitted and what leaves keep in step while consumers are fast", () => {
  const s = scene();
  flood(s.publisher, 20_000);
  const queue = s.node.queue("q");
  const start = s.node.broker.metrics.published;
  let acked = 0;
  for (let round = 0; round < 300; round++) {
    acked += ackAll(s.consumer);
    s.node.loop.step();
    if (round % 10 === 9) s.node.loop.stepLater();
  }
  const admitted = s.node.broker.metrics.published - start;
  assertGreater(acked, 5000);
  assertGreater(acked, admitted * 0.9);
  // The backlog of 2000 has begun to melt.
  assertLessOrEqual(queue.readyCount, 1500);
});

Deno.test("consumers that are slow by themselves hold nobody for long", () => {
  const s = scene();
  flood(s.publisher, 20_000);
  let windows = 0;
  while (s.node.queue("q").readyCount < 20_000) {
    if (windows % 10 === 0) ackAll(s.consumer);
    for (let i = 0; i < 20; i++) s.node.loop.step();
    s.node.loop.stepLater();
    windows++;
  }
  // A window that holds nobody runs 20 budgets; held windows get rarer while consumers stay slow.
  assertLessOrEqual(windows, 60);
});

Deno.test("consumers that stay slow hold a publisher for four windows each time, and then twice as many not", () => {
  const s = scene();
  const runs: { isHeld: boolean; windows: number }[] = [];
  for (let windows = 0; windows < 60; windows++) {
    s.publisher.publish("q", "x");
    while (s.node.loop.step());
    const last = runs.at(-1);
    if (last?.isHeld === isHeld(s)) last.windows++;
    else runs.push({ isHeld: isHeld(s), windows: 1 });
    s.node.loop.stepLater();
  }
  const lengths = (held: boolean) =>
    runs.slice(0, -1).filter((run) => run.isHeld === held).map((run) => run.windows);
  assertEquals(lengths(true), [4, 4, 4, 4, 4, 4]);
  assertEquals(lengths(false), [1, 2, 4, 8, 16]);
});

Deno.test("a publisher is held for one message as for many", () => {
  const s = scene();
  s.publisher.publish("q", "x");
  assertEquals(isHeld(s), true);
  while (ackAll(s.consumer) > 0 && isHeld(s)) while (s.node.loop.step());
  assertFalse(isHeld(s));
});

Deno.test("a publisher is let go when the consumers leave", () => {
  const s = scene();
  flood(s.publisher, 5000);
  assertEquals(isHeld(s), true);
  s.consumer.close();
  s.node.loop.settle();
  assertFalse(isHeld(s));
  assertGreater(s.node.queue("q").readyCount, 6000);
});

Deno.test("a publisher is let go when the queue is deleted", () => {
  const s = scene();
  flood(s.publisher, 5000);
  s.consumer.rpc(M.QUEUE_DELETE, { queue: "q" }, M.QUEUE_DELETE_OK);
  s.node.loop.settle();
  assertFalse(isHeld(s));
});

Deno.test("nobody is held while time stands still and nothing happens", () => {
  const s = scene();
  flood(s.publisher, 5000);
  s.node.loop.settle();
  assertFalse(isHeld(s));
  assertEquals(s.node.queue("q").readyCount, 7000 - 50);
});

Deno.test("a queue without consumers or without a backlog holds nobody", () => {
  const node = new TestNode({ isManual: true });
  const publisher = node.connect().channel();
  publisher.queue("q");
  flood(publisher, 1500);
  node.loop.step();
  const [connection] = [...node.engine.connections];
  assertEquals(connection!.input.holds, 0);
  const consumer = node.connect().channel();
  consumer.consume("q", { noAck: true });
  node.loop.settle();
  flood(publisher, 1500);
  assertEquals(connection!.input.holds, 0);
});

Deno.test("several publishers of one queue share what leaves it", () => {
  const s = scene();
  const second = s.node.connect().channel();
  const third = s.node.connect().channel();
  const channels = [s.publisher, second, third];
  for (const channel of channels) flood(channel, 5000);
  const start = s.node.broker.metrics.published;
  let acked = 0;
  for (let round = 0; round < 300; round++) {
    acked += ackAll(s.consumer);
    s.node.loop.step();
    if (round % 10 === 9) s.node.loop.stepLater();
  }
  assertGreater(acked, (s.node.broker.metrics.published - start) * 0.9);
});
