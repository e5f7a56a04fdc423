// Discards: a purge of many messages is done at once for everybody, and its records go a piece a turn,
// while no snapshot tells of them.

import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { restoreBroker } from "../../../../src/broker/recovery.ts";
import type { Queue } from "../../../../src/broker/queue/queue.ts";
import { CAUSE_CLOSE, CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { Discards } from "../../../../src/store/memory/discards.ts";
import { openStore } from "../../../support/disk_store.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestBroker, TestChannel } from "../../../support/test_broker.ts";
import { PagedNode } from "../support/paged_node.ts";

const PERSISTENT = { deliveryMode: 2 };

function start(disk: MemoryDisk) {
  const store = openStore(disk, {
    sizes: { discardedPerStep: 10, snapshotLogBytes: 2000, laneSlots: 16 },
  });
  const t = new TestBroker({ store, nowMs: Math.max(1_000_000, store.recovered.lastTimeMs) });
  restoreBroker(t.broker, store);
  return { t, store };
}

function settle(t: TestBroker, disk: MemoryDisk, turns = 1): void {
  for (let turn = 0; turn < turns; turn++) {
    t.turn();
    disk.finishAll();
  }
}

Deno.test("Queue.purge() answers at once and releases a bounded number of messages a turn", () => {
  const disk = new MemoryDisk();
  const { t, store } = start(disk);
  const queue = t.queue("q", {}, { durable: true });
  for (let number = 0; number < 300; number++) t.publish("q", `${number}`, PERSISTENT);
  settle(t, disk);
  assertEquals(queue.purge(), 300);
  assertEquals([queue.readyCount, queue.readyBytes], [0, 0]);
  t.publish("q", "after", PERSISTENT);
  assertEquals(t.get(queue, new TestChannel())?.body, "after");
  let turns = 0;
  for (let before = store.liveMessageCount; before > 1; before = store.liveMessageCount, turns++) {
    t.broker.endTurn();
    assertLessOrEqual(before - store.liveMessageCount, 10);
    assert(store.liveMessageCount < before, "nothing was let go of");
  }
  assert(turns >= 30);
});

/** A node that has purged 200 messages, kept one, and logged enough for snapshots ever since. */
function purgedFor(turns: number): MemoryDisk {
  const disk = new MemoryDisk();
  const { t } = start(disk);
  const queue = t.queue("q", {}, { durable: true });
  for (let number = 0; number < 200; number++) {
    t.publish("q", `${number}`, PERSISTENT);
    settle(t, disk);
  }
  queue.purge();
  t.publish("q", "after", PERSISTENT);
  for (let turn = 0; turn < turns; turn++) {
    t.queue(`${turn}-${"x".repeat(200)}`, {}, { durable: true });
    settle(t, disk);
  }
  return disk.crash({ kind: "process" });
}

Deno.test("FileStore writes no snapshot while purged records are still to be released", () => {
  for (let turns = 1; turns <= 40; turns++) {
    const { t } = start(purgedFor(turns));
    assertEquals(t.vhost.queues.get("q")!.readyCount, 1);
  }
});

Deno.test("Queue.purge() releases requeued messages as well", () => {
  const disk = new MemoryDisk();
  const { t, store } = start(disk);
  const queue = t.queue("q", {}, { durable: true });
  for (let number = 0; number < 60; number++) t.publish("q", `${number}`, PERSISTENT);
  const channel = new TestChannel();
  for (let number = 0; number < 50; number++) t.get(queue, channel);
  channel.unacked.requeueAll(CAUSE_CLOSE, true);
  assertEquals(queue.purge(), 60);
  settle(t, disk, 10);
  assertEquals(store.liveMessageCount, 0);
});

const DELAYS = { "x-delayed-retry-min": 60_000 };

/** A queue of which `count` messages are delayed. */
function delaying(t: TestBroker, name: string, count: number): Queue {
  const queue = t.queue(name, DELAYS, { durable: true });
  const channel = new TestChannel();
  for (let number = 1; number <= count; number++) {
    t.publish(name, `${number}`, PERSISTENT);
    t.get(queue, channel);
    channel.unacked.reject(number, false, true, CAUSE_REJECT);
  }
  return queue;
}

Deno.test("Queue.purge() releases a bounded number of delayed messages a turn, none of another queue", () => {
  const disk = new MemoryDisk();
  const { t, store } = start(disk);
  const queue = delaying(t, "q", 100);
  const other = delaying(t, "other", 50);
  settle(t, disk);
  assertEquals(queue.purge(), 100);
  assertEquals([queue.delayedCount, queue.delayedBytes], [0, 0]);
  assertEquals(t.broker.delayedTable.count, 50);
  for (let before = 150; store.liveMessageCount > 50; before = store.liveMessageCount) {
    t.broker.endTurn();
    assertLessOrEqual(before - store.liveMessageCount, 10);
  }
  delaying(t, "q", 3);
  settle(t, disk, 3);
  assertEquals([queue.delayedCount, other.delayedCount], [3, 50]);
  t.turn(60_000);
  assertEquals([queue.readyCount, other.readyCount, store.liveMessageCount], [3, 50, 53]);
});

Deno.test("Queue.purge() of delays that the disk refuses afterwards brings nothing back", () => {
  const disk = new MemoryDisk();
  const { t, store } = start(disk);
  const queue = t.queue("q", DELAYS, { durable: true });
  settle(t, disk);
  disk.failNext("write", "EIO");
  delaying(t, "q", 30);
  assertEquals(queue.purge(), 30);
  settle(t, disk);
  assertEquals([queue.readyCount, queue.delayedCount], [0, 0]);
  settle(t, disk, 5);
  assertEquals(store.liveMessageCount, 0);
});

Deno.test("Queue.purge() and delete of queues without messages leave no memory behind", () => {
  const { t, store } = start(new MemoryDisk());
  const queue = t.queue("q", { "x-message-ttl": 1000 });
  const channel = new TestChannel();
  const memoryBytes = store.memoryBytes;
  for (let round = 1; round <= 3; round++) {
    t.publish("q", "a", { expiration: "10" });
    t.publish("q", "b");
    t.publish("q", "c", { expiration: "10" });
    t.turn(20);
    t.get(queue, channel);
    channel.unacked.requeueAll(CAUSE_CLOSE, true);
    t.get(queue, channel);
    channel.unacked.ack(2 * round, false);
    assertEquals([queue.readyCount, queue.purge()], [0, 0]);
  }
  t.vhost.removeQueue(queue);
  t.turn();
  assertEquals(store.memoryBytes, memoryBytes);
});

Deno.test("Discards release the messages of many small queues in few turns", () => {
  const disk = new MemoryDisk();
  const { t, store } = start(disk);
  const queues = Array.from({ length: 60 }, (_, index) => t.queue(`q${index}`));
  for (const queue of queues) t.publish(queue.name, "x");
  for (const queue of queues) t.vhost.removeQueue(queue);
  let turns = 0;
  for (; store.liveMessageCount > 0; turns++) t.broker.endTurn();
  assertEquals(turns, 6);
});

Deno.test("Discards.step() looks at few queues a turn, whatever little each of them had", () => {
  const released: number[] = [];
  const discards = new Discards((_ref, queueId) => released.push(queueId), 1_000_000);
  for (let queueId = 1; queueId <= 200; queueId++) {
    let left = 1;
    discards.add({
      messageCount: 1,
      releaseSome(_max, release) {
        if (left-- > 0) release(1);
        return false;
      },
    }, queueId);
  }
  const counts: number[] = [];
  for (let turns = 0; turns < 10 && discards.isBusy; turns++) {
    discards.step();
    counts.push(released.length);
  }
  assertEquals(counts, [64, 128, 192, 200]);
});

Deno.test("Queue.purge() of a backlog in pages leaves no memory behind, and takes none off", () => {
  const node = new PagedNode(new MemoryDisk());
  const queue = node.queue("q");
  for (let rounds = 0; rounds < 3; rounds++) {
    node.publish("q", 0, 1000);
    assert(node.files("segment").length > 0);
    queue.purge();
    node.settle();
    // What the log says of it is safe a little later.
    node.t.turn(1000);
    node.settle();
    assertEquals(node.store.usedBytes, 0);
  }
});

Deno.test("Discards is busy until the last record of the last queue is released", () => {
  const released: [ref: number, queueId: number][] = [];
  const discards = new Discards((ref, queueId) => void released.push([ref, queueId]), 2);
  const messages = (...refs: number[]) => ({
    messageCount: refs.length,
    releaseSome(max: number, release: (ref: number) => void): boolean {
      for (const ref of refs.splice(0, max)) release(ref);
      return refs.length > 0;
    },
  });
  assertEquals([discards.isBusy, discards.step()], [false, false]);
  assertEquals([discards.add(messages(1, 2, 3), 7), discards.isBusy], [3, true]);
  discards.add(messages(4), 8);
  assertEquals([discards.step(), discards.isBusy, released.length], [true, true, 2]);
  assertEquals([discards.step(), discards.isBusy], [false, false]);
  assertEquals(released, [[1, 7], [2, 7], [3, 7], [4, 8]]);
  // Nothing to release is still something to give back.
  discards.add(messages(), 9);
  assertEquals([discards.isBusy, discards.step(), discards.isBusy], [true, false, false]);
});
