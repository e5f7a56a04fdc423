// FileStore under a broker: what is there after the node has ended and started again.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { restoreBroker } from "../../../src/broker/recovery.ts";
import { CAUSE_REJECT } from "../../../src/broker/retry/rules.ts";
import { Prng } from "../../../src/lib/prng.ts";
import type { FileStore } from "../../../src/store/file_store.ts";
import { StoreFormatError } from "../../../src/store/folder/manifest.ts";
import { checksum } from "../../../src/store/checksum.ts";
import { openStore } from "../../support/disk_store.ts";
import { type Crash, MemoryDisk } from "../../support/memory_disk.ts";
import { type Plain, TestBroker, TestChannel } from "../../support/test_broker.ts";

const PERSISTENT = { deliveryMode: 2 };
const RETRY: Plain = { "x-delayed-retry-min": 1000, "x-delivery-limit": 3 };

interface Node {
  t: TestBroker;
  store: FileStore;
  disk: MemoryDisk;
}

function start(disk: MemoryDisk, nowMs = 1_000_000): Node {
  const store = openStore(disk);
  const t = new TestBroker({ store, nowMs: Math.max(nowMs, store.recovered.lastTimeMs) });
  restoreBroker(t.broker, store);
  return { t, store, disk };
}

/** Ends the turn and lets every sync finish. */
function settle(node: Node): void {
  node.t.turn();
  node.disk.finishAll();
}

function crash(node: Node, how: Crash = { kind: "process" }): Node {
  return start(node.disk.crash(how), node.t.nowMs);
}

function allBodies(node: Node, name: string): string[] {
  const queue = node.t.vhost.queues.get(name)!;
  const channel = new TestChannel();
  const bodies: string[] = [];
  for (let reads = 0; reads < 1000; reads++) {
    const seen = node.t.get(queue, channel);
    if (seen !== null) bodies.push(`${seen.body}${seen.redelivered ? "!" : ""}`);
    else if (queue.readyCount === 0) return bodies;
    else node.disk.finishAll();
  }
  throw new Error("the queue never gets empty");
}

Deno.test("FileStore brings back durable queues, bindings and persistent messages in order", () => {
  const node = start(new MemoryDisk());
  const exchange = { name: "x", type: "topic", autoDelete: false, internal: false };
  node.t.vhost.declareExchange({ ...exchange, durable: true, args: new Map() });
  node.t.queue("q", { "x-max-length": 100 }, { durable: true });
  node.t.queue("transient");
  const binding = { queue: "q", exchange: "x", routingKey: "a.#", args: new Map() };
  node.t.vhost.bindQueue(binding, node.t.owner);
  node.t.publish("a.b", "1", PERSISTENT, "x");
  node.t.publish("q", "lost");
  node.t.publish("q", "2", PERSISTENT);
  settle(node);
  const next = crash(node, { kind: "power", prng: new Prng(1) });
  assertEquals([...next.t.vhost.queues.keys()], ["q"]);
  next.t.publish("a.c", "3", PERSISTENT, "x");
  assertEquals(allBodies(next, "q"), ["1", "2", "3"]);
});

Deno.test("FileStore forgets what was acked, purged and deleted", () => {
  const node = start(new MemoryDisk());
  const queue = node.t.queue("q", {}, { durable: true });
  node.t.queue("gone", {}, { durable: true });
  const channel = new TestChannel();
  for (const body of ["1", "2", "3"]) node.t.publish("q", body, PERSISTENT);
  node.t.publish("gone", "x", PERSISTENT);
  node.t.get(queue, channel);
  channel.unacked.ack(1, false);
  node.t.vhost.deleteQueue("gone", { ifUnused: false, ifEmpty: false }, node.t.owner);
  settle(node);
  const second = crash(node);
  assertEquals([...second.t.vhost.queues.keys()], ["q"]);
  assertEquals(second.t.vhost.queues.get("q")!.readyCount, 2);
  second.t.vhost.queues.get("q")!.purge();
  settle(second);
  const third = crash(second);
  assertEquals(third.t.vhost.queues.get("q")!.readyCount, 0);
  assertEquals(third.store.liveMessageCount, 0);
});

