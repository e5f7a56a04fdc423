// A bit that turns over in a snapshot costs the few messages whose rows it hits, whatever it hits: queues,
// pages and all other messages stay.

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { restoreBroker } from "../../../../src/broker/recovery.ts";
import type { StoreSizes } from "../../../../src/store/folder/sizes.ts";
import { openStore } from "../../../support/disk_store.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestBroker } from "../../../support/test_broker.ts";

const MESSAGES = 4500;
const FLIPS = 150;
// A row takes at least some twenty bytes of the 512 of a batch.
const LOST_MAX = 30;

interface Node {
  t: TestBroker;
  disk: MemoryDisk;
}

function start(disk: MemoryDisk, residentBytesMax: number): Node {
  const sizes: Partial<StoreSizes> = {
    logFileBytes: 64 * 1024,
    snapshotLogBytes: 200 * 1024,
    laneFirstSlots: 16,
    laneSlots: 64,
    pageBytes: 8 * 1024,
  };
  const store = openStore(disk, { residentBytesMax, sizes });
  const t = new TestBroker({ store, nowMs: Math.max(1_000_000, store.recovered.lastTimeMs) });
  restoreBroker(t.broker, store);
  return { t, disk };
}

/** A folder whose snapshot has nearly all of the messages. */
function filledDisk(residentBytesMax: number): MemoryDisk {
  const { t, disk } = start(new MemoryDisk(), residentBytesMax);
  t.queue("q", {}, { durable: true });
  for (let number = 0; number < MESSAGES; number++) {
    t.publish("q", `${number}`.padEnd(100), { deliveryMode: 2 });
    if (number % 10 !== 0) continue;
    t.turn();
    disk.finishAll();
  }
  do t.turn(1000); while (disk.finishAll() > 0 || t.broker.hasMoreWork);
  return disk.crash({ kind: "process" });
}

for (const [what, residentBytesMax] of [["rows", Infinity], ["pages", 0]] as const) {
  Deno.test(`a bit that turns over in a snapshot of ${what} costs what it hits`, () => {
    const disk = filledDisk(residentBytesMax);
    const snapshot = disk.paths().find((path) => path.startsWith("snapshot-"))!;
    const { length } = disk.contentOf(snapshot)!;
    assertGreater(length, 5_000);
    assertEquals(
      disk.paths().some((path) => path.startsWith("segment-")),
      residentBytesMax === 0,
    );
    for (let flip = 0; flip < FLIPS; flip++) {
      const damaged = disk.crash({ kind: "process" });
      const offset = Math.floor(length * flip / FLIPS);
      damaged.flip(snapshot, offset, flip % 8);
      const { t } = start(damaged, residentBytesMax);
      const queue = t.vhost.queues.get("q");
      assert(queue !== undefined, `the queue is lost with byte ${offset}`);
      assertLess(MESSAGES - queue.readyCount, LOST_MAX, `byte ${offset}`);
    }
  });
}
