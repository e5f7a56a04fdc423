// FileStore on a disk that gets full: publishers are to be blocked, and the room comes back when the
// messages have gone.

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { restoreBroker } from "../../../src/broker/recovery.ts";
import type { FileStore } from "../../../src/store/file_store.ts";
import type { StoreSizes } from "../../../src/store/log/sizes.ts";
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

function start(logFileBytes: number): Node {
  const disk = new MemoryDisk();
  disk.quotaBytes = 1000 * KIB;
  const store = openStore(disk, {
    freeBytesMin: 300 * KIB,
    seed: 5,
    sizes: { ...SIZES, logFileBytes },
  });
  const t = new TestBroker({ store });
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