Deno.test("FileStore marks what was out for delivery as redelivered, one delivery spent", () => {
  let node = start(new MemoryDisk());
  node.t.queue("q", { "x-delivery-limit": 2 }, { durable: true });
  node.t.publish("q", "m", PERSISTENT);
  for (let deliveries = 1; deliveries <= 3; deliveries++) {
    const queue = node.t.vhost.queues.get("q")!;
    const channel = new TestChannel();
    node.t.consume(queue, channel);
    for (let i = 0; i < 5; i++) settle(node);
    const [seen] = channel.drain();
    assertEquals([seen!.redelivered, seen!.deliveryCount], [deliveries > 1, deliveries - 1]);
    node = crash(node);
  }
  assertEquals(node.t.vhost.queues.get("q")!.readyCount, 0);
});

Deno.test("FileStore keeps delays with their remaining time, and their counts", () => {
  const node = start(new MemoryDisk());
  const queue = node.t.queue("q", RETRY, { durable: true });
  const channel = new TestChannel();
  node.t.consume(queue, channel);
  node.t.publish("q", "m", PERSISTENT);
  settle(node);
  channel.unacked.reject(1, false, true, CAUSE_REJECT);
  settle(node);
  node.t.turn(400);
  const next = crash(node);
  const again = next.t.vhost.queues.get("q")!;
  assertEquals(again.delayedCount, 1);
  assertEquals(again.retries!.delayed.nextDueMs - next.t.nowMs, 600);
  const second = new TestChannel();
  next.t.consume(again, second);
  next.t.turn(599);
  assertEquals(again.delayedCount, 1);
  next.t.turn(1);
  for (let i = 0; i < 3; i++) settle(next);
  const [seen] = second.drain();
  assertEquals([seen!.body, seen!.redelivered, seen!.deliveryCount], ["m", true, 1]);
});

Deno.test("FileStore keeps requeued messages at their place, with their counts", () => {
  const node = start(new MemoryDisk());
  const queue = node.t.queue("q", { "x-delivery-limit": 5 }, { durable: true });
  const channel = new TestChannel();
  for (const body of ["1", "2", "3"]) node.t.publish("q", body, PERSISTENT);
  for (let i = 0; i < 2; i++) node.t.get(queue, channel);
  channel.unacked.reject(1, false, true, CAUSE_REJECT);
  channel.unacked.ack(2, false);
  settle(node);
  const next = crash(node);
  assertEquals(allBodies(next, "q"), ["1!", "3"]);
});

Deno.test("FileStore moves a dead letter in one piece", () => {
  const node = start(new MemoryDisk());
  node.t.queue("dead", {}, { durable: true });
  const dlx: Plain = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
  const queue = node.t.queue("q", dlx, { durable: true });
  const channel = new TestChannel();
  node.t.publish("q", "m", PERSISTENT);
  node.t.get(queue, channel);
  channel.unacked.reject(1, false, false, CAUSE_REJECT);
  settle(node);
  const next = crash(node);
  assertEquals(allBodies(next, "q"), []);
  assertEquals(allBodies(next, "dead"), ["m"]);
});

Deno.test("FileStore keeps a message of several queues once and for each of them", () => {
  const node = start(new MemoryDisk());
  const exchange = { name: "f", type: "fanout", autoDelete: false, internal: false };
  node.t.vhost.declareExchange({ ...exchange, durable: true, args: new Map() });
  for (const name of ["a", "b", "c"]) {
    node.t.queue(name, {}, { durable: true });
    const binding = { queue: name, exchange: "f", routingKey: "", args: new Map() };
    node.t.vhost.bindQueue(binding, node.t.owner);
  }
  node.t.publish("", "x".repeat(10_000), PERSISTENT, "f");
  settle(node);
  assert(node.disk.usedBytes < 15_000);
  node.t.vhost.queues.get("b")!.purge();
  settle(node);
  const next = crash(node);
  const counts = ["a", "b", "c"].map((name) => next.t.vhost.queues.get(name)!.readyCount);
  assertEquals(counts, [1, 0, 1]);
  assertEquals(allBodies(next, "c"), ["x".repeat(10_000)]);
});

// Says in the manifest that everything in the folder has another format.
function setFormat(disk: MemoryDisk, format: number): void {
  const line = new TextDecoder().decode(disk.contentOf("MANIFEST")).split("\n")[0]!;
  const changed = new TextEncoder().encode(line.replace(/"format":\d+/, `"format":${format}`));
  const sum = new TextEncoder().encode(`\n${checksum(changed, 0, changed.length).toString(16)}\n`);
  disk.remove("MANIFEST");
  const handle = disk.open("MANIFEST", "create");
  handle.write(changed, 0, changed.length, 0);
  handle.write(sum, 0, sum.length, changed.length);
  handle.close();
}

