// checkStore(): what it says of whole and of damaged folders, and that it changes nothing.

import { assertEquals, assertLess, assertMatch, assertThrows } from "@std/assert";
import { restoreBroker } from "../../../../src/broker/recovery.ts";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { DiskError } from "../../../../src/store/file_system.ts";
import { checkStore } from "../../../../src/store/recovery/folder_check.ts";
import type { StoreSizes } from "../../../../src/store/folder/sizes.ts";
import { StoreFormatError } from "../../../../src/store/folder/manifest.ts";
import { ReadOnlyFileSystem } from "../../../../src/store/read_only_file_system.ts";
import { openStore } from "../../../support/disk_store.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestBroker, TestChannel } from "../../../support/test_broker.ts";
import { PagedNode } from "../support/paged_node.ts";

const PERSISTENT = { deliveryMode: 2 };
const LOG = "log-00000001";

interface Node {
  t: TestBroker;
  disk: MemoryDisk;
}

function start(disk: MemoryDisk, sizes: Partial<StoreSizes> = {}): Node {
  const store = openStore(disk, { seed: 7, sizes });
  const t = new TestBroker({ store });
  restoreBroker(t.broker, store);
  return { t, disk };
}

/** Runs a few turns, with every sync at its end, and ends the node. */
function end({ t, disk }: Node): MemoryDisk {
  for (let turns = 0; turns < 20; turns++) {
    t.turn();
    disk.finishAll();
  }
  return disk.crash({ kind: "process" });
}

/** A disk with a queue of one ready, one delayed and one delivered message, and a second queue. */
function filledDisk(sizes: Partial<StoreSizes> = {}): MemoryDisk {
  const node = start(new MemoryDisk(), sizes);
  const { t } = node;
  const queue = t.queue("work", { "x-delayed-retry-min": 1000 }, { durable: true });
  t.queue("empty", {}, { durable: true });
  t.turn();
  for (const body of ["one", "two", "three"]) t.publish("work", body, PERSISTENT);
  const channel = new TestChannel();
  for (let i = 0; i < 2; i++) t.get(queue, channel);
  channel.unacked.reject(1, false, true, CAUSE_REJECT);
  return end(node);
}

/** Checks a disk and asserts that nothing on it has changed. */
function check(disk: MemoryDisk): ReturnType<typeof checkStore> {
  const contents = () => disk.paths().map((path) => [path, disk.contentOf(path)]);
  const before = contents();
  const report = checkStore(new ReadOnlyFileSystem(disk));
  assertEquals(contents(), before);
  assertEquals(disk.openCount, 0);
  return report;
}

/** Turns over a bit of `text` in the last data file that has it, which is where it counts; says in which. */
function flip(disk: MemoryDisk, text: string): string {
  for (const path of disk.paths().reverse()) {
    const at = new TextDecoder("latin1").decode(disk.contentOf(path)!).indexOf(text);
    if (at < 0) continue;
    disk.flip(path, at, 3);
    return path;
  }
  throw new Error(`no file holds ${text}`);
}

Deno.test("checkStore() counts messages on their way to the dead-letter exchange apart", () => {
  const disk = new MemoryDisk();
  const store = openStore(disk, { seed: 7 });
  const t = new TestBroker({ store });
  restoreBroker(t.broker, store);
  const queue = t.queue("work", {}, { durable: true });
  for (const body of ["one", "two"]) t.publish("work", body, PERSISTENT);
  const { lane } = queue.ready;
  lane.head({ readArrived() {}, readFailed() {} });
  const death = { reason: "rejected", entry: 1 } as const;
  store.entries.dying(queue.id, lane.headPosition, lane.headRef, death);
  const { ready, dying } = check(end({ t, disk })).queues[0]!;
  assertEquals([ready, dying], [1, 1]);
});

Deno.test("checkStore() counts what a folder holds", () => {
  const report = check(filledDisk());
  assertEquals(report.queues, [
    { vhost: "/", name: "work", ready: 1, delayed: 1, out: 1, dying: 0, bodyBytes: 11 },
    { vhost: "/", name: "empty", ready: 0, delayed: 0, out: 0, dying: 0, bodyBytes: 0 },
  ]);
  assertEquals(report.definitions, { exchange: 0, queue: 2, binding: 0, deleted: 0 });
  assertEquals(report.checkedCount, 3);
  assertEquals([report.damages, report.cuts], [[], []]);
  assertEquals(report.files[0]!.fileCount, 1);
});

Deno.test("checkStore() reports a torn end and leaves it there", () => {
  const disk = filledDisk();
  const handle = disk.open(LOG, "readwrite");
  const end = handle.byteLength;
  handle.write(new Uint8Array(20).fill(0x52), 0, 20, end);
  handle.close();
  const report = check(disk);
  assertEquals(report.damages, []);
  assertEquals([report.cuts.length, report.cuts[0]!.file, report.cuts[0]!.offset], [1, LOG, end]);
});

