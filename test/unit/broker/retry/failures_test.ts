// The retry queue's own failure (docs/storage.md "Errors of the disk"): what the disk does not take is
// requeued at once with its count, and the next reject is delayed again.

import { assert, assertEquals, assertGreater } from "@std/assert";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { DiskNode, PERSISTENT } from "../../../support/disk_node.ts";
import { type Plain, TestChannel } from "../../../support/test_broker.ts";

const DELAY_MS = 5000;
const RETRY: Plain = { "x-delayed-retry-min": DELAY_MS, "x-delivery-limit": 9 };
const DURABLE = { durable: true };
const LINE = "retry queue cannot store a message; requeued at once";

/** A node whose queue `q` has delivered `count` messages, all of it safe. */
function delivered(count: number, args: Plain = RETRY): { node: DiskNode; channel: TestChannel } {
  const node = new DiskNode();
  node.t.queue("q", args, DURABLE);
  const channel = new TestChannel();
  for (let i = 1; i <= count; i++) node.t.publish("q", String(i), PERSISTENT);
  node.settle();
  for (let i = 1; i <= count; i++) node.get("q", channel);
  node.settle(2, 1000);
  return { node, channel };
}

function rejectAll(channel: TestChannel, lastTag: number): void {
  channel.unacked.reject(lastTag, true, true, CAUSE_REJECT);
}

function refuseWrite(node: DiskNode): void {
  node.disk.failNext("write", "EIO", "log-");
}

function counts(node: DiskNode): [ready: number, delayed: number, failures: number] {
  const queue = node.queue("q");
  return [queue.readyCount, queue.delayedCount, node.t.broker.metrics.retryStoreFailures];
}

function takeAll(node: DiskNode, channel: TestChannel): string[] {
  const seen: string[] = [];
  for (let one = node.get("q", channel); one !== null; one = node.get("q", channel)) {
    seen.push(`${one.body} ${one.redelivered} ${one.deliveryCount}`);
  }
  return seen;
}

Deno.test("a reject whose batch the disk refuses is requeued at once, in place and with its count", () => {
  const { node, channel } = delivered(3);
  node.t.publish("q", "4", PERSISTENT);
  node.settle();
  refuseWrite(node);
  rejectAll(channel, 3);
  assertEquals(counts(node), [1, 3, 0]);
  node.t.turn();
  assert(node.store.isReadOnly);
  assertEquals(counts(node), [4, 0, 3]);
  assertEquals(node.logs.filter((line) => line === LINE).length, 1);
  assertEquals(takeAll(node, channel), ["1 true 1", "2 true 1", "3 true 1", "4 false 0"]);
});

Deno.test("after a fresh log file the next reject is delayed again, with a longer delay", () => {
  const { node, channel } = delivered(1);
  refuseWrite(node);
  rejectAll(channel, 1);
  node.t.turn();
  node.settle(3, 500);
  assertEquals(node.store.isReadOnly, false);
  assertEquals(takeAll(node, channel), ["1 true 1"]);
  rejectAll(channel, 2);
  node.settle();
  assertEquals(counts(node), [0, 1, 1]);
  assertEquals(node.queue("q").retries!.delayed.nextDueMs - node.t.nowMs, 2 * DELAY_MS);
  const next = node.restart(2 * DELAY_MS);
  next.settle(2);
  assertEquals(takeAll(next, new TestChannel()), ["1 true 2"]);
});

Deno.test("a node killed after it requeued at once brings the message back ready, with its count", () => {
  for (const isRepaired of [false, true]) {
    const { node, channel } = delivered(1);
    refuseWrite(node);
    rejectAll(channel, 1);
    node.t.turn();
    if (isRepaired) node.settle(3, 500);
    const next = node.restart();
    assertEquals([next.queue("q").readyCount, next.queue("q").delayedCount], [1, 0]);
    assertEquals(takeAll(next, new TestChannel()), ["1 true 1"]);
  }
});

Deno.test("delays that are safe stay what they are when a later batch fails", () => {
  const { node, channel } = delivered(2);
  channel.unacked.reject(1, false, true, CAUSE_REJECT);
  node.settle(2, 1000);
  const { nextDueMs } = node.queue("q").retries!.delayed;
  refuseWrite(node);
  channel.unacked.reject(2, false, true, CAUSE_REJECT);
  node.t.turn();
  assertEquals(counts(node), [1, 1, 1]);
  assertEquals(node.queue("q").retries!.delayed.nextDueMs, nextDueMs);
});