function formatOf(disk: MemoryDisk): unknown {
  const text = new TextDecoder().decode(disk.contentOf("MANIFEST"));
  return JSON.parse(text.split("\n")[0]!).format;
}

Deno.test("FileStore refuses other formats without touching it", () => {
  const node = start(new MemoryDisk());
  settle(node);
  const disk = node.disk.crash({ kind: "process" });
  for (const format of [1, 4, 9]) {
    setFormat(disk, format);
    const before = disk.paths();
    assertThrows(() => start(disk), StoreFormatError, `format ${format}`);
    assertEquals([disk.paths(), formatOf(disk)], [before, format]);
  }
});

Deno.test("FileStore reads format 2 and says in the manifest that it writes format 3", () => {
  const node = start(new MemoryDisk());
  node.t.queue("q", {}, { durable: true });
  node.t.publish("q", "m", PERSISTENT);
  settle(node);
  const disk = node.disk.crash({ kind: "process" });
  setFormat(disk, 2);
  const next = start(disk);
  assertEquals(formatOf(disk), 3);
  assertEquals(allBodies(next, "q"), ["m"]);
});

Deno.test("FileStore refuses data files without a manifest and leaves them alone", () => {
  const node = start(new MemoryDisk());
  node.t.queue("q", {}, { durable: true });
  settle(node);
  const disk = node.disk.crash({ kind: "process" });
  disk.remove("MANIFEST");
  const before = disk.paths();
  assertThrows(() => start(disk), StoreFormatError, "no manifest");
  assertEquals([disk.paths(), disk.openCount], [before, 0]);
});

Deno.test("FileStore keeps no log files of starts that wrote nothing", () => {
  let node = start(new MemoryDisk());
  node.t.queue("q", {}, { durable: true });
  settle(node);
  for (let starts = 0; starts < 5; starts++) {
    node = crash(node);
    settle(node);
  }
  // The first, what the next start wrote again because nothing said that it was safe, and an empty one.
  assertEquals(node.disk.paths().filter((path) => path.startsWith("log-")).length, 3);
  assertEquals([...node.t.vhost.queues.keys()], ["q"]);
});

Deno.test("FileStore says a batch is safe only when it is synced", () => {
  const node = start(new MemoryDisk());
  node.t.queue("q", {}, { durable: true });
  settle(node);
  const batch = node.store.openBatch;
  node.t.publish("q", "m", PERSISTENT);
  node.t.turn();
  assert(node.store.safeBatch < batch);
  node.disk.finishAll();
  assert(node.store.safeBatch >= batch);
});

Deno.test("a reject while no log file takes writes requeues at once, and counts", () => {
  const node = start(new MemoryDisk());
  const queue = node.t.queue("q", RETRY, { durable: true });
  const channel = new TestChannel();
  for (const body of ["1", "2"]) node.t.publish("q", body, PERSISTENT);
  settle(node);
  for (let i = 0; i < 2; i++) node.t.get(queue, channel);
  node.disk.quotaBytes = 0;
  // The batch that says what is out fails.
  settle(node);
  assert(node.store.isReadOnly);
  channel.unacked.reject(1, false, true, CAUSE_REJECT);
  channel.unacked.reject(2, false, true, CAUSE_REJECT);
  assertEquals([queue.readyCount, queue.delayedCount], [2, 0]);
  assertEquals(node.t.broker.metrics.retryStoreFailures, 2);
  node.disk.quotaBytes = Infinity;
  for (let i = 0; i < 5; i++) {
    node.t.turn(1000);
    node.disk.finishAll();
  }
  assertEquals(node.store.isReadOnly, false);
  const next = crash(node);
  assertEquals(next.t.vhost.queues.get("q")!.readyCount, 2);
});

Deno.test("FileStore begins at once to make safe what was declared and what was deleted", () => {
  const node = start(new MemoryDisk());
  settle(node);
  node.t.queue("q", {}, { durable: true });
  node.t.turn();
  assert(node.disk.pendingCount > 0);
  settle(node);
  assertEquals(node.disk.pendingCount, 0);
  const batch = node.store.openBatch;
  node.t.vhost.deleteQueue("q", { ifUnused: false, ifEmpty: false }, node.t.owner);
  node.t.turn();
  assertEquals([node.store.undefinitionBatch, node.store.safeBatch < batch], [batch, true]);
  node.disk.finishAll();
  assert(node.store.safeBatch >= batch);
});
