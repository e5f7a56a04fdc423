// Keeper's housekeeping comes to an end: what it has once made smaller it leaves alone.

import { assert, assertEquals } from "@std/assert";
import { restoreBroker } from "../../../../src/broker/recovery.ts";
import type { StoreSizes } from "../../../../src/store/folder/sizes.ts";
import { openStore } from "../../../support/disk_store.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestBroker, TestChannel } from "../../../support/test_broker.ts";
import { PagedNode, range } from "../support/paged_node.ts";

function start(
  disk: MemoryDisk,
  moved: Partial<StoreSizes> = {},
  logs: string[] = [],
): TestBroker {
  const store = openStore(disk, {
    logger: {
      log: (_level, message, fields) => void logs.push(`${message}: ${fields?.["error"]}`),
    },
    sizes: {
      logFileBytes: 2048,
      snapshotLogBytes: 4096,
      segmentFileBytes: 512,
      moveGroupBytes: 512,
      moveSlackBytes: 0,
      ...moved,
    },
  });
  const t = new TestBroker({ store, nowMs: Math.max(1_000_000, store.recovered.lastTimeMs) });
  restoreBroker(t.broker, store);
  return t;
}

function segmentsOf(disk: MemoryDisk): string[] {
  return disk.paths().filter((path) => path.startsWith("segment"));
}

/** Turns until nothing happens any more; false when that never comes. */
function comesToRest(t: TestBroker, disk: MemoryDisk): boolean {
  for (let turns = 0; turns < 300; turns++) {
    t.turn();
    if (disk.finishAll() === 0 && !t.broker.hasMoreWork) return true;
  }
  return false;
}

/** Publishes tiny messages of which one in ten stays, so that each file is nearly dead and not quite. */
function fill(t: TestBroker, disk: MemoryDisk): void {
  const queue = t.queue("q", {}, { durable: true });
  const channel = new TestChannel();
  for (let number = 1; number <= 400; number++) {
    t.publish("q", `${number}`, { deliveryMode: 2 });
    if (t.get(queue, channel) !== null && number % 10 !== 0) channel.unacked.ack(number, false);
    t.turn();
    disk.finishAll();
  }
}

for (const moveGroupRecords of [1, 3, 100]) {
  Deno.test(`Keeper moves tiny messages once, ${moveGroupRecords} in one go, and rests`, () => {
    const disk = new MemoryDisk();
    const t = start(disk, { moveGroupRecords });
    fill(t, disk);
    assert(comesToRest(t, disk));
    const before = segmentsOf(disk);
    assert(before.length > 0);
    for (let turns = 0; turns < 50; turns++) {
      t.turn(1000);
      disk.finishAll();
    }
    assertEquals(segmentsOf(disk), before);
  });
}

Deno.test("Keeper does not repeat at once a move that the disk refuses", () => {
  const disk = new MemoryDisk();
  const t = start(disk);
  let writeCount = 0;
  disk.onOperation = ({ kind, path }) => {
    if (kind === "write" && path.startsWith("segment")) writeCount++;
  };
  for (let times = 0; times < 10_000; times++) disk.failNext("write", "EIO", "segment-");
  fill(t, disk);
  assert(comesToRest(t, disk));
  assert(writeCount > 0);
  const fileCount = disk.paths().length;
  assert(writeCount <= 2 * fileCount, `${writeCount} writes for ${fileCount} files`);
  disk.clearFaults();
  t.turn(60_000);
  assert(comesToRest(t, disk));
  assert(disk.paths().length < fileCount / 2);
});

Deno.test("Keeper does not repeat at once a move of records that cannot be read", () => {
  let disk = new MemoryDisk();
  fill(start(disk, { moveSlackBytes: 1024 * 1024 }), disk);
  disk = disk.crash({ kind: "process" });
  const t = start(disk);
  let readCount = 0;
  disk.onOperation = ({ kind }) => void (kind === "read" && readCount++);
  for (let times = 0; times < 10_000; times++) disk.failNext("read", "EIO");
  assert(comesToRest(t, disk));
  // Each of the messages once.
  assert(readCount > 0 && readCount <= 45, `${readCount} reads`);
  const before = disk.usedBytes;
  disk.clearFaults();
  t.turn(60_000);
  assert(comesToRest(t, disk));
  assert(disk.usedBytes < before / 2);
});

