// The guard against lost speed: a planted regression is caught, noise is not taken for one.

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  better,
  judge,
  ratioOf,
  type Ratios,
  regressions,
} from "../../../../bench/short/compare.ts";
import { seededNumbers } from "../../core-wasm/seeded_numbers.ts";

const baseline: Ratios = { "hold 100000": 2, "hold 1000000": 6, "broker": 1.1 };

/** Times of alternating rounds as a busy machine gives them: all of them up to twice as long. */
function noisyRatio(seed: number, coreNs: number, otherNs: number): number {
  const random = seededNumbers(seed);
  const times = (ns: number) => Array.from({ length: 5 }, () => ns * (1 + random() ** 4));
  return ratioOf(times(coreNs), times(otherNs));
}

/** Measures with other noise each time. */
function machine(coreNs: number, seed: number): (names: readonly string[]) => Promise<Ratios> {
  return (names) => {
    const measured = names.map((name) => [
      name,
      noisyRatio(seed++, coreNs, 100 * baseline[name]!),
    ]);
    return Promise.resolve(Object.fromEntries(measured));
  };
}

Deno.test("ratioOf() is the median of the rounds' ratios", () => {
  assertEquals(ratioOf([1, 1, 10], [2, 3, 2]), 2);
  assertAlmostEquals(ratioOf([1, 2], [3, 4]), 2.5);
});

Deno.test("regressions() finds what fell below half, and what was not measured", () => {
  const found = regressions({ "hold 100000": 1.01, "hold 1000000": 2.9 }, baseline);
  assertEquals(found, [
    { name: "hold 1000000", found: 2.9, baseline: 6 },
    { name: "broker", found: NaN, baseline: 1.1 },
  ]);
  assertEquals(regressions(baseline, baseline), []);
  assertEquals(regressions({ ...baseline, "something new": 0.1 }, baseline), []);
});

Deno.test("better() keeps the higher ratio of each name", () => {
  assertEquals(better({ a: 1, b: 5 }, { a: 2, b: 4, c: 3 }), { a: 2, b: 5, c: 3 });
});

Deno.test("judge() passes on the noise of a busy machine", async () => {
  for (let run = 0; run < 200; run++) {
    assertEquals((await judge(machine(100, run * 100), baseline)).regressions, []);
  }
});

Deno.test("judge() catches a planted regression through the noise", async () => {
  for (let run = 0; run < 200; run++) {
    const { regressions } = await judge(machine(350, run * 100), baseline);
    assertEquals(regressions.map((one) => one.name), Object.keys(baseline));
  }
});

Deno.test("judge() measures once more before it fails, and only what looked slow", async () => {
  const asked: string[][] = [];
  const disturbed = (names: readonly string[]) => {
    asked.push([...names]);
    return Promise.resolve(asked.length === 1 ? { ...baseline, broker: 0.2 } : { broker: 1.2 });
  };
  const judgement = await judge(disturbed, baseline);
  assertEquals(asked, [Object.keys(baseline), ["broker"]]);
  assertEquals(judgement.regressions, []);
  assertEquals(judgement.ratios["broker"], 1.2);
  assert(judgement.ratios["hold 1000000"] === 6);
});
