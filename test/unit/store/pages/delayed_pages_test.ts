// FileStore with backlogs of delayed messages beyond its memory: pages are written, read before their
// messages wake, dropped and recovered.

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import type { Queue } from "../../../../src/broker/queue/queue.ts";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { longField } from "../../../../src/amqp/field_value.ts";
import { checkStore } from "../../../../src/store/recovery/folder_check.ts";
import { ReadOnlyFileSystem } from "../../../../src/store/read_only_file_system.ts";
import { Prng } from "../../../../src/lib/prng.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { type Plain, TestChannel } from "../../../support/test_broker.ts";
import { numberOf, PagedNode, type PagedNodeOptions, range } from "../support/paged_node.ts";

const DELAY_MS = 60_000;
const RETRIES: Plain = { "x-delayed-retry-min": DELAY_MS, "x-delayed-retry-multiplier": 1 };
const SIZES = { delayedLeadMs: 100 };

function start(disk = new MemoryDisk(), options: PagedNodeOptions = {}): PagedNode {
  return new PagedNode(disk, { ...options, sizes: { ...SIZES, ...options.sizes } });
}

/** Publishes messages numbered from `first` and rejects each, some every millisecond. */
function delay(
  node: PagedNode,
  first: number,
  count: number,
  { name = "q", properties }: { name?: string; properties?: object } = {},
): void {
  for (let at = first; at < first + count; at += 8) {
    const some = Math.min(8, first + count - at);
    node.publish(name, at, some, properties);
    rejectAll(node, some, name);
    node.t.turn(1);
    node.settle();
  }
}

function rejectAll(node: PagedNode, count: number, name = "q"): void {
  const channel = new TestChannel();
  const seen = range(0, count).map(() => node.get(name, channel)!);
  for (const { tag } of seen) channel.unacked.reject(tag, false, true, CAUSE_REJECT);
  node.settle();
}

function inPages(queue: Queue): number {
  return queue.retries!.delayed.pagedCount;
}

/** Turns of a millisecond until so much time has passed, with what they read and write. */
function pass(node: PagedNode, ms: number): void {
  for (let step = 0; step < ms; step++) {
    node.t.turn(1);
    node.settle();
  }
}

/** Lets time go to shortly before the first delay ends. */
function skipToEnd(node: PagedNode, beforeMs: number): void {
  node.t.turn(node.find("q").retries!.delayed.nextDueMs - node.t.nowMs - beforeMs);
  node.settle();
}

function counts(queue: Queue): number[] {
  return [queue.delayedCount, queue.delayedBytes, queue.readyCount];
}

Deno.test("FileStore pages delayed messages out and gives them back on time, in order, with their counts", () => {
  const node = start();
  const queue = node.queue("q", RETRIES);
  const startMs = node.t.nowMs;
  delay(node, 0, 800);
  assertGreater(inPages(queue), 600);
  assertLess(node.store.liveBytes, 24 * 1024);
  const { delayedTable } = node.t.broker;
  assertEquals(counts(queue), [800, 800 * 40, 0]);
  assertEquals([delayedTable.count, delayedTable.bodyBytes], [800, 800 * 40]);
  assertEquals(node.store.liveMessageCount, 800);
  const { nextDueMs, lastDueMs } = queue.retries!.delayed;
  assertEquals([nextDueMs, lastDueMs], [startMs + DELAY_MS, startMs + 99 + DELAY_MS]);
  skipToEnd(node, 1);
  assertEquals(queue.readyCount, 0);
  const channel = new TestChannel();
  const seen: { number: number; ms: number }[] = [];
  for (let ms = 0; ms < 100; ms++) {
    node.t.turn(1);
    while (queue.readyCount > 0) {
      const one = node.get("q", channel)!;
      assertEquals([one.redelivered, one.deliveryCount], [true, 1]);
      seen.push({ number: numberOf(one), ms });
      channel.unacked.ack(one.tag, false);
    }
    node.settle();
  }
  assertEquals(seen.map(({ number }) => number), range(0, 800));
  // Read ahead of time, each comes in the millisecond in which it is due.
  assertEquals(seen.map(({ ms }) => ms), range(0, 800).map((number) => Math.floor(number / 8)));
  assertEquals([counts(queue), node.store.liveMessageCount], [[0, 0, 0], 0]);
  assertEquals(node.errors, []);
});

