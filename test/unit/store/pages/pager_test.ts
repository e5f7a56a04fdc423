// Pager: when it may write pages, and when it tries again what the disk has refused.

import { assertEquals, assertGreater, assertLess } from "@std/assert";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { PagedNode, range } from "../support/paged_node.ts";

const RETRY_MS = 1000;

/** A node with more messages in memory than it may have, because the disk has refused a page. */
function refused(): { node: PagedNode; refusals: () => number } {
  const node = new PagedNode(new MemoryDisk());
  node.queue("q");
  let refusedCount = 0;
  node.disk.onOperation = ({ kind, path }) => {
    if (kind === "write" && path.startsWith("segment")) refusedCount++;
  };
  for (let times = 0; times < 1000; times++) node.disk.failNext("write", "EIO", "segment");
  node.publish("q", 0, 500);
  return { node, refusals: () => refusedCount };
}

Deno.test("Pager tries a page that the disk has refused again after a second, and not before", () => {
  const { node, refusals } = refused();
  assertEquals([refusals(), node.errors], [1, ["cannot write pages"]]);
  node.t.turn(RETRY_MS - 1);
  assertEquals(refusals(), 1);
  node.t.turn(1);
  assertEquals([refusals(), node.errors.length], [2, 1]);
  node.disk.clearFaults();
  node.t.turn(RETRY_MS);
  node.settle();
  assertLess(node.store.liveBytes, 16 * 1024);
  assertEquals(node.take("q", 1000), range(0, 500));
});

Deno.test("Pager writes nothing to a disk that is low, and goes on when it has room", () => {
  const disk = new MemoryDisk();
  const node = new PagedNode(disk, { freeBytesMin: 100_000 });
  node.queue("q", {}, false);
  disk.quotaBytes = 50_000;
  node.t.turn(RETRY_MS);
  for (let number = 0; number < 500; number++) node.t.publish("q", `${number}`.padStart(40), {});
  for (let turns = 0; turns < 10; turns++) node.settle();
  assertEquals(node.files("segment"), []);
  disk.quotaBytes = Infinity;
  node.t.turn(RETRY_MS);
  node.settle();
  assertGreater(node.files("segment").length, 0);
  assertLess(node.store.liveBytes, 16 * 1024);
});

/** Sizes of what is written to segment files from now on. */
function segmentWrites(disk: MemoryDisk): number[] {
  const sizes: number[] = [];
  const open = disk.open.bind(disk);
  disk.open = (path, mode) => {
    const handle = open(path, mode);
    if (!path.startsWith("segment") || mode === "read") return handle;
    const write = handle.write.bind(handle);
    handle.write = (bytes, start, end, offset) => {
      sizes.push(end - start);
      write(bytes, start, end, offset);
    };
    return handle;
  };
  return sizes;
}

/** Fills the memory of a node many times over within one turn. */
function flood(node: PagedNode, count: number, bodyBytes = 40): void {
  for (let number = 0; number < count; number++) {
    node.t.publish("q", `${number}`.padStart(bodyBytes, "."), {});
  }
}

Deno.test("Pager writes a bounded number of bytes in one go, whatever there is to write", () => {
  const disk = new MemoryDisk();
  const writes = segmentWrites(disk);
  const node = new PagedNode(disk, { sizes: { pagesInFlightBytes: 1024 * 1024 } });
  node.queue("q", {}, false);
  flood(node, 4000);
  node.settle();
  assertGreater(writes.length, 10);
  // A group ends with the stretch that makes it full.
  assertLess(Math.max(...writes), 8192 + 2048);
});

Deno.test("Pager writes a bounded number of messages in one go, however small they are", () => {
  const disk = new MemoryDisk();
  const writes = segmentWrites(disk);
  const sizes = { pagesInFlightBytes: 1024 * 1024, pageGroupBytes: 1024 * 1024 };
  const node = new PagedNode(disk, { sizes: { ...sizes, pageGroupMessages: 64 } });
  node.queue("q", {}, false);
  flood(node, 4000);
  node.settle();
  assertGreater(writes.length, 10);
  assertLess(Math.max(...writes), 80 * 120);
});

Deno.test("Pager divides messages among pages of the right size", () => {
  let node = new PagedNode(new MemoryDisk());
  node.queue("q");
  for (let number = 0; number < 400; number++) {
    node.t.publish("q", `${number}`.padStart(500, "."), { deliveryMode: 2 });
    if (number % 8 === 0) node.settle();
  }
  node.settle();
  const disk = node.disk.crash({ kind: "process" });
  const lengths: number[] = [];
  const open = disk.open.bind(disk);
  disk.open = (path, mode) => {
    const handle = open(path, mode);
    const read = handle.read.bind(handle);
    handle.read = (offset, length, done) => {
      if (path.startsWith("segment")) lengths.push(length);
      read(offset, length, done);
    };
    return handle;
  };
  node = new PagedNode(disk);
  assertEquals(node.take("q", 1000), range(0, 400));
  assertGreater(lengths.length, 50);
  // The rest of a page is its header.
  assertLess(Math.max(...lengths), 2048 + 64);
});

Deno.test("Pager enters a bounded number of messages in one turn when much is safe at once", () => {
  const MESSAGES_MAX = 2048;
  const node = new PagedNode(new MemoryDisk(), { sizes: { pagesInFlightBytes: 16 * 1024 * 1024 } });
  const queue = node.queue("q", {}, false);
  flood(node, 12_000);
  for (let turns = 0; turns < 10; turns++) node.t.turn();
  const recordBytes = node.store.liveBytes / queue.readyCount;
  assertGreater(node.store.liveBytes, 10_000 * recordBytes);
  node.disk.finishAll();
  let beforeBytes = node.store.liveBytes;
  let mostBytes = 0;
  for (let turns = 0; turns < 100; turns++) {
    node.t.broker.beginTurn(node.t.nowMs);
    node.t.broker.dispatch();
    node.t.broker.endTurn();
    mostBytes = Math.max(mostBytes, beforeBytes - node.store.liveBytes);
    beforeBytes = node.store.liveBytes;
  }
  assertLess(node.store.liveBytes, 16 * 1024);
  assertGreater(mostBytes, (MESSAGES_MAX / 2) * recordBytes);
  assertLess(mostBytes, (MESSAGES_MAX + 16) * recordBytes);
});
