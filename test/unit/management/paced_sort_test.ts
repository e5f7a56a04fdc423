// The sort in steps beside the one of the language, and what it does between two pauses.

import { assertEquals, assertLess } from "@std/assert";
import fc from "fast-check";
import { Prng } from "../../../src/lib/prng.ts";
import { pacedSort } from "../../../src/management/paced_sort.ts";
import { Pace, Slices } from "../../../src/management/slices.ts";

const pace = () => new Pace(new Slices(() => Promise.resolve()));

Deno.test("pacedSort() orders like sort, equal items in the order they had", async () => {
  const property = fc.asyncProperty(fc.nat(3000), fc.integer(), async (length, seed) => {
    const random = new Prng(seed);
    const items = Array.from({ length }, (_, at) => ({ key: random.nextU32() % 50, at }));
    const compare = (a: { key: number }, b: { key: number }) => a.key - b.key;
    const expected = [...items].sort(compare);
    assertEquals(await pacedSort(items, compare, pace()), expected);
  });
  await fc.assert(property, { numRuns: 30 });
});

Deno.test("pacedSort() does a bounded piece of work between two pauses", async () => {
  let compared = 0;
  let most = 0;
  const slices = new Slices(() => {
    most = Math.max(most, compared);
    compared = 0;
    return Promise.resolve();
  });
  const random = new Prng(1);
  const items = Array.from({ length: 100_000 }, () => random.nextU32());
  const sorted = await pacedSort(items, (a, b) => {
    compared++;
    return a - b;
  }, new Pace(slices));
  assertEquals(sorted.every((value, at) => at === 0 || sorted[at - 1]! <= value), true);
  assertLess(most, 150_000);
});
