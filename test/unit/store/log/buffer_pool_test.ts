// BufferPool of the commit log: buffers come in the size that was needed lately, and few bytes are kept.

import { assertEquals } from "@std/assert";
import { BufferPool } from "../../../../src/store/log/buffer_pool.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

Deno.test("BufferPool.take() gives buffers as large as they had to be", () => {
  const pool = new BufferPool();
  assertEquals(pool.take().length, 64 * KIB);
  // A batch has outgrown its buffer.
  const grown = pool.keep(new Uint8Array(256 * KIB), 200 * KIB);
  assertEquals(pool.take().length, 256 * KIB);
  pool.give(grown);
  assertEquals(pool.take(), grown);
  // Small batches again.
  pool.keep(new Uint8Array(256 * KIB), 100);
  assertEquals(pool.take().length, 64 * KIB);
  pool.keep(new Uint8Array(16 * MIB), 16 * MIB);
  assertEquals(pool.take().length, MIB);
});

Deno.test("BufferPool.keep() copies small batches when many wait", () => {
  const pool = new BufferPool();
  for (let count = 0; count < 8; count++) pool.take();
  const eighth = new Uint8Array(64 * KIB);
  assertEquals(pool.keep(eighth, 10), eighth);
  const ninth = pool.take();
  assertEquals(pool.keep(ninth, 10).length, 10);
  assertEquals(pool.take(), ninth);
  assertEquals(pool.keep(ninth, 60 * KIB), ninth);
});

Deno.test("BufferPool.keep() counts large copies that are given back once", () => {
  const pool = new BufferPool();
  for (let count = 0; count < 9; count++) pool.take();
  for (let round = 0; round < 20; round++) {
    pool.take();
    // 64 KiB is the least that the pool takes back.
    const bytes = (round % 2 === 0 ? 100 : 64) * KIB;
    const copy = pool.keep(new Uint8Array(512 * KIB), bytes);
    assertEquals(copy.length, bytes);
    pool.give(copy);
  }
  assertEquals(pool.keep(pool.take(), 10).length, 10);
});

Deno.test("BufferPool.give() keeps a bounded number of bytes and frees the rest at once", () => {
  const pool = new BufferPool();
  const buffers = Array.from({ length: 10 }, () => new Uint8Array(MIB));
  for (const buffer of buffers) pool.give(buffer);
  assertEquals(buffers.map((buffer) => buffer.length), [...Array(8).fill(MIB), 0, 0]);
  const huge = new Uint8Array(2 * MIB);
  pool.give(huge);
  assertEquals(huge.length, 0);
});

Deno.test("BufferPool.keep() takes a batch for small that fills half of its buffer, and not one with a byte more", () => {
  for (const [more, usual] of [[0, 64 * KIB], [1, 256 * KIB]] as const) {
    const pool = new BufferPool();
    pool.keep(new Uint8Array(256 * KIB), 128 * KIB + more);
    assertEquals(pool.take().length, usual);
  }
});