Deno.test("checkStore() finds a flipped bit with its file and position", () => {
  const node = start(filledDisk());
  // A batch behind it says that the damaged one was safe.
  node.t.queue("later", {}, { durable: true });
  const disk = end(node);
  const file = flip(disk, "two");
  const report = check(disk);
  assertEquals(report.damages[0]!.file, file);
  assertMatch(report.damages[0]!.what, /^an end of \d+ bytes does not check$/);
  assertEquals(report.queues.map(({ name }) => name), ["work", "empty", "later"]);
  assertEquals(report.queues[0]!.ready, 0);
});

/** A disk with a file of records whose batches are not read any more: a snapshot has taken over. */
function snapshotDisk(): MemoryDisk {
  const sizes = { logFileBytes: 1, snapshotLogBytes: 1 };
  const node = start(filledDisk(sizes), sizes);
  for (let i = 0; i < 3; i++) {
    node.t.queue(`later-${i}`, {}, { durable: true });
    node.t.turn();
    node.disk.finishAll();
  }
  return end(node);
}

Deno.test("checkStore() names each message that does not check in a file that has only those", () => {
  const disk = snapshotDisk();
  assertEquals(check(disk).damages, []);
  const file = flip(disk, "two");
  const { damages, queues } = check(disk);
  assertEquals(damages.map((damage) => [damage.file, damage.what]), [
    [file, "a message does not check"],
  ]);
  assertEquals(queues.find(({ name }) => name === "work")!.bodyBytes, 11);
});

Deno.test("checkStore() counts the messages of a file that is missing", () => {
  const disk = snapshotDisk();
  disk.remove(flip(disk, "two"));
  assertMatch(check(disk).damages[0]!.what, /^the file is missing, and 3 messages with it$/);
});

Deno.test("checkStore() says so when the last batch does not check", () => {
  const disk = filledDisk();
  flip(disk, "two");
  const { cuts, damages, queues } = check(disk);
  assertEquals([damages, cuts[0]!.file], [[], LOG]);
  assertEquals(queues[0]!.bodyBytes, 0);
});

Deno.test("checkStore() reads pages, too", () => {
  const node = new PagedNode(new MemoryDisk());
  node.queue("q");
  node.publish("q", 0, 600);
  node.take("q", 50);
  const disk = node.disk.crash({ kind: "process" });
  const report = check(disk);
  assertEquals([report.damages, report.checkedCount], [[], 550]);
  assertEquals(report.queues[0], {
    vhost: "/",
    name: "q",
    ready: 550,
    delayed: 0,
    out: 0,
    dying: 0,
    bodyBytes: 550 * 40,
  });
  const file = flip(disk, ".300");
  assertMatch(file, /^segment-/);
  const { damages } = check(disk);
  assertEquals(damages.map((damage) => damage.file), [file]);
  assertMatch(damages[0]!.what, /^the message at position \d+ does not check$/);
});

Deno.test("checkStore() refuses what is no data folder of this format", () => {
  assertThrows(() => check(new MemoryDisk()), StoreFormatError, "no manifest");
});

Deno.test("ReadOnlyFileSystem refuses every change", () => {
  const disk = filledDisk();
  const fs = new ReadOnlyFileSystem(disk);
  const refused = [
    () => fs.open("new", "create"),
    () => fs.makeFolder("folder"),
    () => fs.removeFolder("folder"),
    () => fs.rename("MANIFEST"),
    () => fs.open(LOG, "readwrite").write(new Uint8Array(1), 0, 1, 0),
  ];
  for (const act of refused) {
    assertEquals(assertThrows(act, DiskError).code, "EROFS");
  }
  fs.remove();
  fs.open(LOG, "readwrite").truncate(0);
  assertEquals(disk.contentOf(LOG)!.length > 0, true);
});

Deno.test("checkStore() reads a file about once, however much of it is damaged", () => {
  const sizes = { logFileBytes: 400_000, snapshotLogBytes: 400_000 };
  const node = start(new MemoryDisk(), sizes);
  node.t.queue("q", {}, { durable: true });
  for (let number = 0; number < 400; number++) {
    node.t.publish("q", `number ${number} ${"x".repeat(1000)}`, PERSISTENT);
    node.t.turn();
    node.disk.finishAll();
  }
  const disk = end(node);
  const wholeBytes = bytesReadBy(disk);
  for (let number = 0; number < 300; number++) flip(disk, `number ${number} x`);
  assertEquals(check(disk).damages.length, 300);
  assertLess(bytesReadBy(disk), wholeBytes + 2 * disk.contentOf(LOG)!.length);
});

function bytesReadBy(disk: MemoryDisk): number {
  let byteCount = 0;
  const fs = new ReadOnlyFileSystem(disk);
  const open = fs.open.bind(fs);
  fs.open = (path, mode) => {
    const handle = open(path, mode);
    const readNow = handle.readNow.bind(handle);
    handle.readNow = (offset, length) => {
      const bytes = readNow(offset, length);
      byteCount += bytes.length;
      return bytes;
    };
    return handle;
  };
  checkStore(fs);
  return byteCount;
}