Deno.test("a failed sync without a fresh file requeues what was delayed in unsafe batches", () => {
  const { node, channel } = delivered(3);
  channel.unacked.reject(1, false, true, CAUSE_REJECT);
  node.t.turn();
  channel.unacked.reject(2, false, true, CAUSE_REJECT);
  node.t.turn();
  assertEquals(counts(node), [0, 2, 0]);
  node.disk.failNext("sync", "EIO", "log-");
  node.disk.failNext("open", "ENOSPC", "log-");
  node.t.turn(1000);
  node.disk.finishAll();
  node.t.turn();
  assertEquals(counts(node), [2, 0, 2]);
  node.settle(3, 500);
  assertEquals(takeAll(node, channel), ["1 true 1", "2 true 1"]);
});

Deno.test("a failed sync whose batches are in a fresh file requeues nothing", () => {
  const { node, channel } = delivered(1);
  rejectAll(channel, 1);
  node.disk.failNext("sync", "EIO", "log-");
  node.t.turn();
  node.settle(3, 1000);
  assertEquals(counts(node), [0, 1, 0]);
});

Deno.test("what was purged, deleted or due before its batch failed is left alone", () => {
  const purged = delivered(2);
  refuseWrite(purged.node);
  rejectAll(purged.channel, 2);
  assertEquals(purged.node.queue("q").purge(), 2);
  purged.node.t.turn();
  assertEquals(counts(purged.node), [0, 0, 0]);

  const deleted = delivered(2);
  refuseWrite(deleted.node);
  rejectAll(deleted.channel, 2);
  const { vhost, owner } = deleted.node.t;
  vhost.deleteQueue("q", { ifUnused: false, ifEmpty: false }, owner);
  deleted.node.t.turn();
  deleted.node.settle(3, 500);
  assertEquals(deleted.node.store.liveMessageCount, 0);

  // Back and out again before the sync that should have made its delay safe has failed.
  const due = delivered(1, { ...RETRY, "x-delayed-retry-min": 1 });
  rejectAll(due.channel, 1);
  due.node.t.turn();
  due.node.t.turn(1);
  assertEquals(takeAll(due.node, due.channel), ["1 true 1"]);
  due.node.disk.failNext("sync", "EIO", "log-");
  due.node.disk.failNext("open", "ENOSPC", "log-");
  due.node.t.turn(1000);
  due.node.disk.finishAll();
  due.node.settle(3, 500);
  assertEquals([...counts(due.node), due.node.queue("q").unackedCount], [0, 0, 0, 1]);
});

Deno.test("what expires at the time at which its batch fails is dead, once", () => {
  const args = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
  const { node, channel } = delivered(1, { ...RETRY, ...args, "x-message-ttl": 4000 });
  node.t.queue("dead", {}, DURABLE);
  node.settle(1, 1000);
  refuseWrite(node);
  rejectAll(channel, 1);
  node.t.turn();
  assertEquals(counts(node), [1, 0, 1]);
  node.settle(4, 1000);
  assertEquals([...counts(node), node.queue("dead").readyCount], [0, 0, 1, 1]);
});

Deno.test("messages that are not kept stay delayed when a batch fails", () => {
  const { node, channel } = delivered(1);
  node.t.publish("q", "transient");
  node.get("q", channel);
  refuseWrite(node);
  rejectAll(channel, 2);
  node.t.turn();
  assertEquals(counts(node), [1, 1, 1]);
});

Deno.test("a consumer that rejects everything while no file is to be had fills no log", () => {
  const { node, channel } = delivered(50);
  node.disk.quotaBytes = 0;
  rejectAll(channel, 50);
  for (let round = 0; round < 20; round++) {
    node.t.turn();
    takeAll(node, channel);
    channel.unacked.reject(0, true, true, CAUSE_REJECT);
  }
  assertGreater(node.t.broker.metrics.retryStoreFailures, 300);
  assertEquals(node.logs.filter((line) => line === LINE).length, 1);
});
