// DataFiles: a new file is safe as a whole, its name included, when its first sync has ended.

import { assertEquals, assertThrows } from "@std/assert";
import { Prng } from "../../../../src/lib/prng.ts";
import { DiskError } from "../../../../src/store/file_system.ts";
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

Deno.test("DataFiles.scan() lists what is in the folder, and new numbers follow the highest", () => {
  const disk = new MemoryDisk();
  const names = ["log-00000007", "segment-00000003", "snapshot-00000005", "log-00000002", "other"];
  for (const name of names) disk.open(name, "create").close();
  const files = new DataFiles(disk);
  assertEquals(files.isEmpty, true);
  files.scan();
  assertEquals([files.isEmpty, files.get(3)?.kind, files.get(4)], [false, "segment", undefined]);
  assertEquals(files.ofKind("log").map(({ name }) => name), ["log-00000002", "log-00000007"]);
  assertEquals(files.create("segment").file.name, "segment-00000008");
  files.get(2)!.byteLength = 10;
  files.get(7)!.byteLength = 5;
  files.get(3)!.byteLength = 100;
  assertEquals([files.byteLength("log"), files.byteLength("segment")], [15, 100]);
  const missing: string[] = [];
  disk.remove("log-00000002");
  assertEquals(files.look(({ name }) => missing.push(name)), true);
  assertEquals(missing, ["log-00000002"]);
  disk.open("MANIFEST", "create").close();
  assertEquals(files.look(() => {}), false);
});

Deno.test("DataFiles.reader() keeps 64 files open, those that were read from last", () => {
  const disk = new MemoryDisk();
  const files = new DataFiles(disk);
  const made = Array.from({ length: 66 }, () => {
    const { file, handle } = files.create("log");
    handle.close();
    return file;
  });
  const opened: string[] = [];
  disk.onOperation = ({ kind, path }) => void (kind === "open" && opened.push(path));
  for (const file of made.slice(0, 64)) files.reader(file);
  assertEquals([disk.openCount, opened.length], [64, 64]);
  // The first is used again, so the second has to go.
  const first = files.reader(made[0]!);
  assertEquals(files.reader(made[0]!) === first, true);
  files.reader(made[64]!);
  assertEquals([disk.openCount, opened.length], [64, 65]);
  files.reader(made[0]!);
  files.reader(made[2]!);
  assertEquals(opened.length, 65);
  files.reader(made[1]!);
  assertEquals([disk.openCount, opened.at(-1)], [64, made[1]!.name]);
  files.remove(made[0]!);
  assertEquals([disk.openCount, disk.contentOf(made[0]!.name)], [63, undefined]);
  assertEquals([files.get(1), files.ofKind("log").length], [undefined, 65]);
  files.close();
  assertEquals(disk.openCount, 0);
  files.reader(made[2]!);
  assertEquals(disk.openCount, 1);
});

Deno.test("DataFiles.createUnnamed() is none of the folder's files until it gets its name", () => {
  const disk = new MemoryDisk();
  disk.open("log-00000001.new", "create").close();
  const files = new DataFiles(disk);
  const named = files.createUnnamed("log");
  assertEquals([disk.paths(), files.ofKind("log")], [["log-00000001.new"], []]);
  named.name();
  assertEquals([disk.paths(), files.ofKind("log")], [["log-00000001"], [named.file]]);
  const dropped = files.createUnnamed("log");
  const { openCount } = disk;
  dropped.discard();
  assertEquals([disk.paths(), disk.openCount], [["log-00000001"], openCount - 1]);
  disk.failNext("syncFolder", "EIO");
  const half = files.createUnnamed("log");
  assertThrows(() => half.name(), DiskError);
  assertEquals(files.ofKind("log"), [named.file]);
  half.discard();
  files.createUnnamed("log");
  files.removeUnnamed();
  assertEquals(disk.paths(), ["log-00000001"]);
});
