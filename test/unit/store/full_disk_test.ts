// FileStore on a disk that gets full: publishers are to be blocked, and the room comes back when the
// messages have gone.

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { CAUSE_CLOSE } from "../../../src/broker/retry/rules.ts";
import { restoreBroker } from "../../../src/broker/recovery.ts";
import type { FileStore } from "../../../src/store/file_store.ts";
import type { StoreSizes } from "../../../src/store/folder/sizes.ts";
import { openStore } from "../../support/disk_store.ts";
import { MemoryDisk } from "../../support/memory_disk.ts";
import { TestBroker, TestChannel } from "../../support/test_broker.ts";

const KIB = 1024;
const SIZES: Partial<StoreSizes> = {
  // Nothing would be done for its size alone.
  snapshotLogBytes: 1024 * KIB * KIB,
  snapshotPieceBytes: 4 * KIB,
  moveGroupBytes: 4 * KIB,
  roomCheckBytes: 16 * KIB,
};

interface Node {
  t: TestBroker;
  store: FileStore;
  disk: MemoryDisk;
}

function start(
  logFileBytes: number,
  freeBytesMin = 300 * KIB,
  disk = new MemoryDisk(),
  sizes: Partial<StoreSizes> = {},
): Node {
  disk.quotaBytes = 1000 * KIB;
  const store = openStore(disk, {
    freeBytesMin,
    seed: 5,
    sizes: { ...SIZES, logFileBytes, ...sizes },
  });
  const t = new TestBroker({ store, nowMs: Math.max(1_000_000, store.recovered.lastTimeMs) });
  restoreBroker(t.broker, store);
  return { t, store, disk };
}

function settle({ t, disk }: Node, turns = 1): void {
  for (let i = 0; i < turns; i++) {
    t.turn(1000);
    disk.finishAll();
  }
}

/** Publishes until publishers would be blocked; how many messages that were. */
function fill(node: Node): number {
  const body = "x".repeat(8 * KIB);
  let count = 0;
  for (; node.t.broker.blockReason === null; count++) {
    assertLess(count, 200);
    node.t.publish("q", body, { deliveryMode: 2 });
    settle(node);
  }
  assertEquals(node.t.broker.blockReason, "low on disk");
  return count;
}

for (const logFileBytes of [64 * KIB, 8192 * KIB]) {
  Deno.test(`FileStore frees a full disk once the backlog has gone, log files of ${logFileBytes}`, () => {
    const node = start(logFileBytes);
    const queue = node.t.queue("q", {}, { durable: true });
    for (let round = 0; round < 3; round++) {
      const count = fill(node);
      assertGreater(count, 60);
      const channel = new TestChannel();
      for (let tag = 1; tag <= count; tag++) {
        assert(node.t.get(queue, channel) !== null);
        channel.unacked.ack(tag, false);
        settle(node);
      }
      settle(node, 20);
      assertEquals(node.t.broker.blockReason, null);
      assertLess(node.disk.usedBytes, 200 * KIB);
    }
  });
}

Deno.test("FileStore frees a full disk although a little of each file is still alive", () => {
  const node = start(64 * KIB);
  const queue = node.t.queue("q", {}, { durable: true });
  const count = fill(node);
  const channel = new TestChannel();
  for (let tag = 1; tag <= count; tag++) {
    assert(node.t.get(queue, channel) !== null);
    // Each file keeps one message.
    if (tag % 8 !== 0) channel.unacked.ack(tag, false);
    settle(node);
  }
  settle(node, 200);
  assertEquals(node.t.broker.blockReason, null);
});

/** Publishes until the disk takes no more; a number names each message. */
function overfill(node: Node): void {
  for (let number = 0; !node.store.isReadOnly; number++) {
    assertLess(number, 200);
    node.t.publish("q", `${number}`.padEnd(8 * KIB), { deliveryMode: 2 });
    settle(node);
  }
}

function takeAll(node: Node, keep: (body: string) => boolean = () => false): void {
  const queue = node.t.vhost.queues.get("q")!;
  const channel = new TestChannel();
  for (let tag = 1; queue.readyCount > 0; tag++) {
    let seen = node.t.get(queue, channel);
    for (; seen === null; seen = node.t.get(queue, channel)) settle(node);
    if (!keep(seen.body)) channel.unacked.ack(tag, false);
    settle(node);
  }
  channel.unacked.requeueAll(CAUSE_CLOSE, true);
  settle(node);
}

