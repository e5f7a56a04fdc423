// SegmentWriter: what is written is a draft, until a sync has made it safe or an error void. The file of
// a draft stays until the draft is ended.

import { assertEquals, assertThrows } from "@std/assert";
import { DiskError } from "../../../../src/store/file_system.ts";
import { type DataFile, DataFiles } from "../../../../src/store/folder/data_files.ts";
import { SegmentWriter } from "../../../../src/store/folder/segment_writer.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const BYTES = new Uint8Array(64).fill(7);

class Parts {
  readonly disk = new MemoryDisk();
  readonly emptied: string[] = [];
  readonly failures: string[] = [];
  wakeCount = 0;
  readonly wakes = () => this.wakeCount;
  readonly segments = new SegmentWriter({
    files: new DataFiles(this.disk),
    fileBytesMax: 256,
    wake: () => this.wakeCount++,
    emptied: ({ name }: DataFile) => void this.emptied.push(name),
    failed: (what) => void this.failures.push(what),
  });
}

Deno.test("SegmentWriter makes drafts safe by one sync at a time, in order", () => {
  const { disk, segments } = new Parts();
  // The first sync of a file syncs its name as well.
  segments.append(BYTES, 8);
  segments.sync();
  disk.finishAll();
  const first = segments.append(BYTES, 64);
  segments.sync();
  const second = segments.append(BYTES, 40);
  segments.sync();
  assertEquals([first.offset, second.offset, second.file.byteLength], [8, 72, 112]);
  const decided = () => [first, second].map((draft) => segments.isDecided(draft));
  assertEquals(decided(), [false, false]);
  disk.finish();
  assertEquals(decided(), [true, false]);
  disk.finish();
  assertEquals([decided(), segments.isVoid(first), segments.isVoid(second)], [
    [true, true],
    false,
    false,
  ]);
});

Deno.test("SegmentWriter voids what is not safe when a sync fails, and goes on in a fresh file", () => {
  const { disk, segments, failures } = new Parts();
  const safe = segments.append(BYTES, 64);
  segments.sync();
  disk.finishAll();
  const lost = [segments.append(BYTES, 64), segments.append(BYTES, 64)];
  disk.failNext("sync", "EIO", "segment");
  segments.sync();
  disk.finishAll();
  assertEquals(failures, ["sync a segment file"]);
  assertEquals(lost.map((draft) => [segments.isVoid(draft), segments.isDecided(draft)]), [
    [true, true],
    [true, true],
  ]);
  assertEquals(safe.file.isPinned, false);
  const fresh = segments.append(BYTES, 64);
  assertEquals([fresh.offset, fresh.file === safe.file], [0, false]);
  assertEquals([segments.isVoid(fresh), segments.isDecided(fresh)], [false, false]);
});

Deno.test("SegmentWriter voids all drafts when a write fails, and none of them becomes safe later", () => {
  const { disk, segments } = new Parts();
  const lost = segments.append(BYTES, 64);
  segments.sync();
  disk.failNext("write", "ENOSPC", "segment");
  assertThrows(() => segments.append(BYTES, 64), DiskError);
  assertEquals([lost.file.draftCount, lost.file.byteLength], [1, 64]);
  const next = segments.append(BYTES, 64);
  // The sync of the file that was given up ends now.
  disk.finishAll();
  assertEquals([segments.isVoid(lost), segments.isDecided(next)], [true, false]);
  segments.sync();
  disk.finishAll();
  assertEquals([segments.isVoid(lost), segments.isDecided(next)], [true, true]);
});

Deno.test("SegmentWriter has no file when none can be made, and opens one the next time", () => {
  const { disk, segments, emptied, wakes } = new Parts();
  disk.failNext("open", "EMFILE");
  assertThrows(() => segments.append(BYTES, 64), DiskError, "EMFILE");
  segments.sync();
  segments.close();
  assertEquals([emptied, disk.openCount], [[], 0]);
  const draft = segments.append(BYTES, 64);
  segments.sync();
  disk.finishAll();
  assertEquals([segments.isDecided(draft), segments.isVoid(draft), wakes()], [true, false, 1]);
  segments.close();
  assertEquals(disk.openCount, 0);
});

Deno.test("SegmentWriter says that a file is empty when the last part of its last draft has ended", () => {
  const { disk, segments, emptied } = new Parts();
  const draft = segments.append(BYTES, 64, 2);
  const other = segments.append(BYTES, 64);
  segments.sync();
  disk.finishAll();
  assertEquals(draft.file.draftCount, 3);
  segments.end(draft);
  segments.end(draft);
  assertEquals(emptied, []);
  segments.end(other);
  assertEquals([emptied, draft.file.draftCount], [[draft.file.name], 0]);
});

Deno.test("SegmentWriter does not call a file empty in which something has come alive", () => {
  const { disk, segments, emptied } = new Parts();
  const draft = segments.append(BYTES, 64);
  segments.sync();
  disk.finishAll();
  draft.file.liveRecords++;
  segments.end(draft);
  segments.close();
  assertEquals(emptied, []);
});

Deno.test("SegmentWriter ends a file at its full size, once everything in it is safe", () => {
  const { disk, segments } = new Parts();
  const full = segments.append(new Uint8Array(256), 256);
  const behind = segments.append(BYTES, 64);
  assertEquals(behind.file, full.file);
  segments.sync();
  disk.finishAll();
  assertEquals(full.file.isPinned, false);
  assertEquals(segments.append(BYTES, 64).file === full.file, false);
});

Deno.test("SegmentWriter.closeDead() ends a file that is worth it, without drafts or life", () => {
  const { disk, segments } = new Parts();
  const draft = segments.append(BYTES, 32);
  segments.closeDead();
  assertEquals(draft.file.isPinned, true);
  segments.sync();
  segments.end(draft);
  segments.closeDead();
  assertEquals(draft.file.isPinned, true);
  disk.finishAll();
  draft.file.liveRecords = 1;
  segments.closeDead();
  assertEquals(draft.file.isPinned, true);
  draft.file.liveRecords = 0;
  segments.closeDead();
  assertEquals(draft.file.isPinned, false);
  const small = segments.append(BYTES, 31);
  segments.sync();
  disk.finishAll();
  segments.end(small);
  segments.closeDead();
  assertEquals(small.file.isPinned, true);
});
