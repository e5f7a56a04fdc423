// ReferenceTable: references are used again, last freed first, and the table grows and shrinks by chunks.

import { assertEquals, assertThrows } from "@std/assert";
import { ReferenceTable } from "../../../../src/store/memory/reference_table.ts";

const CHUNK_REFS = 16_384;
const CHUNK_BYTES = CHUNK_REFS * 8;

function allocated(count: number): ReferenceTable {
  const table = new ReferenceTable();
  for (let ref = 1; ref <= count; ref++) {
    assertEquals(table.allocate(), ref);
    table.place(ref, ref % 100, ref * 8);
  }
  return table;
}

Deno.test("ReferenceTable opens a chunk for the first reference that is not in the last one", () => {
  const sizes = [1, CHUNK_REFS - 1, CHUNK_REFS, 2 * CHUNK_REFS - 1, 2 * CHUNK_REFS];
  const chunks = sizes.map((count) => allocated(count).memoryBytes / CHUNK_BYTES);
  assertEquals(chunks, [1, 1, 2, 2, 3]);
});

Deno.test("ReferenceTable knows the place of each reference, also beside the edges of a chunk", () => {
  const count = 2 * CHUNK_REFS + 5;
  const table = allocated(count);
  assertEquals([table.count, table.end], [count, count + 1]);
  for (let ref = 1; ref <= count; ref++) {
    if (table.blockOf(ref) !== ref % 100 || table.offsetOf(ref) !== ref * 8) {
      throw new Error(`reference ${ref} is in another place`);
    }
  }
  assertEquals([0, 1, count, count + 1].map((ref) => table.isUsed(ref)), [
    false,
    true,
    true,
    false,
  ]);
});

Deno.test("ReferenceTable gives out again what was freed, the last first", () => {
  const table = allocated(CHUNK_REFS + 10);
  const freed = [5, CHUNK_REFS + 3, CHUNK_REFS - 1, CHUNK_REFS];
  for (const ref of freed) table.free(ref);
  assertEquals(table.count, CHUNK_REFS + 6);
  assertEquals(freed.map((ref) => table.isUsed(ref)), [false, false, false, false]);
  assertThrows(() => table.blockOf(5), Error, "free body reference");
  for (const ref of freed.reverse()) {
    assertEquals(table.allocate(), ref);
    table.place(ref, 1, 2);
    assertEquals([table.isUsed(ref), table.blockOf(ref), table.offsetOf(ref)], [true, 1, 2]);
  }
  assertEquals(table.allocate(), CHUNK_REFS + 11);
});

Deno.test("ReferenceTable gives its memory back with the last reference, and begins anew", () => {
  const table = allocated(CHUNK_REFS + 1);
  for (let ref = 1; ref <= CHUNK_REFS; ref++) table.free(ref);
  assertEquals([table.count, table.memoryBytes], [1, 2 * CHUNK_BYTES]);
  table.free(CHUNK_REFS + 1);
  assertEquals([table.count, table.end, table.memoryBytes], [0, 1, CHUNK_BYTES]);
  assertEquals([table.allocate(), table.allocate()], [1, 2]);
});

Deno.test("ReferenceTable of one chunk uses what was freed again", () => {
  const table = allocated(3);
  for (const ref of [1, 2, 3]) table.free(ref);
  assertEquals([table.count, table.end], [0, 4]);
  assertEquals([table.allocate(), table.allocate(), table.allocate(), table.allocate()], [
    3,
    2,
    1,
    4,
  ]);
});
