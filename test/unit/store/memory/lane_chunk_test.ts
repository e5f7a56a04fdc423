// ChunkPool: keeps a bounded number of chunks of each size, clean, and no others.

import { assertEquals, assertStrictEquals } from "@std/assert";
import { ChunkPool, type LaneChunk } from "../../../../src/store/memory/lane_chunk.ts";

const POOLED_MAX = 64;

function taken(pool: ChunkPool, count: number, isFirst: boolean): LaneChunk[] {
  return Array.from({ length: count }, (_, index) => pool.take(index, isFirst));
}

Deno.test("ChunkPool keeps a bounded number of chunks of each size", () => {
  for (const isFirst of [true, false]) {
    const pool = new ChunkPool(4, 16);
    const given = taken(pool, POOLED_MAX + 3, isFirst);
    for (const chunk of given) pool.give(chunk);
    const again = taken(pool, POOLED_MAX + 3, isFirst);
    assertEquals(again.filter((chunk) => given.includes(chunk)).length, POOLED_MAX);
    assertEquals(new Set(again).size, POOLED_MAX + 3);
  }
});

Deno.test("ChunkPool keeps the two sizes apart, and no chunk of another size", () => {
  const pool = new ChunkPool(4, 16);
  const small = pool.take(0, true);
  const large = pool.take(0, false);
  const other = pool.takeUsed(0, 17);
  assertEquals([small, large, other].map(({ refs }) => refs.length), [4, 16, 17]);
  for (const chunk of [small, large, other]) pool.give(chunk);
  assertStrictEquals(pool.take(7, true), small);
  assertStrictEquals(pool.take(8, false), large);
  assertEquals([small.base, large.base], [7, 8]);
  assertEquals(pool.take(0, true) === other || pool.take(0, false) === other, false);
});

Deno.test("ChunkPool.takeUsed() takes the smallest chunk that fits, with its slots empty and in use", () => {
  const pool = new ChunkPool(4, 16);
  for (const [slotCount, slots] of [[1, 4], [4, 4], [5, 16], [16, 16], [17, 17]] as const) {
    const used = pool.take(0, slots === 4);
    used.refs.fill(9);
    pool.give(used);
    const chunk = pool.takeUsed(100, slotCount);
    assertEquals([chunk.refs.length, chunk.base, chunk.head, chunk.tail], [
      slots,
      100,
      0,
      slotCount,
    ]);
    assertEquals(chunk.refs.subarray(0, slotCount).some((ref) => ref !== 0), false);
  }
});
