// The shortest sequences of commands and faults that once found what a guard of the store prevents. Each
// throws when something is wrong at its end. guards_test.ts runs them with the guard and without it.

import { assert, assertEquals } from "@std/assert";
import { restoreBroker } from "../../../../src/broker/recovery.ts";
import { Prng } from "../../../../src/lib/prng.ts";
import type { FileStore } from "../../../../src/store/file_store.ts";
import { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { Rescue, type RescueParts } from "../../../../src/store/upkeep/rescue.ts";
import { Reserve } from "../../../../src/store/upkeep/reserve.ts";
import { DEFAULT_SIZES, type StoreSizes } from "../../../../src/store/folder/sizes.ts";
import { openStore } from "../../../support/disk_store.ts";
import { type Crash, MemoryDisk } from "../../../support/memory_disk.ts";
import { TestBroker, TestChannel } from "../../../support/test_broker.ts";
import { numberOf, PagedNode, PERSISTENT } from "./paged_node.ts";

interface Node {
  t: TestBroker;
  store: FileStore;
  disk: MemoryDisk;
}

function start(disk: MemoryDisk, sizes: Partial<StoreSizes> = {}): Node {
  const store = openStore(disk, { sizes });
  const t = new TestBroker({ store, nowMs: Math.max(1_000_000, store.recovered.lastTimeMs) });
  restoreBroker(t.broker, store);
  return { t, store, disk };
}

const SMALL_FILES: Partial<StoreSizes> = {
  logFileBytes: 2048,
  snapshotLogBytes: 4096,
  segmentFileBytes: 512,
  moveGroupBytes: 512,
  moveSlackBytes: 0,
  moveGroupRecords: 1,
};

/** Tiny messages of which one in ten stays, so that each file is nearly dead and not quite. */
function fillFiles({ t, disk }: Node): void {
  const queue = t.queue("q", {}, { durable: true });
  const channel = new TestChannel();
  for (let number = 1; number <= 400; number++) {
    t.publish("q", `${number}`, PERSISTENT);
    if (t.get(queue, channel) !== null && number % 10 !== 0) channel.unacked.ack(number, false);
    t.turn();
    disk.finishAll();
  }
}

/** All that a queue gives, read from the disk where it has to be. */
export function bodies({ t, disk }: Pick<Node, "t" | "disk">, name: string): string[] {
  const queue = t.vhost.queues.get(name)!;
  const channel = new TestChannel();
  const found: string[] = [];
  while (queue.readyCount > 0) {
    const seen = t.get(queue, channel);
    if (seen !== null) found.push(seen.body);
    else if (disk.finishAll() === 0) throw new Error("the queue never gives its message");
  }
  return found;
}

/** Turns until nothing happens any more. */
function comeToRest({ t, disk }: Node): void {
  for (let turns = 0; turns < 300; turns++) {
    t.turn();
    if (disk.finishAll() === 0 && !t.broker.hasMoreWork) return;
  }
  throw new Error("the node never comes to rest");
}

/** Tiny messages are moved once. */
export function tinyMessages(): void {
  const node = start(new MemoryDisk(), SMALL_FILES);
  fillFiles(node);
  comeToRest(node);
  const before = node.disk.paths();
  for (let turns = 0; turns < 50; turns++) {
    node.t.turn(1000);
    node.disk.finishAll();
  }
  const segments = (paths: string[]) => paths.filter((path) => path.startsWith("segment"));
  assertEquals(segments(node.disk.paths()), segments(before));
}

/** The disk takes no segment: each move is tried once. */
export function refusedMoves(): void {
  const node = start(new MemoryDisk(), { ...SMALL_FILES, moveGroupRecords: 100 });
  for (let times = 0; times < 10_000; times++) node.disk.failNext("write", "EIO", "segment-");
  fillFiles(node);
  comeToRest(node);
}

/** One log file cannot be synced and no fresh one be had at first; those behind it could be. */
export function refusedFirst(crash: Crash = { kind: "process" }): void {
  const { t, store, disk } = start(new MemoryDisk(), { logFileBytes: 50 });
  t.queue("q", {}, { durable: true });
  t.turn();
  disk.finishAll();
  disk.failNext("sync", "EIO", "log-");
  disk.failNext("rename", "EIO", "log-");
  for (const body of ["a", "b", "c"]) {
    t.publish("q", body, PERSISTENT);
    t.turn();
  }
  disk.finishAll();
  assertEquals(store.isReadOnly, true);
  for (let turns = 0; turns < 5; turns++) {
    t.turn(100);
    disk.finishAll();
  }
  assertEquals(store.isReadOnly, false);
  t.publish("q", "d", PERSISTENT);
  t.turn();
  disk.finishAll();
  const next = start(disk.crash(crash));
  assertEquals(next.store.recovered.damages, []);
  assertEquals(bodies(next, "q"), ["a", "b", "c", "d"]);
}

/** What needs no disk comes behind what waits for it. */
export function mootBatch(): void {
  const node = new PagedNode(new MemoryDisk());
  for (const name of ["q", "other"]) node.queue(name);
  node.t.consume(node.find("q"), new TestChannel(), { noAck: true });
  node.settle();
  node.t.publish("other", "1", PERSISTENT);
  node.store.wantSync();
  node.t.turn();
  const batch = node.store.openBatch;
  const before = node.store.loggedBytes;
  node.t.publish("q", "2", PERSISTENT);
  node.t.turn();
  assert(node.store.safeBatch < batch);
  assert(node.store.loggedBytes > before);
}

/** The parts of a rescue of an empty store, whose open batch is empty or not. */
export function rescueParts(disk: MemoryDisk, batch: { isEmpty: boolean }): RescueParts {
  const none = () => [].values();
  const parts: unknown = {
    files: new DataFiles(disk),
    log: {
      batch,
      unsafeRanges: () => new Map(),
      lastBatch: 3,
      openBatch: 4,
      file: { number: 1 },
      isRepairHeld: false,
    },
    holdings: { count: 0, refEnd: 1 },
    pages: { count: 0 },
    discards: { isBusy: false },
    sizes: DEFAULT_SIZES,
    source: {
      definitions: none,
      lastPositions: none,
      pages: none,
      lastQueueId: () => 1,
      refEnd: 1,
      rowsOf() {},
    },
    reserve: new Reserve(disk, 0),
    seed: 1,
    wake() {},
    finish: () => true,
    drop() {},
  };
  return parts as RescueParts;
}

/** No log file takes writes, and the batch that is open says something already. */
export function openBatchAtRescue(): void {
  const disk = new MemoryDisk();
  new Rescue(rescueParts(disk, { isEmpty: false })).step(0);
  assertEquals(disk.paths(), []);
}

/** The manifest names a snapshot in place of the log, though not for sure. */
export function unsureManifest(crash: Crash = { kind: "process" }): void {
  const node = new PagedNode(new MemoryDisk());
  node.queue("q");
  node.publish("q", 0, 4);
  node.disk.failNext("write", "EIO", "log-");
  assertEquals(numberOf(node.get("q", new TestChannel())!), 0);
  node.t.turn(1);
  node.disk.failNext("syncFolder", "EIO", "");
  for (let turns = 0; turns < 10; turns++) {
    node.t.turn(1);
    node.disk.finish();
  }
  assert(node.errors.includes("cannot replace the manifest"), node.errors.join());
  node.settle();
  const next = node.crash(crash);
  assertEquals([next.find("q").readyCount, next.store.recovered.damages], [4, []]);
}

/** A start finds a log file whose name is not safe, and has no room to write its batches again. */
export function unsafeName(): void {
  const { t, disk } = start(new MemoryDisk());
  t.queue("q", {}, { durable: true });
  t.publish("q", "a", PERSISTENT);
  t.turn();
  const full = disk.crash({ kind: "process" });
  full.quotaBytes = full.usedBytes;
  assertEquals(start(full).t.vhost.queues.get("q")!.readyCount, 1);
  for (let seed = 1; seed <= 10; seed++) {
    const { t: next } = start(full.crash({ kind: "power", prng: new Prng(seed) }));
    assertEquals(next.vhost.queues.get("q")?.readyCount, 1);
  }
}
