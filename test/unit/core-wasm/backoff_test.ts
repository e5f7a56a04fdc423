// Retry delays: the shared vectors, the example of the request, and properties against arithmetic
// in big integers.

import { readFile } from "node:fs/promises";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { backoff } from "../../../core-wasm/mod.ts";

/** Cases as rows of numbers, in the order that the file's `_fields` name. */
interface Vectors {
  readonly delay: [
    min: number,
    multiplier: number,
    max: number,
    attempt: number,
    expected: number,
  ][];
  readonly jitter: [delay: number, percent: number, random: number, expected: number][];
}

const capMs = 2 ** 32 - 1;

async function readVectors(): Promise<Vectors> {
  const file = new URL("../../../core-wasm/vectors/delay.json", import.meta.url);
  return JSON.parse(await readFile(file, "utf8")) as Vectors;
}

Deno.test("backoff.delayMs() replays the shared vectors", async () => {
  const { delay } = await readVectors();
  assert(delay.length > 200);
  for (const [min, multiplier, max, attempt, expected] of delay) {
    const found = backoff.delayMs(min, multiplier, max, attempt);
    assertEquals([min, multiplier, max, attempt, found], [min, multiplier, max, attempt, expected]);
  }
});

Deno.test("backoff.jitterMs() replays the shared vectors", async () => {
  const { jitter } = await readVectors();
  assert(jitter.length > 200);
  for (const [delay, percent, random, expected] of jitter) {
    const found = backoff.jitterMs(delay, percent, random);
    assertEquals([delay, percent, random, found], [delay, percent, random, expected]);
  }
});

Deno.test("backoff.delayMs() gives the delays of the request's example", () => {
  const delays = [1, 2, 3, 4, 5].map((attempt) => backoff.delayMs(500, 2, 30_000, attempt));
  assertEquals(delays, [500, 1_000, 2_000, 4_000, 8_000]);
});

Deno.test("backoff.delayMs() is min·n or min·m^(n-1), clamped, for all of its domain", () => {
  const safe = fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.maxSafeNat().map((n) => n + 1));
  const multiplier = fc.oneof(
    fc.integer({ min: 0, max: 9 }),
    fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  );
  fc.assert(
    fc.property(safe, multiplier, fc.oneof(fc.constant(0), safe), safe, (min, m, max, n) => {
      const [bigMin, bigN] = [BigInt(Math.min(min, Number.MAX_SAFE_INTEGER)), BigInt(n)];
      const power = m < 2 ? 0n : bigN - 1n < 64n ? bigN - 1n : 64n;
      let expected = m === 0 ? bigMin * bigN : bigMin * BigInt(m) ** power;
      if (max !== 0 && expected > BigInt(max)) expected = BigInt(max);
      if (expected > BigInt(capMs)) expected = BigInt(capMs);
      assertEquals(backoff.delayMs(min, m, max, n), Number(expected));
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("backoff.delayMs() takes anything and answers within its range", () => {
  const any = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(NaN, Infinity, -Infinity, -0));
  fc.assert(
    fc.property(any, any, any, any, (min, multiplier, max, attempt) => {
      const delayMs = backoff.delayMs(min, multiplier, max, attempt);
      assert(Number.isInteger(delayMs) && delayMs >= 1 && delayMs <= capMs);
      const jittered = backoff.jitteredDelayMs(min, multiplier, max, attempt, max, min);
      assert(Number.isInteger(jittered) && jittered >= 1 && jittered <= delayMs);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("backoff.jitteredDelayMs() stays in [d - d·j/100, d] and reaches both ends", () => {
  assertEquals(backoff.jitteredDelayMs(1_000, 1, 0, 3, 20, 0), 1_000);
  assertEquals(backoff.jitteredDelayMs(1_000, 1, 0, 3, 20, 1 - 2 ** -53), 800);
  assertEquals(backoff.jitteredDelayMs(1, 1, 0, 1, 100, 0.999), 1);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: capMs }),
      fc.integer({ min: 0, max: 100 }),
      fc.double({ min: 0, max: 1 - 2 ** -53, noNaN: true }),
      (delayMs, percent, random) => {
        const jittered = backoff.jitterMs(delayMs, percent, random);
        assert(jittered <= delayMs && jittered >= 1);
        assert(jittered >= delayMs - (delayMs * percent) / 100);
      },
    ),
    { numRuns: 2_000 },
  );
});
