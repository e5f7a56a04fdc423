// Keeper's housekeeping comes to an end: what it has once made smaller it leaves alone.

import { assert, assertEquals } from "@std/assert";
import { FileStore } from "../../../../src/store/file_store.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestBroker, TestChannel } from "../../../support/test_broker.ts";

function start(disk: MemoryDisk, moveGroupRecords: number): TestBroker {
  const store = FileStore.open({
    fs: disk,
    logger: { log() {} },
    isSynced: true,
    freeBytesMin: 0,
    residentBytesMax: Infinity,
    seed: 12345,
    sizes: {
      logFileBytes: 2048,
      snapshotLogBytes: 4096,
      segmentFileBytes: 512,
      moveGroupBytes: 512,
      moveGroupRecords,
      moveSlackBytes: 0,
    },
  });
  return new TestBroker({ store });
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

for (const moveGroupRecords of [1, 3, 100]) {
  Deno.test(`Keeper moves tiny messages once, ${moveGroupRecords} in one go, and rests`, () => {
    const disk = new MemoryDisk();
    const t = start(disk, moveGroupRecords);
    const queue = t.queue("q", {}, { durable: true });
    const channel = new TestChannel();
    for (let number = 1; number <= 400; number++) {
      t.publish("q", `${number}`, { deliveryMode: 2 });
      // One in ten stays, so that each file is nearly dead and not quite.
      if (t.get(queue, channel) !== null && number % 10 !== 0) {
        channel.unacked.ack(number, false);
      }
      t.turn();
      disk.finishAll();
    }
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
