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

Deno.test("SnapshotWriter.abandon() ends a sync that is under way: nobody is told of it", () => {
  const disk = new MemoryDisk();
  const options = { seed: 1, lastBatch: 0, fromLog: 0, sizes: DEFAULT_SIZES };
  const writer = new SnapshotWriter(new DataFiles(disk), EMPTY, options);
  let told = 0;
  while (writer.isRunning) writer.step(1, 0, () => told++);
  assertEquals(writer.phase, "syncing");
  writer.abandon();
  disk.finishAll();
  assertEquals([told, writer.isDone, writer.phase], [0, false, "failed"]);
});
