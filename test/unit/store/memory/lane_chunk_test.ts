// LaneChunk and its pool: what a chunk that is used again remembers, and what expires in one.

import { assertEquals, assertStrictEquals } from "@std/assert";
import { ChunkPool, LaneChunk } from "../../../../src/store/memory/lane_chunk.ts";

const SMALL = 4;
const LARGE = 16;

/** A chunk with messages at all slots, each with an expiry. */
function filled(pool: ChunkPool, isFirst: boolean, base: number): LaneChunk {
  const chunk = pool.take(base, isFirst);
  for (let index = 0; index < chunk.capacity; index++) {
    chunk.refs[index] = index + 1;
    chunk.entries[index] = index % 3;
    chunk.setExpiry(index, 100 - index);
  }
  chunk.tail = chunk.capacity;
  return chunk;
}

Deno.test("ChunkPool gives out what came back as if it were new, by size", () => {
  const pool = new ChunkPool(SMALL, LARGE);
  for (const isFirst of [true, false]) {
    const chunk = filled(pool, isFirst, 50);
    const { memoryBytes } = chunk;
    assertEquals(memoryBytes, (isFirst ? SMALL : LARGE) * 16);
    Object.assign(chunk, { head: 2, draft: {}, aheadBytes: 9, next: new LaneChunk(1) });
    chunk.seal();
    pool.give(chunk);
    const other = pool.take(7, !isFirst);
    assertEquals(other === chunk, false);
    const again = pool.take(70, isFirst);
    assertStrictEquals(again, chunk);
    const { base, capacity, head, tail, next, draft, expiries, expiryMinMs, aheadBytes } = again;
    assertEquals([base, capacity, head, tail], [70, isFirst ? SMALL : LARGE, 0, 0]);
    assertEquals([next, draft, expiries, aheadBytes, expiryMinMs], [null, null, null, 0, Infinity]);
    assertEquals(again.memoryBytes, memoryBytes / 2);
  }
});

Deno.test("ChunkPool keeps 64 chunks of a size and none of another size", () => {
  const pool = new ChunkPool(SMALL, LARGE);
  for (const isFirst of [true, false]) {
    const given = Array.from({ length: 70 }, () => pool.take(1, isFirst));
    for (const chunk of given) pool.give(chunk);
    const again = Array.from({ length: 70 }, () => pool.take(1, isFirst));
    assertEquals(again.filter((chunk) => given.includes(chunk)).length, 64);
  }
  const odd = new LaneChunk(LARGE + 1);
  Object.assign(odd, { draft: {}, aheadBytes: 9 });
  pool.give(odd);
  pool.give(new LaneChunk(0));
  assertEquals([odd.draft, odd.aheadBytes], [null, 0]);
  for (const isFirst of [true, false]) {
    const { capacity } = pool.take(1, isFirst);
    assertEquals(capacity, isFirst ? SMALL : LARGE);
  }
});

Deno.test("ChunkPool.takeUsed() has room for any number of positions, all of them empty", () => {
  const pool = new ChunkPool(SMALL, LARGE);
  const cases = [[1, SMALL], [SMALL, SMALL], [SMALL + 1, LARGE], [LARGE, LARGE], [LARGE + 1, 17]];
  for (const [slotCount, capacity] of cases) {
    for (const isFirst of [true, false]) pool.give(filled(pool, isFirst, 50));
    const chunk = pool.takeUsed(33, slotCount!);
    assertEquals([chunk.base, chunk.head, chunk.tail, chunk.capacity], [
      33,
      0,
      slotCount,
      capacity,
    ]);
    assertEquals([...chunk.refs.subarray(0, slotCount)], Array(slotCount).fill(0));
    pool.give(chunk);
  }
});

Deno.test("LaneChunk.expire() takes what is due from the head on, leaves holes and knows the next time", () => {
  const pool = new ChunkPool(SMALL, LARGE);
  const cases = [
    { nowMs: 84, max: 99, due: [], nextMs: 85 },
    { nowMs: 85, max: 99, due: [16], nextMs: 86 },
    { nowMs: 90, max: 2, due: [11, 12], nextMs: 85 },
    { nowMs: 98, max: 99, due: [3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], nextMs: Infinity },
  ];
  for (const { nowMs, max, due, nextMs } of cases) {
    const chunk = filled(pool, false, 50);
    chunk.head = 2;
    chunk.refs[4] = 0;
    chunk.draft = {};
    const seen: number[][] = [];
    const expired = chunk.expire(nowMs, max, (...message) => seen.push(message));
    assertEquals(seen, due.map((ref) => [ref, 50 + ref - 1, (ref - 1) % 3]));
    assertEquals([expired, chunk.expiryMinMs], [due.length, nextMs]);
    assertEquals(chunk.draft === null, due.length > 0);
    for (const ref of due) assertEquals(chunk.refs[ref - 1], 0);
    assertEquals(chunk.expire(nowMs, max, () => {}), nowMs === 90 ? 2 : 0);
  }
});

Deno.test("LaneChunk.take() has an array for expiries only if a message has one", () => {
  for (const endsMs of [[Infinity, Infinity], [Infinity, 30]]) {
    const chunk = new ChunkPool(SMALL, LARGE).takeUsed(10, 4);
    const loaded = { count: 2, positions: [11, 13], refs: [5, 6], entries: [7, 8], endsMs };
    chunk.take(loaded as never);
    assertEquals([[...chunk.refs], [...chunk.entries]], [[0, 5, 0, 6], [0, 7, 0, 8]]);
    const hasExpiry = endsMs[1] !== Infinity;
    assertEquals(chunk.memoryBytes, hasExpiry ? 4 * 16 : 4 * 8);
    assertEquals(chunk.expiryMinMs, endsMs[1]);
    if (hasExpiry) assertEquals([...chunk.expiries!], [Infinity, Infinity, Infinity, 30]);
  }
});
