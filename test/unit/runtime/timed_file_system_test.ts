// TimedFileSystem over a disk in memory: every sync is timed once, everything else passes.

import { assertEquals } from "@std/assert";
import { TimedFileSystem } from "../../../src/runtime/timed_file_system.ts";
import { MemoryDisk } from "../../support/memory_disk.ts";

Deno.test("TimedFileSystem times every sync, also one that fails, and passes on the rest", () => {
  const disk = new MemoryDisk();
  const times: number[] = [];
  const fs = new TimedFileSystem(disk, (elapsedMs) => times.push(elapsedMs));
  const handle = fs.open("a", "create");
  handle.write(new Uint8Array([1, 2, 3]), 0, 3, 0);
  const ends: (string | null)[] = [];
  disk.failNext("sync", "EIO");
  for (let i = 0; i < 2; i++) handle.sync((error) => ends.push(error?.code ?? null));
  assertEquals(times, []);
  disk.finishAll();
  assertEquals([ends, times.length, times.every((ms) => ms >= 0)], [["EIO", null], 2, true]);
  handle.close();
  fs.makeFolder("folder");
  fs.syncFolder("");
  fs.rename("a", "b");
  assertEquals(fs.list(""), ["b", "folder/"]);
  const reader = fs.open("b", "read");
  assertEquals([...reader.readNow(0, 9)], [1, 2, 3]);
  reader.close();
  fs.remove("b");
  fs.removeFolder("folder");
  assertEquals([fs.list(""), fs.freeBytes() > 0], [[], true]);
});
