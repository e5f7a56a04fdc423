// RetainedBatches: what a disk in trouble makes the log keep stays small and is moved at once.

import { assertEquals, assertLess, assertStrictEquals } from "@std/assert";
import { BufferPool } from "../../../../src/store/log/buffer_pool.ts";
import { DataFile } from "../../../../src/store/folder/data_files.ts";
import { type Retained, RetainedBatches } from "../../../../src/store/log/retained_batches.ts";

const BATCH_BYTES = 80;

function batchOf(number: number, file: DataFile, buffer: Uint8Array): Retained {
  const { byteLength: offset } = file;
  file.byteLength += BATCH_BYTES;
  const previous = number - 1;
  return {
    number,
    previous,
    timeMs: 0,
    buffer,
    byteCount: BATCH_BYTES,
    file,
    offset,
    isWritten: false,
    isFailed: false,
  };
}

Deno.test("RetainedBatches.add() keeps small batches in few buffers, however many they are", () => {
  const buffers = new BufferPool();
  const retained = new RetainedBatches(buffers);
  const file = new DataFile("log", 1);
  for (let number = 1; number <= 1000; number++) {
    retained.add(batchOf(number, file, buffers.take()));
  }
  let bytes = 0;
  for (const { buffer } of retained.all) bytes += buffer.length;
  assertLess(bytes, 8 * 64 * 1024 + 1000 * BATCH_BYTES);
});

Deno.test("RetainedBatches.add() leaves a batch where it is while few are kept", () => {
  const buffers = new BufferPool();
  const retained = new RetainedBatches(buffers);
  const buffer = buffers.take();
  retained.add(batchOf(1, new DataFile("log", 1), buffer));
  assertStrictEquals(retained.first?.buffer, buffer);
});

Deno.test("RetainedBatches.moveTo() tells of batches that lay side by side once", () => {
  const retained = new RetainedBatches(new BufferPool());
  const files = [new DataFile("log", 1), new DataFile("log", 2)];
  files[0]!.byteLength = 8;
  for (let number = 1; number <= 5; number++) {
    retained.add(batchOf(number, files[number <= 2 ? 0 : 1]!, new Uint8Array(BATCH_BYTES)));
  }
  const told: unknown[] = [];
  const fresh = new DataFile("log", 3);
  retained.moveTo(fresh, (from, to) => told.push([from, to]));
  assertEquals(told, [
    [{ file: 1, offset: 8, byteCount: 160 }, { file: 3, offset: 0 }],
    [{ file: 2, offset: 0, byteCount: 240 }, { file: 3, offset: 160 }],
  ]);
  assertEquals(retained.all.map(({ offset }) => offset), [0, 80, 160, 240, 320]);
  assertEquals(fresh.byteLength, 400);
  // They can be made safe there.
  assertEquals(retained.firstToSync?.number, 1);
});

Deno.test("RetainedBatches.firstUndecided skips failed batches, and goes back when they are dropped", () => {
  const retained = new RetainedBatches(new BufferPool());
  const file = new DataFile("log", 1);
  const batches = [1, 2, 3].map((number) => batchOf(number, file, new Uint8Array(BATCH_BYTES)));
  for (const batch of batches) retained.add(batch);
  assertEquals(retained.firstUndecided?.number, 1);
  batches[0]!.isFailed = true;
  batches[1]!.isFailed = true;
  assertEquals(retained.firstUndecided?.number, 3);
  batches[0]!.isWritten = true;
  retained.dropSafe(file, 1);
  assertEquals([retained.first?.number, retained.firstUndecided?.number], [2, 3]);
  assertEquals(retained.byteCount, 2 * BATCH_BYTES);
});