Deno.test("FileStore brings pages of delayed messages back after a crash, without reading them", () => {
  for (const how of ["process", "power"] as const) {
    let node = start();
    node.queue("q", RETRIES);
    delay(node, 0, 600);
    node.t.turn(1000);
    node.settle();
    const paged = inPages(node.find("q"));
    node = node.crash(how === "process" ? { kind: how } : { kind: how, prng: new Prng(3) });
    const queue = node.find("q");
    assertEquals(counts(queue), [600, 600 * 40, 0]);
    assertEquals(inPages(queue), paged);
    assertLess(node.store.liveBytes, 24 * 1024);
    delay(node, 600, 100);
    // Down until long after: what is overdue comes in the order in which it was due.
    node = node.crash();
    node.t.turn(2 * DELAY_MS);
    node.settle();
    assertEquals(node.take("q", 1000), range(0, 700));
    assertEquals(node.store.recovered.damages, []);
  }
});

Deno.test("FileStore forgets transient delayed messages at a restart, in pages too", () => {
  let node = start();
  node.queue("q", RETRIES);
  for (let first = 0; first < 400; first += 40) {
    delay(node, first, 20);
    delay(node, first + 20, 20, { properties: {} });
  }
  assertGreater(inPages(node.find("q")), 300);
  node = node.crash();
  assertEquals(counts(node.find("q")), [200, 200 * 40, 0]);
  node.t.turn(2 * DELAY_MS);
  node.settle();
  assertEquals(node.take("q", 1000), range(0, 400).filter((number) => number % 40 < 20));
});

Deno.test("FileStore pages the delayed messages of a transient queue out as well", () => {
  const node = start();
  const queue = node.queue("q", RETRIES, false);
  delay(node, 0, 400);
  assertGreater(inPages(queue), 200);
  node.t.turn(2 * DELAY_MS);
  node.settle();
  assertEquals(node.take("q", 1000), range(0, 400));
});

Deno.test("equal due times come back in the order of the rejects, from pages and from memory", () => {
  const delays = { tag: "A" as const, value: [longField(10_000), longField(1000)] };
  const node = start();
  const queue = node.queue("q", { "x-delayed-retry-delays": delays });
  const startMs = node.t.nowMs;
  node.publish("q", 0, 4);
  rejectAll(node, 4);
  node.t.turn(5000);
  delay(node, 4, 400);
  // The first come back, and are rejected so that they are due when the first in pages are.
  node.t.turn(startMs + 10_000 - node.t.nowMs);
  node.settle();
  assertEquals(queue.readyCount, 4);
  node.t.turn(startMs + 14_000 - node.t.nowMs);
  rejectAll(node, 4);
  assertGreater(inPages(queue), 100);
  node.t.turn(startMs + 15_000 - node.t.nowMs - 1);
  node.settle();
  assertEquals(queue.readyCount, 0);
  pass(node, 1);
  assertEquals(node.take("q", 12), [4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3]);
});

Deno.test("FileStore does not page delays out that the disk has not taken yet", () => {
  const node = start();
  const queue = node.queue("q", RETRIES);
  node.publish("q", 0, 400);
  const channel = new TestChannel();
  for (let number = 0; number < 400; number++) node.get("q", channel);
  node.settle();
  channel.unacked.reject(0, true, true, CAUSE_REJECT);
  // Nothing is safe before the disk says so.
  for (let turns = 0; turns < 20; turns++) node.t.turn(100);
  assertEquals(inPages(queue), 0);
  node.settle();
  for (let turns = 0; turns < 20; turns++) {
    node.t.turn(100);
    node.settle();
  }
  assertGreater(inPages(queue), 200);
});

