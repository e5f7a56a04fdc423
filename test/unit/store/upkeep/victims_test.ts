// Victims: which file is emptied next, and that looking for it does not grow with the folder.

import { assertEquals, assertLessOrEqual } from "@std/assert";
import { type DataFile, DataFiles } from "../../../../src/store/folder/data_files.ts";
import { Room } from "../../../../src/store/upkeep/room.ts";
import { DEFAULT_SIZES } from "../../../../src/store/folder/sizes.ts";
import { Victims } from "../../../../src/store/upkeep/victims.ts";
import { Troubles } from "../../../../src/store/folder/troubles.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const FROM_LOG = 1_000_000;
const FILE_BYTES = 1 << 20;

function start(fileCount: number): { victims: Victims; files: DataFile[] } {
  const fs = new MemoryDisk();
  const files = new DataFiles(fs);
  const room = new Room({
    fs,
    logger: { log() {} },
    troubles: new Troubles({ log() {} }),
    freeBytesMin: 0,
    checkBytes: 1,
    reserveBytes: 0,
  });
  const made = Array.from({ length: fileCount }, () => {
    const { file, handle } = files.create("segment");
    handle.close();
    file.byteLength = FILE_BYTES;
    file.liveRecords = 1000;
    file.liveBytes = FILE_BYTES;
    return file;
  });
  const sizes = { ...DEFAULT_SIZES, moveSlackBytes: 0 };
  return { victims: new Victims({ files, sizes, room }), files: made };
}

Deno.test("Victims.next() is the file with the smallest live part once the folder is twice its live bytes", () => {
  const { victims, files } = start(4);
  assertEquals(victims.next(0, FROM_LOG), null);
  files[1]!.liveBytes = 2000;
  assertEquals(victims.next(0, FROM_LOG), null);
  files[0]!.liveBytes = FILE_BYTES / 4;
  files[2]!.liveBytes = FILE_BYTES / 4;
  assertEquals(victims.next(0, FROM_LOG), files[1]);
  files[1]!.movableAtMs = 500;
  assertEquals(victims.next(499, FROM_LOG), files[0]);
  assertEquals(victims.next(500, FROM_LOG), files[1]);
});

Deno.test("Victims.next() leaves log files alone that a start has to read", () => {
  const { victims, files } = start(2);
  for (const file of files) file.liveBytes = 2000;
  Object.defineProperty(files[0], "kind", { value: "log" });
  Object.defineProperty(files[1], "kind", { value: "log" });
  assertEquals(victims.next(0, files[0]!.number), null);
  assertEquals(victims.next(0, files[1]!.number), files[0]);
});

Deno.test("Victims.next() looks at few files a turn, and finds the one to be emptied all the same", () => {
  const { victims, files } = start(1280);
  let looks = 0;
  Object.defineProperty(files[0], "liveBytes", { get: () => (looks++, FILE_BYTES) });
  for (let turns = 0; turns < 100; turns++) assertEquals(victims.next(0, FROM_LOG), null);
  assertLessOrEqual(looks, 5);
  for (const file of files.slice(1)) file.liveBytes = 2000;
  let turns = 1;
  while (victims.next(0, FROM_LOG) === null) turns++;
  assertLessOrEqual(turns, 21);
});
