// In which order delayed messages come back: by due time, equal ones as they were rejected, also when the
// node was started anew in between.

import { assertEquals } from "@std/assert";
import type { Queue } from "../../../../src/broker/queue/queue.ts";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { DiskNode, PERSISTENT } from "../../../support/disk_node.ts";
import { type Plain, type Seen, TestBroker, TestChannel } from "../../../support/test_broker.ts";

const RETRIES: Plain = { "x-delayed-retry-min": 1000, "x-delayed-retry-multiplier": 1 };

function publish(t: TestBroker, count: number): void {
  for (let number = 0; number < count; number++) t.publish("q", `${number}`, PERSISTENT);
}

/** Takes everything out and rejects it in the order of `numbers`. */
function rejectAll(t: TestBroker, queue: Queue, numbers: readonly number[]): void {
  const channel = new TestChannel();
  for (const _ of numbers) t.get(queue, channel);
  for (const number of numbers) channel.unacked.reject(number + 1, false, true, CAUSE_REJECT);
}

/** Takes everything out with what `get` does. */
function takeAll(get: (channel: TestChannel) => Seen | null): number[] {
  const channel = new TestChannel();
  const numbers: number[] = [];
  for (let seen = get(channel); seen !== null; seen = get(channel)) numbers.push(Number(seen.body));
  return numbers;
}

Deno.test("equal due times come back in the order of the rejects after a restart", () => {
  const order = [3, 1, 4, 0, 5, 2];
  for (const downMs of [0, 10_000]) {
    const node = new DiskNode();
    const queue = node.t.queue("q", RETRIES, { durable: true });
    publish(node.t, order.length);
    node.settle();
    rejectAll(node.t, queue, order);
    node.settle();
    // Twice, so that the numbers of the log and those of the start before are told apart.
    const next = node.restart().restart(downMs);
    next.settle(1, 1000);
    assertEquals(takeAll((channel) => next.get("q", channel)), order);
  }
});

Deno.test("equal due times of before and after a restart come back in the order of the rejects", () => {
  const node = new DiskNode();
  const queue = node.t.queue("q", RETRIES, { durable: true });
  publish(node.t, 6);
  node.settle();
  rejectAll(node.t, queue, [2, 1, 0]);
  node.settle();
  const next = node.restart();
  const channel = new TestChannel();
  for (let count = 0; count < 3; count++) next.get("q", channel);
  for (const tag of [3, 1, 2]) channel.unacked.reject(tag, false, true, CAUSE_REJECT);
  next.settle(1, 1000);
  next.settle();
  assertEquals(takeAll((channel) => next.get("q", channel)), [2, 1, 0, 5, 3, 4]);
});

Deno.test("more messages than fit into a turn come back in the order of the rejects", () => {
  const t = new TestBroker();
  const queue = t.queue("q", RETRIES);
  const count = 20_000;
  const order = Array.from({ length: count }, (_, index) => (index * 7) % count);
  publish(t, count);
  rejectAll(t, queue, order);
  t.turn(999);
  assertEquals(queue.readyCount, 0);
  t.turn(1);
  assertEquals(takeAll((channel) => t.get(queue, channel)), order);
});

Deno.test("more messages than fit into a turn come back in the order of the rejects after a restart", () => {
  const node = new DiskNode();
  const queue = node.t.queue("q", RETRIES, { durable: true });
  const count = 10_000;
  const order = Array.from({ length: count }, (_, index) => (index * 7) % count);
  publish(node.t, count);
  node.settle();
  rejectAll(node.t, queue, order);
  node.settle();
  // A start enters them by their positions, and runs some of the timers in each turn.
  const next = node.restart(5000);
  next.settle(20);
  assertEquals(takeAll((channel) => next.get("q", channel)), order);
});