for (const moveGroupRecords of [1, 100]) {
  Deno.test(`Keeper waits for ${moveGroupRecords} records that are read slowly, and moves them`, () => {
    let disk = new MemoryDisk();
    fill(start(disk, { moveSlackBytes: 1024 * 1024 }), disk);
    disk = disk.crash({ kind: "process" });
    const t = start(disk, { moveGroupRecords });
    const before = disk.usedBytes;
    // Several turns pass before each read ends, and no time, so that nothing is tried twice.
    for (let rounds = 0; rounds < 300; rounds++) {
      for (let turns = 0; turns < 3; turns++) t.turn();
      disk.finishAll();
    }
    assert(disk.usedBytes < before / 2, `${disk.usedBytes} of ${before} bytes`);
  });
}

Deno.test("Keeper removes a file in the end that the disk refused to remove at first", () => {
  const disk = new MemoryDisk();
  const t = start(disk);
  for (let times = 0; times < 10_000; times++) disk.failNext("remove", "EIO", "log-");
  fill(t, disk);
  assert(comesToRest(t, disk));
  const before = disk.paths().length;
  disk.clearFaults();
  t.turn(10_000);
  assert(comesToRest(t, disk));
  assert(disk.paths().length < before / 2, `${disk.paths().length} of ${before} files`);
});

Deno.test("Keeper says that the disk refuses a snapshot, and writes it later", () => {
  const disk = new MemoryDisk();
  const logs: string[] = [];
  const t = start(disk, {}, logs);
  const snapshots = () => disk.paths().filter((path) => path.startsWith("snapshot"));
  disk.failNext("write", "EIO", "snapshot-");
  fill(t, disk);
  const line = logs.find((text) => text.startsWith("cannot write a snapshot: "));
  assert(line?.includes("EIO"), logs.join("\n"));
  t.turn(60_000);
  assert(comesToRest(t, disk));
  assertEquals(snapshots().length, 1);
});

Deno.test("Keeper does not repeat at once a move of pages that the disk refuses", () => {
  const node = new PagedNode(new MemoryDisk(), { sizes: { moveSlackBytes: 4096 } });
  const names = ["a", "b", "c", "d"];
  for (const name of names) node.queue(name);
  for (let number = 0; number < 400; number++) {
    for (const name of names) node.publish(name, number, 1);
  }
  let writeCount = 0;
  node.disk.onOperation = ({ kind, path }) => {
    if (kind === "write" && path.startsWith("segment")) writeCount++;
  };
  for (let times = 0; times < 10_000; times++) node.disk.failNext("write", "EIO", "segment-");
  const fileCount = node.files("segment").length;
  for (const name of names.slice(1)) assertEquals(node.take(name, 1000), range(0, 400));
  for (let turns = 0; turns < 300; turns++) {
    node.t.turn();
    node.disk.finishAll();
  }
  assert(writeCount > 0 && writeCount <= 4 * fileCount, `${writeCount} writes, ${fileCount} files`);
  node.disk.clearFaults();
  node.t.turn(60_000);
  for (let turns = 0; turns < 100; turns++) node.settle();
  assert(node.files("segment").length < fileCount, `${node.files("segment").length} files`);
  assertEquals(node.take("a", 1000), range(0, 400));
});

/** A node whose snapshot is written as a whole and not yet safe, as little as its log. */
function withUnsafeSnapshot(): { disk: MemoryDisk; t: TestBroker; manifest: () => string } {
  const disk = new MemoryDisk();
  const t = start(disk, { moveSlackBytes: 1 << 20 });
  const queue = t.queue("q", {}, { durable: true });
  const channel = new TestChannel();
  const isThere = () => disk.paths().some((path) => path.startsWith("snapshot"));
  for (let number = 1; number <= 400 && !isThere(); number++) {
    t.publish("q", `${number}`, { deliveryMode: 2 });
    if (t.get(queue, channel) !== null) channel.unacked.ack(number, false);
    t.turn();
    if (!isThere()) disk.finishAll();
  }
  assert(isThere());
  for (let turns = 0; turns < 30; turns++) t.turn();
  return { disk, t, manifest: () => new TextDecoder().decode(disk.contentOf("MANIFEST")) };
}

Deno.test("Keeper has the manifest name a snapshot only when it is safe, and the log with it", () => {
  const count = withUnsafeSnapshot().disk.pendingCount;
  assert(count >= 3, `${count} operations`);
  for (let late = 0; late < count; late++) {
    const { disk, t, manifest } = withUnsafeSnapshot();
    const before = manifest();
    // All but one of them end.
    for (let left = count; left > late + 1; left--) disk.finishAt(late + 1);
    for (let left = late; left > 0; left--) disk.finishAt(0);
    for (let turns = 0; turns < 3; turns++) t.turn();
    assertEquals(manifest(), before);
    assert(comesToRest(t, disk));
    assert(manifest() !== before);
  }
});
