// The look at the disk: asked now and then, and told to the log when it changes.

import { assertEquals } from "@std/assert";
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
