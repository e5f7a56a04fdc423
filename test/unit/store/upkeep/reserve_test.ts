// Reserve: how much room it takes, when it has less than it should, and when it keeps away.

import { assertEquals, assertThrows } from "@std/assert";
import { DiskError } from "../../../../src/store/file_system.ts";
import { Reserve } from "../../../../src/store/upkeep/reserve.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const RESERVE_BYTES = 600;

function start(quotaBytes: number) {
  const disk = new MemoryDisk();
  disk.quotaBytes = quotaBytes;
  const reserve = new Reserve(disk, RESERVE_BYTES);
  const held = () => disk.contentOf("RESERVE")?.length ?? 0;
  return { disk, reserve, held, take: () => reserve.take(disk.freeBytes()) };
}

Deno.test("Reserve.take() takes all of its room once", () => {
  const { disk, reserve, held, take } = start(1000);
  take();
  assertEquals([held(), reserve.isShort], [600, false]);
  const before = disk.operationCount;
  take();
  assertEquals(disk.operationCount, before);
});

Deno.test("Reserve.take() takes half of what there is where that is less, and the rest when it is there", () => {
  const { disk, reserve, held, take } = start(401);
  take();
  assertEquals([held(), reserve.isShort], [200, true]);
  // The log goes on with the other half.
  take();
  assertEquals([held(), reserve.isShort], [200, true]);
  disk.quotaBytes = 599;
  take();
  assertEquals([held(), reserve.isShort], [200, true]);
  disk.quotaBytes = 600;
  take();
  assertEquals([held(), reserve.isShort], [600, false]);
});

Deno.test("Reserve.take() finds what an earlier start has taken", () => {
  const { disk, take } = start(1000);
  take();
  const next = new Reserve(disk, RESERVE_BYTES);
  next.take(0);
  assertEquals([next.isShort, disk.contentOf("RESERVE")!.length], [false, 600]);
});

Deno.test("Reserve.release() gives the room to the next file, and takes none while that is written", () => {
  const { disk, reserve, held, take } = start(1000);
  take();
  reserve.release();
  reserve.isInUse = true;
  take();
  assertEquals([held(), reserve.isShort, disk.freeBytes()], [0, true, 1000]);
  reserve.isInUse = false;
  take();
  assertEquals([held(), reserve.isShort], [600, false]);
});

Deno.test("Reserve.take() is short on a full disk and passes other errors on", () => {
  const { disk, reserve, held, take } = start(1000);
  disk.failNext("write", "ENOSPC", "RESERVE");
  take();
  assertEquals([held(), reserve.isShort], [0, true]);
  disk.failNext("write", "EIO", "RESERVE");
  assertThrows(take, DiskError, "EIO");
  assertEquals([held(), disk.openCount], [0, 0]);
});

Deno.test("Reserve without bytes does nothing", () => {
  const disk = new MemoryDisk();
  const reserve = new Reserve(disk, 0);
  reserve.take(0);
  reserve.release();
  assertEquals([disk.operationCount, reserve.isShort], [0, false]);
});