Deno.test("FileStore drops pages of delayed messages unread when their queue is purged or deleted", () => {
  for (const isDeleted of [false, true]) {
    let node = start();
    const queue = node.queue("q", RETRIES);
    delay(node, 0, 600);
    assert(node.files("segment").length > 2);
    if (isDeleted) node.t.vhost.deleteQueue("q", { ifUnused: false, ifEmpty: false }, node.t.owner);
    else assertEquals(queue.purge(), 600);
    node.settle();
    node.settle();
    assertEquals([node.store.liveMessageCount, node.t.broker.delayedTable.count], [0, 0]);
    assertEquals(node.store.delayedPages.delayedCount, 0);
    assertLess(node.files("segment").length, 2);
    node = node.crash();
    if (isDeleted) node.queue("q", RETRIES);
    assertEquals(counts(node.find("q")), [0, 0, 0]);
    node.t.turn(2 * DELAY_MS);
    node.settle();
    delay(node, 700, 100);
    assertEquals(node.find("q").delayedCount, 100);
    assertEquals(node.store.recovered.damages, []);
  }
});

Deno.test("FileStore gives no page of delayed messages back that was purged while it was read", () => {
  const node = start();
  const queue = node.queue("q", RETRIES);
  delay(node, 0, 400);
  node.t.turn(queue.retries!.delayed.nextDueMs - node.t.nowMs - 50);
  assertGreater(node.disk.pendingCount, 0);
  assertEquals(queue.purge(), 400);
  node.settle();
  node.t.turn(2 * DELAY_MS);
  node.settle();
  assertEquals([counts(queue), node.store.liveMessageCount], [[0, 0, 0], 0]);
});

Deno.test("FileStore counts no page of delayed messages that were purged while it was written", () => {
  let node = start();
  const queue = node.queue("q", RETRIES);
  delay(node, 0, 80);
  node.publish("q", 80, 200);
  const channel = new TestChannel();
  for (let number = 0; number < 200; number++) node.get("q", channel);
  channel.unacked.reject(0, true, true, CAUSE_REJECT);
  node.t.turn();
  // The log is safe, and pages are being written.
  while (node.disk.finish() > 0) {
    node.t.turn();
    if (node.disk.pendingCount > 0 && node.files("segment").length > 1) break;
  }
  assertEquals(queue.purge(), 280);
  node.settle();
  assertEquals([counts(queue), node.store.liveMessageCount], [[0, 0, 0], 0]);
  delay(node, 300, 100);
  node = node.crash();
  assertEquals(node.find("q").delayedCount, 100);
});

Deno.test("delayed messages in pages expire on time", () => {
  const node = start();
  const queue = node.queue("q", {
    ...RETRIES,
    "x-message-ttl": 30_000,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": "dead",
  });
  node.queue("dead");
  delay(node, 0, 400);
  assertGreater(inPages(queue), 200);
  skipToEnd(node, 1);
  assertEquals(node.find("dead").readyCount, 0);
  pass(node, 100);
  assertEquals(counts(queue), [0, 0, 0]);
  assertEquals(node.take("dead", 1000), range(0, 400));
  assertEquals(node.t.broker.metrics.retryExpired, 400);
});

Deno.test("a page of delayed messages that cannot be read is reported and tried again, others go on", () => {
  const node = start();
  const queue = node.queue("q", RETRIES);
  delay(node, 0, 400);
  node.disk.failNext("read", "EIO", "segment");
  skipToEnd(node, 1);
  pass(node, 200);
  assertEquals(node.errors, ["cannot read a page"]);
  const late = queue.delayedCount;
  assert(late > 0 && late <= 16);
  assertEquals(node.take("q", 1000).length, 400 - late);
  node.t.turn(60_000);
  node.settle();
  assertEquals([node.take("q", 1000).length, counts(queue)], [late, [0, 0, 0]]);
});

Deno.test("a page of delayed messages that does not check is reported once, its queue can be purged", () => {
  let node = start();
  node.queue("q", RETRIES);
  delay(node, 0, 400);
  const disk = node.disk.crash({ kind: "process" });
  const segment = disk.paths().find((path) => path.startsWith("segment"))!;
  disk.flip(segment, 700, 3);
  node = start(disk);
  const queue = node.find("q");
  assertEquals(queue.delayedCount, 400);
  for (let minutes = 0; minutes < 3; minutes++) {
    node.t.turn(DELAY_MS);
    node.settle();
  }
  assertEquals(node.errors, ["cannot read a page"]);
  const lost = queue.delayedCount;
  assert(lost > 0 && lost <= 16);
  assertEquals(node.take("q", 1000).length, 400 - lost);
  assertEquals(queue.purge(), lost);
  assertEquals(node.store.liveMessageCount, 0);
});

