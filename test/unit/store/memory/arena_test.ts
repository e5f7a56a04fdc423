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

/** A record of exactly so many bytes, with its header of 40. */
function sized(recordBytes: number): MessageSource {
  const body = new Uint8Array(recordBytes - 40);
  return { ...emptySource(), body, bodyStart: 0, bodyEnd: body.length };
}

/** Blocks in use, ordinary and others, by what the arena says about its memory. */
function heldBytes(arena: Arena): number {
  return arena.memoryBytes - new Arena().memoryBytes + BLOCK_BYTES;
}

Deno.test("Arena fills a block to its last byte before it opens another", () => {
  const quarter = BLOCK_BYTES / 4;
  for (const [last, blocks] of [[quarter - 8, 1], [quarter, 1], [quarter + 8, 2]] as const) {
    const arena = new Arena();
    for (let times = 0; times < 3; times++) arena.append(sized(quarter), 1);
    arena.append(sized(last), 1);
    const own = last > quarter ? last : BLOCK_BYTES;
    assertEquals(heldBytes(arena), blocks === 1 ? BLOCK_BYTES : BLOCK_BYTES + own);
    assertEquals(arena.liveBytes, 3 * quarter + last);
    assertEquals(arena.usedBytes, 3 * quarter + last + 4 * 8);
  }
  const arena = new Arena();
  for (let times = 0; times < 4; times++) arena.append(sized(quarter), 1);
  arena.append(sized(48), 1);
  assertEquals(heldBytes(arena), 2 * BLOCK_BYTES);
});

Deno.test("Arena starts over in its block when nothing in it is alive", () => {
  const arena = new Arena();
  for (let times = 0; times < 100; times++) {
    const refs = [1, 2, 3].map(() => arena.append(sized(BLOCK_BYTES / 4), 1));
    for (const ref of refs) assertEquals(arena.release(ref), true);
    assertEquals([heldBytes(arena), arena.liveBytes, arena.recordCount], [BLOCK_BYTES, 0, 0]);
  }
});

Deno.test("Arena gives a large record's block back with the record", () => {
  const arena = new Arena();
  const large = arena.append(sized(BLOCK_BYTES / 4 + 8), 2);
  assertEquals(heldBytes(arena), BLOCK_BYTES + BLOCK_BYTES / 4 + 8);
  assertEquals([arena.release(large), arena.release(large)], [false, true]);
  assertEquals(heldBytes(arena), BLOCK_BYTES);
  const exact = arena.append(sized(BLOCK_BYTES), 1);
  assertEquals(heldBytes(arena), 2 * BLOCK_BYTES);
  arena.release(exact);
  assertEquals(heldBytes(arena), BLOCK_BYTES);
});

Deno.test("Arena keeps holders, facts and parts of a record that goes to a disk and comes back", () => {
  const arena = new Arena();
  const refs = [7, 8, 9].map((seed) => arena.append(source(seed, 100), seed));
  const before = arena.liveBytes;
  const meta = { flags: 5, priority: 3, bodyBytes: 100, arrivalMs: 1, expiryMs: 2 };
  arena.evict(refs[1]!, meta);
  assertEquals(arena.liveBytes, before - 152 + 40);
  assertEquals(refs.map((ref) => arena.isResident(ref)), [true, false, true]);
  assertEquals(arena.open(refs[1]!, emptyView()), false);
  const view = emptyView();
  arena.describe(refs[1]!, view);
  assertEquals([view.flags, view.priority, view.arrivalMs, view.expiryMs], [5, 3, 1, 2]);
  assertEquals(view.bodyEnd - view.bodyStart, 100);
  const stub = arena.appendStub(meta, 2);
  assertEquals([arena.isResident(stub), arena.isAlive(stub), arena.recordCount], [false, true, 4]);
  arena.fill(refs[1]!, source(8, 100));
  assertEquals(arena.liveBytes, before + 40);
  for (const [index, ref] of refs.entries()) assertHolds(arena, ref, index + 7, 100);
  assertEquals([arena.release(stub), arena.release(stub)], [false, true]);
  for (const [index, ref] of refs.entries()) {
    const outcomes = Array.from({ length: index + 7 }, () => arena.release(ref));
    assertEquals(outcomes.indexOf(true), index + 6);
    assertEquals(arena.isAlive(ref), false);
  }
  assertEquals([arena.recordCount, arena.liveBytes, arena.usedBytes], [0, 0, 0]);
  assert(arena.refEnd > Math.max(...refs, stub));
  assertEquals(heldBytes(arena), BLOCK_BYTES);
});
