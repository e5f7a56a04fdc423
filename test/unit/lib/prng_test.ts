// Tests of src/lib/prng.ts: the same seed gives the same numbers for ever, on every runtime, and they
// are spread evenly enough. Run by every unit test run.

import { assert, assertEquals, assertGreater, assertLess, assertNotEquals } from "@std/assert";
import { Prng } from "../../../src/lib/prng.ts";

function take(prng: Prng, count: number): number[] {
  return Array.from({ length: count }, () => prng.nextU32());
}

Deno.test("Prng.nextU32() repeats its sequence when the seed is the same", () => {
  assertEquals(take(new Prng(7), 100), take(new Prng(7), 100));
  assertNotEquals(take(new Prng(7), 4), take(new Prng(8), 4));
  assertNotEquals(take(new Prng(7), 4), take(new Prng(7 + 2 ** 32), 4));
});

Deno.test("Prng.nextU32() gives the recorded numbers when seeded with 1", () => {
  // Recorded once: jitter and simulations must replay on every runtime and in every version.
  assertEquals(take(new Prng(1), 4), [573063952, 3268221502, 703077755, 2308299391]);
});

Deno.test("Prng.nextFloat() stays in [0, 1) and spreads evenly", () => {
  const prng = new Prng(3);
  const buckets = new Array<number>(10).fill(0);
  for (let i = 0; i < 10_000; i++) {
    const value = prng.nextFloat();
    assert(value >= 0 && value < 1);
    buckets[Math.floor(value * 10)]! += 1;
  }
  for (const count of buckets) {
    assertGreater(count, 850);
    assertLess(count, 1150);
  }
});

Deno.test("Prng.nextBelow() reaches every value below the bound and none at it", () => {
  const prng = new Prng(4);
  const seen = new Set<number>();
  for (let i = 0; i < 200; i++) seen.add(prng.nextBelow(5));
  assertEquals([...seen].sort(), [0, 1, 2, 3, 4]);
});