Deno.test("FileStore gets going again on a disk that one log file has filled, once it is drained", () => {
  const node = start(8192 * KIB, 0);
  node.t.queue("q", {}, { durable: true });
  for (let round = 0; round < 3; round++) {
    overfill(node);
    assertGreater(node.disk.usedBytes, 950 * KIB);
    takeAll(node);
    settle(node, 10);
    assertEquals(node.store.isReadOnly, false);
    assertLess(node.disk.usedBytes, 20 * KIB);
    node.t.publish("q", "more", { deliveryMode: 2 });
    settle(node);
    const after = start(8192 * KIB, 0, node.disk.crash({ kind: "process" }));
    assertEquals(after.t.vhost.queues.get("q")!.readyCount, 1);
    node.t = after.t;
    node.store = after.store;
    node.disk = after.disk;
    takeAll(node);
  }
});

Deno.test("FileStore that goes on after a full disk has the messages that were not drained", () => {
  const node = start(8192 * KIB, 0);
  node.t.queue("q", {}, { durable: true });
  overfill(node);
  takeAll(node, (body) => Number(body) < 5);
  settle(node, 10);
  assertEquals(node.store.isReadOnly, false);
  const after = start(8192 * KIB, 0, node.disk.crash({ kind: "process" }));
  const queue = after.t.vhost.queues.get("q")!;
  assertEquals(queue.readyCount, 5);
  const bodies: number[] = [];
  const channel = new TestChannel();
  for (let tag = 1; tag <= 5; tag++) {
    after.disk.finishAll();
    let seen = after.t.get(queue, channel);
    for (; seen === null; seen = after.t.get(queue, channel)) settle(after);
    bodies.push(Number(seen.body));
  }
  assertEquals(bodies, [0, 1, 2, 3, 4]);
});

const BLOCK_BYTES = 4 * KIB;

/** Somebody else takes all the room but so many blocks. */
function squeeze({ disk }: Node, blocks: number): void {
  const handle = disk.open("ballast", "create");
  const byteCount = disk.freeBytes() - blocks * BLOCK_BYTES;
  if (byteCount > 0) handle.write(new Uint8Array(byteCount), 0, byteCount, 0);
  handle.close();
}

for (const blocks of [0, 1, 2]) {
  for (const logFileBytes of [64 * KIB, 8192 * KIB]) {
    const what = `${blocks} blocks left, log files of ${logFileBytes}`;
    Deno.test(`FileStore gets going again on a full disk that gives room in blocks, ${what}`, () => {
      const disk = new MemoryDisk({ blockBytes: BLOCK_BYTES });
      const node = start(logFileBytes, 0, disk, { reserveBytes: 16 * KIB });
      node.t.queue("q", {}, { durable: true });
      for (let round = 0; round < 3; round++) {
        overfill(node);
        squeeze(node, blocks);
        takeAll(node);
        settle(node, 10);
        assertEquals(node.store.isReadOnly, false);
        assertEquals(node.t.broker.blockReason, null);
        node.t.publish("q", "more", { deliveryMode: 2 });
        settle(node);
        takeAll(node);
        node.disk.remove("ballast");
      }
    });
  }
}

Deno.test("FileStore that is started on a disk without room gets going again once it is drained", () => {
  const disk = new MemoryDisk({ blockBytes: BLOCK_BYTES });
  const node = start(8192 * KIB, 0, disk, { reserveBytes: 64 * KIB });
  node.t.queue("q", {}, { durable: true });
  overfill(node);
  squeeze(node, 0);
  takeAll(node, (body) => Number(body) < 100);
  const after = start(8192 * KIB, 0, node.disk.crash({ kind: "process" }), {
    reserveBytes: 64 * KIB,
  });
  takeAll(after);
  settle(after, 10);
  assertEquals(after.store.isReadOnly, false);
  assertEquals(after.t.vhost.queues.get("q")!.readyCount, 0);
});

Deno.test("FileStore blocks publishers where there is no room for its reserve, until there is", () => {
  const disk = new MemoryDisk({ blockBytes: BLOCK_BYTES });
  const ballast = disk.open("ballast", "create");
  ballast.write(new Uint8Array(992 * KIB), 0, 992 * KIB, 0);
  ballast.close();
  const node = start(64 * KIB, 0, disk, { reserveBytes: 16 * KIB });
  settle(node, 2);
  assertEquals(node.t.broker.blockReason, "low on disk");
  disk.remove("ballast");
  settle(node, 2);
  assertEquals(node.t.broker.blockReason, null);
});
