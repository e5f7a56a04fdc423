// ClosedChannels: what a channel leaves behind goes back in order, a bounded number a turn.

import { assertEquals } from "@std/assert";
import type { Queue } from "../../../src/broker/queue.ts";
import { TestBroker, TestChannel } from "../../support/test_broker.ts";

const PER_TURN_MAX = 8192;

function turn({ broker }: TestBroker): void {
  broker.beginTurn(broker.nowMs);
  broker.dispatch();
  broker.endTurn();
}

/** A queue and a channel that has all of its `count` messages. */
function taken(t: TestBroker, count: number): { queue: Queue; channel: TestChannel } {
  const queue = t.queue("q");
  for (let number = 0; number < count; number++) t.publish("q", `${number}`);
  const channel = new TestChannel();
  const consumer = t.consume(queue, channel, { prefetch: 0 });
  t.turn();
  queue.cancel(consumer);
  assertEquals([queue.readyCount, channel.unacked.count], [0, count]);
  return { queue, channel };
}

Deno.test("ClosedChannels give back a bounded number a turn, in order", () => {
  const t = new TestBroker();
  const { queue, channel } = taken(t, 20_000);
  t.broker.closedChannels.add(channel.unacked);
  assertEquals(queue.readyCount, PER_TURN_MAX);
  assertEquals(t.broker.hasMoreWork, true);
  turn(t);
  assertEquals(queue.readyCount, 2 * PER_TURN_MAX);
  turn(t);
  assertEquals([queue.readyCount, queue.unackedCount], [20_000, 0]);
  assertEquals(t.broker.closedChannels.hasWork, false);
  const next = new TestChannel();
  const bodies = Array.from({ length: 20_000 }, () => Number(t.get(queue, next)!.body));
  assertEquals(bodies.every((body, index) => body === index), true);
});

Deno.test("ClosedChannels give back at once what is little, and everything at the last call", () => {
  const t = new TestBroker();
  const few = taken(t, 100);
  t.broker.closedChannels.add(few.channel.unacked);
  assertEquals([few.queue.readyCount, t.broker.closedChannels.hasWork], [100, false]);
  few.queue.purge();
  turn(t);
  t.broker.closedChannels.isLastCall = true;
  const many = taken(t, 20_000);
  t.broker.closedChannels.add(many.channel.unacked);
  assertEquals([many.queue.readyCount, t.broker.closedChannels.hasWork], [20_000, false]);
});

Deno.test("ClosedChannels let go of what belonged to a queue that is gone since", () => {
  const t = new TestBroker();
  const { queue, channel } = taken(t, 20_000);
  t.broker.closedChannels.add(channel.unacked);
  t.vhost.removeQueue(queue);
  turn(t);
  turn(t);
  for (let turns = 0; turns < 10; turns++) turn(t);
  assertEquals([channel.unacked.count, t.broker.store.liveMessageCount], [0, 0]);
});
