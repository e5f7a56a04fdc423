// DataFiles: a new file is safe as a whole, its name included, when its first sync has ended.

import { assertEquals } from "@std/assert";
import { Prng } from "../../../../src/lib/prng.ts";
import type { DiskError } from "../../../../src/store/file_system.ts";
import { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const NAME = "log-00000001";

function start() {
  const disk = new MemoryDisk();
  const { handle } = new DataFiles(disk).create("log");
  handle.write(new Uint8Array([1, 2, 3]), 0, 3, 0);
  const ends: (string | null)[] = [];
  const done = (error: DiskError | null) => void ends.push(error?.code ?? null);
  return { disk, handle, ends, done };
}

/** How often of many losses of power the file is there as a whole. */
function survivals(disk: MemoryDisk): number {
  let count = 0;
  for (let seed = 0; seed < 50; seed++) {
    const after = disk.crash({ kind: "power", prng: new Prng(seed) });
    if (after.contentOf(NAME)?.length === 3) count++;
  }
  return count;
}

Deno.test("DataFiles.create() waits for nothing; the first sync makes the name safe besides", () => {
  const { disk, handle, ends, done } = start();
  assertEquals(disk.pendingCount, 0);
  handle.sync(done);
  assertEquals([disk.pendingCount, disk.finish(), ends.length], [2, 1, 0]);
  disk.finishAll();
  assertEquals(ends, [null]);
  assertEquals(survivals(disk), 50);
});

Deno.test("DataFiles.create() promises nothing of a file before its first sync", () => {
  const { disk } = start();
  assertEquals(survivals(disk) < 50, true);
});

Deno.test("DataFiles.create() syncs the name of a file until that has worked, and not again", () => {
  const { disk, handle, ends, done } = start();
  disk.failNext("syncFolder", "EIO");
  handle.sync(done);
  disk.finishAll();
  handle.sync(done);
  disk.finishAll();
  assertEquals(ends, ["EIO", null]);
  handle.sync(done);
  assertEquals(disk.finishAll(), 1);
});

Deno.test("DataFiles.ofKind() is in the order of the numbers, whichever file got its name first", () => {
  const files = new DataFiles(new MemoryDisk());
  const late = files.createUnnamed("log");
  files.create("log");
  files.create("segment");
  late.name();
  files.create("log");
  assertEquals(files.ofKind("log").map(({ number }) => number), [1, 2, 4]);
});