Deno.test("delayed messages stay in memory while pages cannot be written", () => {
  let node = start();
  const queue = node.queue("q", RETRIES);
  delay(node, 0, 80);
  node.disk.failNext("sync", "EIO", "segment");
  delay(node, 80, 160);
  assert(node.errors.includes("cannot sync a segment file"));
  node.disk.failNext("write", "ENOSPC", "segment");
  delay(node, 240, 160);
  assert(node.errors.includes("cannot write pages"));
  node.t.turn(2000);
  node.settle();
  delay(node, 400, 160);
  assertLess(node.store.liveBytes, 24 * 1024);
  assertGreater(inPages(queue), 300);
  node.t.turn(1000);
  node.settle();
  node = node.crash({ kind: "power", prng: new Prng(5) });
  node.t.turn(2 * DELAY_MS);
  node.settle();
  assertEquals(node.take("q", 1000), range(0, 560));
});

Deno.test("limits of delayed messages count those in pages", () => {
  const node = start();
  const queue = node.queue("q", RETRIES);
  const { limits, metrics } = node.t.broker;
  Object.assign(limits, { delayedPerQueueMax: 300, delayedPerNodeMax: 1000 });
  delay(node, 0, 296);
  assertGreater(inPages(queue), 100);
  node.publish("q", 296, 8);
  rejectAll(node, 8);
  assertEquals([queue.delayedCount, queue.readyCount, metrics.retryOverLimit], [300, 4, 4]);
});

Deno.test("checkStore() counts delayed messages in pages and reads them", () => {
  const node = start();
  node.queue("q", RETRIES);
  delay(node, 0, 400);
  const disk = node.disk.crash({ kind: "process" });
  const report = checkStore(new ReadOnlyFileSystem(disk));
  const [queue] = report.queues;
  assertEquals([queue!.delayed, queue!.ready, queue!.bodyBytes], [400, 0, 400 * 40]);
  assertEquals([report.checkedCount, report.damages], [400, []]);
  const segment = disk.paths().find((path) => path.startsWith("segment"))!;
  disk.flip(segment, 700, 3);
  assertEquals(checkStore(new ReadOnlyFileSystem(disk)).damages.length, 1);
});

Deno.test("FileStore reads few pages at a time when those of many queues are overdue", () => {
  let node = start();
  const names = range(0, 60).map((number) => `q${number}`);
  for (const name of names) {
    node.queue(name, RETRIES);
    delay(node, 0, 40, { name });
  }
  node = node.crash();
  node.t.turn(2 * DELAY_MS);
  let mostReads = 0;
  do {
    mostReads = Math.max(mostReads, node.disk.pendingCount);
    node.t.turn();
  } while (node.disk.finish() > 0);
  // Syncs, and what is moved meanwhile, among them.
  assert(mostReads > 0 && mostReads <= 20);
  for (const name of names) assertEquals(node.take(name, 100), range(0, 40));
});

Deno.test("a delay that was read ahead of its time goes on after a snapshot and a crash", () => {
  let node = start(undefined, { sizes: { snapshotLogBytes: 4096, delayedLeadMs: 1000 } });
  const queue = node.queue("q", RETRIES);
  node.queue("other");
  delay(node, 0, 400);
  skipToEnd(node, 500);
  const snapshots = node.files("snapshot");
  assertLess(inPages(queue), 350);
  // Whatever the log says of the delays is in the snapshot.
  for (let rounds = 0; rounds < 3; rounds++) {
    node.publish("other", 0, 100);
    node.take("other", 100);
  }
  assertEquals(node.files("snapshot").some((path) => snapshots.includes(path)), false);
  node = node.crash();
  assertEquals(counts(node.find("q")), [400, 400 * 40, 0]);
  skipToEnd(node, 0);
  pass(node, 100);
  assertEquals(node.take("q", 1000), range(0, 400));
});
