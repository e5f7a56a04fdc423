// SnapshotWriter: an error of the disk ends the snapshot, any other is the program's and goes on up.

import { assertEquals, assertThrows } from "@std/assert";
import { DiskError, type FileHandle } from "../../../../src/store/file_system.ts";
import { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { DEFAULT_SIZES } from "../../../../src/store/folder/sizes.ts";
import {
  type SnapshotSource,
  SnapshotWriter,
} from "../../../../src/store/upkeep/snapshot_writer.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const EMPTY: SnapshotSource = {
  definitions: () => [].values(),
  lastPositions: () => [].values(),
  lastQueueId: () => 1,
  pages: () => [].values(),
  refEnd: 1,
  rowsOf() {},
};

function start(error: Error): SnapshotWriter {
  const files = new DataFiles(new MemoryDisk());
  const create = files.create.bind(files);
  files.create = (kind) => {
    const { file, handle } = create(kind);
    const failing: FileHandle = Object.create(handle, {
      write: {
        value: () => {
          throw error;
        },
      },
      close: { value: () => handle.close() },
    });
    return { file, handle: failing };
  };
  const options = { seed: 1, lastBatch: 0, fromLog: 0, sizes: DEFAULT_SIZES };
  return new SnapshotWriter(files, EMPTY, options);
}

Deno.test("SnapshotWriter.step() ends with the error of the disk", () => {
  const writer = start(new DiskError("ENOSPC", "snapshot"));
  let ended = 0;
  writer.step(1, 0, () => ended++);
  assertEquals([writer.error?.code, writer.isRunning, ended], ["ENOSPC", false, 1]);
});

Deno.test("SnapshotWriter.step() does not take an error of the program for one of the disk", () => {
  const writer = start(new TypeError("a bug"));
  assertThrows(() => writer.step(1, 0, () => {}), TypeError, "a bug");
});

/** A writer of an empty snapshot on a disk, and what its file's handle was asked to do. */
function startOn(disk: MemoryDisk) {
  const files = new DataFiles(disk);
  const options = { seed: 1, lastBatch: 4, fromLog: 2, sizes: DEFAULT_SIZES };
  return new SnapshotWriter(files, EMPTY, options);
}

/** Steps until the whole snapshot is written. */
function writeAll(writer: SnapshotWriter, onSynced: () => void): string[] {
  const phases: string[] = [];
  while (writer.isRunning) {
    phases.push(writer.phase);
    writer.step(5, 0, onSynced);
  }
  return phases;
}

Deno.test("SnapshotWriter is done when its file is safe, and then closes it", () => {
  const disk = new MemoryDisk();
  const writer = startOn(disk);
  let ended = 0;
  const twice = ["definitions", "positions", "pages"];
  assertEquals(writeAll(writer, () => ended++), [...twice, "rows", ...twice]);
  assertEquals([writer.phase, writer.isDone, ended, disk.openCount], ["syncing", false, 0, 1]);
  disk.finishAll();
  assertEquals([writer.phase, writer.isDone, ended, disk.openCount], ["done", true, 1, 0]);
  assertEquals([writer.error, writer.file.byteLength], [
    null,
    disk.contentOf(writer.file.name)!.length,
  ]);
  writer.abandon();
  assertEquals([writer.isDone, writer.isRunning, disk.openCount], [false, false, 0]);
});

Deno.test("SnapshotWriter fails with its sync", () => {
  const disk = new MemoryDisk();
  const writer = startOn(disk);
  let ended = 0;
  disk.failNext("sync", "EIO");
  writeAll(writer, () => ended++);
  disk.finishAll();
  assertEquals([writer.phase, writer.error?.code, ended, disk.openCount], ["failed", "EIO", 1, 0]);
  writer.abandon();
  assertEquals(disk.openCount, 0);
});

Deno.test("SnapshotWriter.abandon() closes the file at any time, and nobody is told of its sync", () => {
  for (const steps of [0, 1, 3, 99]) {
    const disk = new MemoryDisk();
    const writer = startOn(disk);
    let ended = 0;
    for (let done = 0; done < steps && writer.isRunning; done++) writer.step(5, 0, () => ended++);
    writer.abandon();
    assertEquals([writer.phase, writer.isRunning, disk.openCount], ["failed", false, 0]);
    disk.finishAll();
    assertEquals([writer.phase, writer.isDone, writer.error, ended], ["failed", false, null, 0]);
  }
});
