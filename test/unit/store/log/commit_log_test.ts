// CommitLog on a disk that refuses: what it writes again is whole, and is read back as it was.

import { assertEquals, assertGreater, assertLess } from "@std/assert";
import { restoreBroker } from "../../../../src/broker/recovery.ts";
import { Prng } from "../../../../src/lib/prng.ts";
import { FileStore } from "../../../../src/store/file_store.ts";
import { CommitLog } from "../../../../src/store/log/commit_log.ts";
import { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { DEFAULT_SIZES } from "../../../../src/store/folder/sizes.ts";
import { openStore } from "../../../support/disk_store.ts";
import { type Crash, MemoryDisk } from "../../../support/memory_disk.ts";
import { TestBroker, TestChannel } from "../../../support/test_broker.ts";
import { bodies, refusedFirst } from "../support/guard_scenarios.ts";

const PERSISTENT = { deliveryMode: 2 };

// By default each batch fills a log file.
function start(
  disk: MemoryDisk,
  logFileBytes = 50,
): { t: TestBroker; store: FileStore; disk: MemoryDisk } {
  const store = openStore(disk, { sizes: { logFileBytes } });
  const t = new TestBroker({ store, nowMs: Math.max(1_000_000, store.recovered.lastTimeMs) });
  restoreBroker(t.broker, store);
  return { t, store, disk };
}

const crashes: Crash[] = [{ kind: "process" }, { kind: "power", prng: new Prng(7) }];
for (const crash of crashes) {
  Deno.test(`CommitLog loses nothing when no fresh file is to be had at first (${crash.kind} ends)`, () => {
    refusedFirst(crash);
  });
}

// A publish every second turn.
function publishSparsely(t: TestBroker, store: FileStore, count: number): number[] {
  const batches: number[] = [];
  for (let index = 0; index < count; index++) {
    batches.push(store.openBatch);
    t.publish("q", `${index}`, PERSISTENT);
    t.turn();
    t.turn();
  }
  return batches;
}

Deno.test("CommitLog.isFailed() tells every batch that a failed sync has lost, however many they are", () => {
  const { t, store, disk } = start(new MemoryDisk(), 1 << 20);
  t.queue("q", {}, { durable: true });
  t.turn();
  disk.finishAll();
  disk.failNext("sync", "EIO", "log-");
  disk.failNext("rename", "EIO", "log-");
  const batches = publishSparsely(t, store, 100);
  disk.finish();
  assertEquals(store.isReadOnly, true);
  assertEquals(batches.filter((batch) => batch <= store.safeBatch), batches);
  assertEquals(batches.filter((batch) => !store.isFailed(batch)), []);
});

Deno.test("FileStore.memoryBytes counts what a slow disk has not taken yet", () => {
  const { t, store, disk } = start(new MemoryDisk(), 1 << 30);
  const queue = t.queue("q", {}, { durable: true });
  t.turn();
  disk.finishAll();
  const body = "x".repeat(100_000);
  const beforeBytes = store.memoryBytes;
  const channel = new TestChannel();
  for (let number = 1; number <= 200; number++) {
    t.publish("q", body, PERSISTENT);
    t.get(queue, channel);
    channel.unacked.ack(number, false);
    t.turn();
  }
  assertGreater(store.memoryBytes, beforeBytes + 200 * body.length);
  disk.finishAll();
  t.turn();
  disk.finishAll();
  assertLess(store.memoryBytes, beforeBytes + 100 * body.length);
});

Deno.test("CommitLog makes the batches of a failed sync safe in a fresh file, and confirms what follows", () => {
  const { t, store, disk } = start(new MemoryDisk(), 1 << 20);
  t.queue("q", {}, { durable: true });
  t.turn();
  disk.finishAll();
  const first = store.openBatch;
  t.publish("q", "a", PERSISTENT);
  store.wantSync();
  disk.failNext("sync", "EIO", "log-");
  t.turn();
  disk.finish(1);
  assertLess(store.safeBatch, first);
  assertEquals(store.isReadOnly, false);
  disk.finishAll();
  assertEquals([store.safeBatch >= first, store.isFailed(first)], [true, false]);
  const second = store.openBatch;
  t.publish("q", "b", PERSISTENT);
  store.wantSync();
  t.turn();
  disk.finishAll();
  assertEquals([store.storedBatch >= second, store.isFailed(second)], [true, false]);
  const next = start(disk.crash({ kind: "power", prng: new Prng(3) }));
  assertEquals(bodies(next, "q"), ["a", "b"]);
});

Deno.test("CommitLog syncs what nobody waits for within half a second", () => {
  const { t, store, disk } = start(new MemoryDisk(), 1 << 20);
  const queue = t.queue("q", {}, { durable: true });
  t.publish("q", "a", PERSISTENT);
  store.wantSync();
  t.turn();
  disk.finishAll();
  const channel = new TestChannel();
  t.get(queue, channel);
  channel.unacked.ack(1, false);
  const batch = store.openBatch;
  t.turn();
  t.turn(499);
  assertEquals([disk.pendingCount, store.storedBatch < batch], [0, true]);
  t.turn(1);
  assertGreater(disk.pendingCount, 0);
  disk.finishAll();
  assertEquals(store.storedBatch >= batch, true);
});

for (const seed of [1, 2, 3, 4]) {
  Deno.test(`FileStore.close() makes all files safe before it ends, power loss ${seed}`, async () => {
    // Each batch fills a file, and none of the files is safe.
    const { t, store, disk } = start(new MemoryDisk());
    t.queue("q", {}, { durable: true });
    const wanted = ["a", "b", "c", "d"];
    for (const body of wanted) {
      t.publish("q", body, PERSISTENT);
      t.turn();
    }
    let end = "open";
    const closed = store.close(t.nowMs).then(() => end = "closed");
    await Promise.resolve();
    assertEquals(end, "open");
    disk.finishAll();
    await closed;
    assertEquals(disk.openCount, 0);
    const next = start(disk.crash({ kind: "power", prng: new Prng(seed) }));
    assertEquals(next.store.recovered.damages, []);
    assertEquals(bodies(next, "q"), wanted);
  });
}

Deno.test("FileStore.close() fails when one of its files cannot be made safe", async () => {
  const { t, store, disk } = start(new MemoryDisk());
  t.queue("q", {}, { durable: true });
  t.publish("q", "a", PERSISTENT);
  t.turn();
  t.publish("q", "b", PERSISTENT);
  disk.failNext("sync", "EIO", "log-");
  const ended = store.close(t.nowMs).then(() => "safe", (error) => error.code);
  disk.finishAll();
  assertEquals([await ended, disk.openCount], ["EIO", 0]);
});

Deno.test("CommitLog.rotate() begins a file behind what was written, and none behind nothing", () => {
  const disk = new MemoryDisk();
  const files = new DataFiles(disk);
  const nothing = () => {};
  const log = new CommitLog({
    files,
    listener: {
      wake: nothing,
      relocated: nothing,
      failed: nothing,
      broken: nothing,
      repaired: nothing,
    },
    seed: 1,
    isSynced: true,
    openBatch: 1,
    lastBatch: 0,
    sizes: DEFAULT_SIZES,
  });
  const names = () => files.ofKind("log").map(({ number }) => number);
  log.rotate(0);
  log.rotate(0);
  assertEquals(names(), [1]);
  log.batch.lastQueueId(1);
  // An entry of the open batch may name a place in its file.
  log.rotate(0);
  assertEquals(names(), [1]);
  log.commit(0);
  log.rotate(0);
  log.rotate(0);
  assertEquals([names(), log.file.number], [[1, 2], 2]);
  // The first file stays open until it is safe.
  assertEquals(disk.openCount, 2);
  log.wantSync();
  log.commit(500);
  disk.finishAll();
  assertEquals([disk.openCount, log.storedBatch], [1, 2]);
  log.abandon();
});
