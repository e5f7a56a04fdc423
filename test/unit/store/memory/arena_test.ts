// Arena: records survive every move, blocks come back.

import { assert, assertEquals, assertLess, assertThrows } from "@std/assert";
import { Prng } from "../../../../src/lib/prng.ts";
import { Arena, BLOCK_BYTES } from "../../../../src/store/memory/arena.ts";
import type { MessageSource } from "../../../../src/store/port.ts";
import { emptySource, emptyView } from "../../../../src/store/views.ts";

function source(seed: number, bodyBytes: number): MessageSource {
  const bytes = new Uint8Array(16 + bodyBytes);
  for (let i = 0; i < bytes.length; i++) bytes[i] = (seed + i) & 0xff;
  return {
    ...emptySource(),
    address: bytes,
    addressStart: 1,
    addressEnd: 6,
    properties: bytes,
    propertiesStart: 6,
    propertiesEnd: 9,
    body: bytes,
    bodyStart: 16,
    bodyEnd: 16 + bodyBytes,
    flags: seed & 7,
    priority: seed & 0xff,
    arrivalMs: seed * 1.5,
    expiryMs: seed % 3 === 0 ? Infinity : seed * 2,
  };
}

function assertHolds(arena: Arena, ref: number, seed: number, bodyBytes: number): void {
  const view = emptyView();
  arena.open(ref, view);
  assertEquals(view.bodyEnd - view.bodyStart, bodyBytes);
  assertEquals(view.addressEnd - view.addressStart, 5);
  assertEquals(view.propertiesEnd - view.propertiesStart, 3);
  assertEquals(view.bytes[view.addressStart], (seed + 1) & 0xff);
  assertEquals(view.bytes[view.propertiesStart], (seed + 6) & 0xff);
  for (let i = 0; i < bodyBytes; i += 997) {
    assertEquals(view.bytes[view.bodyStart + i], (seed + 16 + i) & 0xff);
  }
  assertEquals(
    [view.flags, view.priority, view.arrivalMs, view.expiryMs],
    [seed & 7, seed & 0xff, seed * 1.5, seed % 3 === 0 ? Infinity : seed * 2],
  );
}

Deno.test("Arena keeps every record readable through random life and compaction", () => {
  const prng = new Prng(7);
  const arena = new Arena();
  const live = new Map<number, { seed: number; bodyBytes: number; holders: number }>();
  for (let seed = 0; seed < 30_000; seed++) {
    const bodyBytes = prng.nextFloat() < 0.001 ? BLOCK_BYTES : Math.floor(prng.nextFloat() * 3000);
    const holders = 1 + Math.floor(prng.nextFloat() * 3);
    const ref = arena.append(source(seed, bodyBytes), holders);
    assert(!live.has(ref));
    live.set(ref, { seed, bodyBytes, holders });
    // One in a hundred stays for good: the long-delayed message that must pin nothing.
    for (const [other, held] of live) {
      if (live.size < 200) break;
      if (held.seed % 100 === 0) continue;
      for (let i = 0; i < held.holders; i++) arena.release(other);
      live.delete(other);
    }
    arena.compact();
  }
  for (let i = 0; i < 10_000 && arena.compact(); i++);
  for (const [ref, held] of live) assertHolds(arena, ref, held.seed, held.bodyBytes);
  assertEquals(arena.recordCount, live.size);
  assertLess(arena.memoryBytes, 2 * arena.liveBytes + 6 * BLOCK_BYTES);
});

Deno.test("Arena gives memory back when the last records leave", () => {
  const arena = new Arena();
  const refs: number[] = [];
  for (let i = 0; i < 100_000; i++) refs.push(arena.append(source(i, 1000), 1));
  assert(arena.memoryBytes > 100_000_000);
  for (const ref of refs) arena.release(ref);
  assertEquals(arena.liveBytes, 0);
  assertLess(arena.memoryBytes, 2 * BLOCK_BYTES);
});

Deno.test("Arena.evict() gives blocks back without moving what is left of their records", () => {
  const arena = new Arena();
  const refs: number[] = [];
  for (let i = 0; i < 4000; i++) refs.push(arena.append(source(i, 8192), 1));
  const heldBytes = arena.memoryBytes;
  assert(heldBytes > 32_000_000);
  const meta = { flags: 1, priority: 0, bodyBytes: 8192, arrivalMs: 5, expiryMs: Infinity };
  // Some are given up and others come, as they do where memory is short.
  for (const ref of refs) {
    arena.evict(ref, meta);
    arena.append(source(ref, 8192), 1);
  }
  assertLess(arena.memoryBytes, heldBytes + 3 * BLOCK_BYTES);
  assertEquals(arena.recordCount, 8000);
});

Deno.test("Arena frees a record with its last holder only", () => {
  const arena = new Arena();
  const ref = arena.append(source(1, 10), 2);
  arena.release(ref);
  assertHolds(arena, ref, 1, 10);
  arena.release(ref);
  assertEquals(arena.recordCount, 0);
  assertThrows(() => arena.release(ref));
});

Deno.test("Arena.compact() moves what is left of some blocks after others have gone as a whole", () => {
  const arena = new Arena();
  const perBlock = Math.floor(BLOCK_BYTES / 10_100);
  const refs = Array.from({ length: 40 * perBlock }, (_, i) => arena.append(source(i, 10_000), 1));
  const kept = refs.map((ref, seed) => ({ ref, seed })).filter(({ ref, seed }) => {
    const isKept = seed > 20 * perBlock && seed % 16 === 0;
    if (!isKept) arena.release(ref);
    return isKept;
  });
  let steps = 0;
  while (arena.compact() && steps < 10_000) steps++;
  assertLess(steps, 10_000);
  assertLess(arena.memoryBytes, 1.5 * arena.liveBytes + 6 * BLOCK_BYTES);
  for (const { ref, seed } of kept) assertHolds(arena, ref, seed, 10_000);
});
