// Victims: which file is emptied next, and that looking for it does not grow with the folder.

import { assertEquals, assertLessOrEqual } from "@std/assert";
import { type DataFile, DataFiles } from "../../../../src/store/folder/data_files.ts";
import { BATCH_HEADER_BYTES } from "../../../../src/store/format/format.ts";
import { Room } from "../../../../src/store/upkeep/room.ts";
import { DEFAULT_SIZES, type StoreSizes } from "../../../../src/store/folder/sizes.ts";
import { Victims } from "../../../../src/store/upkeep/victims.ts";
import { Troubles } from "../../../../src/store/folder/troubles.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const FROM_LOG = 1_000_000;
const FILE_BYTES = 1 << 20;

interface Started {
  victims: Victims;
  files: DataFile[];
  room: Room;
}

function start(fileCount: number, moved: Partial<StoreSizes> = {}): Started {
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
  const sizes = { ...DEFAULT_SIZES, moveSlackBytes: 0, ...moved };
  return { victims: new Victims({ files, sizes, room }), files: made, room };
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

/** A file that is to be emptied, beside one that is alive as a whole. */
function oneToEmpty(moved: Partial<StoreSizes> = {}): Started {
  const started = start(2, moved);
  started.files[0]!.liveBytes = 2000;
  started.files[1]!.liveBytes = 0;
  started.files[1]!.byteLength = 0;
  started.files[1]!.liveRecords = 0;
  return started;
}

Deno.test("Victims.next() leaves a file alone that is pinned, empty or mostly alive", () => {
  const cases: [string, Partial<DataFile>, boolean][] = [
    ["as it is", {}, true],
    ["pinned", { isPinned: true }, false],
    ["empty", { liveRecords: 0 }, false],
    ["one byte dead", { liveBytes: FILE_BYTES / 2 - 1, liveRecords: 1 }, true],
    ["half alive", { liveBytes: FILE_BYTES / 2, liveRecords: 1 }, false],
  ];
  for (const [what, change, isVictim] of cases) {
    const { victims, files } = oneToEmpty();
    Object.assign(files[0]!, change);
    assertEquals(victims.next(0, FROM_LOG) === files[0], isVictim, what);
  }
});

Deno.test("Victims.next() takes a file of which just half is alive, and none with more, beside dead ones", () => {
  for (const [more, isVictim] of [[0, true], [1, false]] as const) {
    const { victims, files } = start(2);
    Object.assign(files[0]!, { liveBytes: FILE_BYTES / 2 + more, liveRecords: 1 });
    Object.assign(files[1]!, { liveBytes: 5, isPinned: true });
    assertEquals(victims.next(0, FROM_LOG) === files[0], isVictim, `${more} bytes more`);
  }
});

Deno.test("Victims.next() takes none until the dead bytes are more than the slack", () => {
  const deadBytes = FILE_BYTES - 2 * 2000;
  for (const [moveSlackBytes, isVictim] of [[deadBytes - 1, true], [deadBytes, false]] as const) {
    const { victims, files } = oneToEmpty({ moveSlackBytes });
    assertEquals(victims.next(0, FROM_LOG) === files[0], isVictim, `${moveSlackBytes} bytes`);
  }
});

Deno.test("Victims.next() looks at a low disk in each turn, and takes what has room four times", () => {
  const groupBytes = 1000;
  const cases = [
    { dead: 1001, freeBytes: 8000, isVictim: true },
    { dead: 1000, freeBytes: 8000, isVictim: false },
    { dead: 1001, freeBytes: 7999, isVictim: false },
  ];
  for (const { dead, freeBytes, isVictim } of cases) {
    const { victims, files, room } = oneToEmpty({ moveGroupBytes: groupBytes });
    files[0]!.byteLength = 2 * 2000 + dead;
    files[0]!.liveRecords = 1;
    Object.defineProperty(room, "isLow", { value: true });
    room.freeBytes = freeBytes;
    for (let turns = 0; turns < 3; turns++) {
      assertEquals(victims.next(0, FROM_LOG) === files[0], isVictim, `${dead} ${freeBytes}`);
    }
  }
});

Deno.test("Victims.next() rests one turn for each 64 files, and not on a low disk", () => {
  for (const [count, rest] of [[63, 0], [64, 1], [127, 1], [128, 2]] as const) {
    const { victims, files, room } = start(count);
    assertEquals(victims.next(0, FROM_LOG), null);
    for (const file of files) file.liveBytes = 2000;
    const isLow = Object.getOwnPropertyDescriptor(Room.prototype, "isLow")!;
    Object.defineProperty(room, "isLow", { value: true, configurable: true });
    assertEquals(victims.next(0, FROM_LOG), files[0]!);
    Object.defineProperty(room, "isLow", { ...isLow, configurable: true });
    const turns = Array.from({ length: 3 }, () => victims.next(0, FROM_LOG) !== null);
    assertEquals(turns, [0, 1, 2].map((turn) => turn >= rest), `${count} files`);
  }
});

Deno.test("Victims.copyBytesOf() counts what each group of copies has beside its records", () => {
  const { victims, files } = start(1, { moveGroupRecords: 10, moveGroupBytes: 1000 });
  const file = files[0]!;
  const of = (liveRecords: number, liveBytes: number) => {
    Object.assign(file, { liveRecords, liveBytes });
    return (victims.copyBytesOf(file) - liveBytes) / (BATCH_HEADER_BYTES + 8);
  };
  const groups = [of(1, 1), of(9, 90), of(10, 100), of(10, 1000), of(30, 5), of(2, 5000)];
  assertEquals(groups, [1, 1, 2, 3, 4, 2]);
  Object.assign(file, { liveRecords: 1, liveBytes: 10, byteLength: 10 + BATCH_HEADER_BYTES + 8 });
  assertEquals(victims.next(0, FROM_LOG), null);
  file.byteLength++;
  assertEquals(victims.next(0, FROM_LOG), file);
});
