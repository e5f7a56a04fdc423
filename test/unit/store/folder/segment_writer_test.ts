// SegmentWriter: tickets become safe in groups, an error voids what is not safe, files end at their size.

import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { type DataFile, DataFiles } from "../../../../src/store/folder/data_files.ts";
import { SegmentWriter } from "../../../../src/store/folder/segment_writer.ts";
import { DiskError } from "../../../../src/store/file_system.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const FILE_BYTES = 80;

function start(isSynced = true) {
  const disk = new MemoryDisk();
  const files = new DataFiles(disk);
  const closed: DataFile[] = [];
  const failed: string[] = [];
  const counts = { wakes: 0, syncs: 0 };
  const writer = new SegmentWriter({
    files,
    isSynced,
    fileBytesMax: FILE_BYTES,
    wake: () => counts.wakes++,
    closed: (file) => closed.push(file),
    failed: (what, { code }) => failed.push(`${what}: ${code}`),
  });
  disk.onOperation = ({ kind }) => void (kind === "sync" && counts.syncs++);
  const append = (byteCount: number) => writer.append(new Uint8Array(100).fill(7), byteCount);
  const state = () => [writer.safeTicket, writer.lastTicket, writer.generation];
  return { disk, files, closed, failed, counts, writer, append, state };
}

Deno.test("SegmentWriter.append() puts bytes one behind the other into a pinned file", () => {
  const { disk, writer, append, state } = start();
  const first = append(10);
  const second = append(20);
  assertStrictEquals(first.file, second.file);
  assertEquals([first.offset, second.offset, first.file.byteLength], [0, 10, 30]);
  assertEquals(disk.contentOf(first.file.name)!.length, 30);
  assertEquals([first.file.isPinned, first.file.kind], [true, "segment"]);
  assertEquals(state(), [0, 2, 0]);
  writer.close();
  assertEquals([first.file.isPinned, disk.openCount], [false, 0]);
});

Deno.test("SegmentWriter.sync() syncs once at a time, and again what came meanwhile", () => {
  const { disk, counts, writer, append, state } = start();
  writer.sync();
  append(10);
  writer.sync();
  writer.sync();
  append(10);
  writer.sync();
  assertEquals([state(), disk.pendingCount], [[0, 2, 0], 2]);
  disk.finish(2);
  assertEquals([state(), counts.wakes], [[1, 2, 0], 1]);
  disk.finishAll();
  assertEquals([state(), counts.wakes, counts.syncs], [[2, 2, 0], 2, 2]);
  writer.sync();
  assertEquals([disk.pendingCount, disk.openCount], [0, 1]);
});

Deno.test("SegmentWriter.sync() counts bytes as safe at once where nothing is synced", () => {
  const { disk, closed, counts, writer, append, state } = start(false);
  append(10);
  writer.sync();
  assertEquals([state(), disk.pendingCount, closed], [[1, 1, 0], 0, []]);
  const { file } = append(70);
  writer.sync();
  assertEquals([state(), closed, counts], [[2, 2, 0], [file], { wakes: 0, syncs: 0 }]);
});

Deno.test("SegmentWriter ends a file of full size when all of it is safe", () => {
  for (const [byteCount, isFull] of [[FILE_BYTES - 1, false], [FILE_BYTES, true]] as const) {
    const { disk, closed, writer, append } = start();
    const { file } = append(byteCount);
    writer.sync();
    assertEquals(closed, []);
    disk.finishAll();
    assertEquals(closed, isFull ? [file] : []);
    assertEquals(append(10).file === file, !isFull);
  }
  const { disk, closed, writer, append } = start();
  append(FILE_BYTES);
  writer.sync();
  append(10);
  disk.finish(2);
  assertEquals([closed.length, disk.pendingCount], [0, 1]);
  disk.finishAll();
  assertEquals(closed.length, 1);
});

Deno.test("SegmentWriter voids what is not safe when the disk refuses a write", () => {
  const { disk, closed, writer, append, state } = start();
  const { file } = append(10);
  disk.failNext("write", "ENOSPC");
  assertThrows(() => append(10), DiskError, "ENOSPC");
  assertEquals([state(), closed, file.byteLength], [[1, 1, 1], [file], 10]);
  assertEquals([file.isPinned, disk.openCount], [false, 0]);
  const next = append(5);
  assertEquals([next.file === file, next.offset, state()], [false, 0, [1, 2, 1]]);
  writer.sync();
  disk.finishAll();
  assertEquals(state(), [2, 2, 1]);
});

Deno.test("SegmentWriter voids nothing twice when no file can be made", () => {
  const { disk, closed, append, state } = start();
  disk.failNext("open", "EMFILE");
  assertThrows(() => append(10), DiskError, "EMFILE");
  assertEquals([state(), closed], [[0, 0, 1], []]);
});

Deno.test("SegmentWriter voids what is not safe when a sync fails, and says so", () => {
  const { disk, closed, counts, failed, writer, append, state } = start();
  const { file } = append(10);
  disk.failNext("sync", "EIO");
  writer.sync();
  append(10);
  disk.finishAll();
  assertEquals([state(), closed, failed], [[2, 2, 1], [file], ["sync a segment file: EIO"]]);
  assertEquals([counts.wakes, disk.openCount], [1, 0]);
});

Deno.test("SegmentWriter does not take the sync of a void file for one of the next", () => {
  const { disk, failed, writer, append, state } = start();
  append(10);
  writer.sync();
  disk.failNext("write", "EIO");
  assertThrows(() => append(10), DiskError);
  append(10);
  append(10);
  disk.finishAll();
  assertEquals([state(), failed], [[1, 3, 1], []]);
  writer.sync();
  disk.finishAll();
  assertEquals(state(), [3, 3, 1]);
});

Deno.test("SegmentWriter.closeDead() ends a file with nothing alive from an eighth of its size on", () => {
  const cases: [number, Partial<DataFile>, boolean][] = [
    [FILE_BYTES / 8, {}, true],
    [FILE_BYTES / 8 - 1, {}, false],
    [FILE_BYTES / 8, { liveRecords: 1 }, false],
    [FILE_BYTES / 8, { draftCount: 1 }, false],
  ];
  for (const [byteCount, change, isClosed] of cases) {
    const { closed, writer, append } = start();
    writer.closeDead();
    const { file } = append(byteCount);
    Object.assign(file, change);
    writer.closeDead();
    assertEquals(closed, isClosed ? [file] : []);
  }
  const { disk, closed, writer, append } = start();
  append(20);
  writer.sync();
  writer.closeDead();
  assertEquals(closed.length, 0);
  disk.finishAll();
  writer.closeDead();
  writer.closeDead();
  assertEquals([closed.length, disk.openCount], [1, 0]);
  writer.close();
  assertEquals(closed.length, 1);
});
