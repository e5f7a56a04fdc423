// The look at the disk: asked now and then, and told to the log when it changes.

import { assertEquals } from "@std/assert";
import { DiskError } from "../../../../src/store/file_system.ts";
import type { LogFields } from "../../../../src/lib/logger.ts";
import { Room } from "../../../../src/store/upkeep/room.ts";
import { Troubles } from "../../../../src/store/folder/troubles.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

Deno.test("check() logs once that the disk is low, and once that it has room again", () => {
  const lines: [string, LogFields | undefined][] = [];
  const disk = new MemoryDisk();
  const room = new Room({
    fs: disk,
    logger: { log: (_level, message, fields) => void lines.push([message, fields]) },
    troubles: new Troubles({ log() {} }),
    freeBytesMin: 1000,
    checkBytes: 1 << 20,
    reserveBytes: 0,
  });
  for (const [at, quotaBytes] of [2000, 999, 500, 1000, 3000].entries()) {
    disk.quotaBytes = quotaBytes;
    assertEquals(room.check(at * 1000, 0), true);
  }
  assertEquals(lines, [
    ["the disk is low", { freeBytes: 999, freeBytesMin: 1000 }],
    ["the disk has room again", { freeBytes: 1000, freeBytesMin: 1000 }],
  ]);
});

Deno.test("check() asks the disk after a second, after many bytes, or after 256 steps", () => {
  const disk = new MemoryDisk();
  let asked = 0;
  const fs = Object.create(disk, { freeBytes: { value: () => (asked++, 5000) } }) as MemoryDisk;
  const room = new Room({
    fs,
    logger: { log() {} },
    troubles: new Troubles({ log() {} }),
    freeBytesMin: 1000,
    checkBytes: 100,
    reserveBytes: 0,
  });
  assertEquals([room.freeBytes, room.isLow], [Infinity, false]);
  assertEquals(room.check(5000, 40), true);
  assertEquals([room.check(5999, 139), room.check(6000, 139)], [false, true]);
  assertEquals([room.check(6001, 238), room.check(6002, 239)], [false, true]);
  const steps = Array.from({ length: 512 }, () => room.check(6002, 239));
  assertEquals(steps.flatMap((isAsked, step) => isAsked ? [step + 1] : []), [256, 512]);
  assertEquals([asked, room.freeBytes], [5, 5000]);
});

Deno.test("check() goes on with what the disk said last when it cannot say it, and tells the trouble", () => {
  const lines: string[] = [];
  const troubles = new Troubles({ log: (_level, message) => void lines.push(message) });
  const disk = new MemoryDisk();
  disk.quotaBytes = 999;
  let isSilent = false;
  const fs = Object.create(disk, {
    freeBytes: {
      value: () => {
        if (isSilent) throw new DiskError("EIO", "folder");
        return disk.freeBytes();
      },
    },
  }) as MemoryDisk;
  const room = new Room({
    fs,
    logger: { log() {} },
    troubles,
    freeBytesMin: 1000,
    checkBytes: 100,
    reserveBytes: 0,
  });
  room.check(0, 0);
  isSilent = true;
  disk.quotaBytes = 3000;
  assertEquals(room.check(1000, 0), true);
  assertEquals([room.isLow, room.freeBytes, lines.length], [true, 999, 1]);
  isSilent = false;
  room.check(2000, 0);
  assertEquals([room.isLow, room.freeBytes], [false, 3000]);
  for (const nowMs of [2000, 10_000]) troubles.step(nowMs);
  assertEquals(lines.at(-1), "the disk can be asked for its room again");
});
