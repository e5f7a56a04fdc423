// A short form of the crash simulation, and the proof that it can fail. A seed finds what it once found only
// until something changes, so what was found stands in test/unit/store/guards_test.ts as a sequence. Many
// more seeds:
// `deno run -A test/simulation/crash/main.ts --seeds 10000`; with `--crowded`, `--flips` or `--planted`
// the other tests of this file.

import { assertEquals, assertGreater, assertInstanceOf } from "@std/assert";
import { runFlips } from "./flips.ts";
import { Violation } from "./ledger.ts";
import { crowded, type Plan, planOf } from "./plan.ts";
import { PLANTED_BUGS } from "./planted_bugs.ts";
import { run, type RunResult } from "./simulation.ts";

const SEEDS = 30;
const CROWDED_SEEDS = 8;
const FLIP_SEEDS = 30;
const BUG_SEEDS_MAX = 60;

function crowdedPlanOf(seed: number): Plan {
  return crowded(planOf(seed));
}

async function runAll(seeds: readonly number[], planFor = planOf): Promise<RunResult[]> {
  const results: RunResult[] = [];
  for (const seed of seeds) results.push(await run(seed, { plan: planFor(seed) }));
  return results;
}

function firstSeeds(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

function sum(results: readonly RunResult[], of: (result: RunResult) => number): number {
  return results.reduce((total, result) => total + of(result), 0);
}

Deno.test("run() keeps every promise across the crashes of the first seeds", async () => {
  const results = await runAll(firstSeeds(SEEDS));
  // A simulation in which nothing happens proves nothing.
  assertGreater(sum(results, ({ lives }) => lives), SEEDS * 2);
  assertGreater(sum(results, ({ confirmed }) => confirmed), SEEDS * 10);
  assertGreater(sum(results, ({ snapshots }) => snapshots), SEEDS);
});

Deno.test("run() keeps every promise while much goes to pages and is moved", async () => {
  const results = await runAll(firstSeeds(CROWDED_SEEDS), crowdedPlanOf);
  assertGreater(sum(results, ({ moves }) => moves), CROWDED_SEEDS);
});

Deno.test("run() is the same run for the same seed", async () => {
  const [first, second] = await runAll([7, 7]);
  assertEquals(first, second);
});

for (const [bug, withBug] of Object.entries(PLANTED_BUGS)) {
  Deno.test(`run() finds out when ${bug}`, async () => {
    for (const seed of firstSeeds(BUG_SEEDS_MAX)) {
      const plan = crowdedPlanOf(seed);
      try {
        await withBug((options) => run(seed, { plan, ...options }));
      } catch (error) {
        assertInstanceOf(error, Violation);
        return;
      }
    }
    throw new Error(`${BUG_SEEDS_MAX} seeds did not find the bug`);
  });
}

for (const [name, planFor] of Object.entries({ plain: planOf, crowded: crowdedPlanOf })) {
  Deno.test(`runFlips() is told of bits that turned over, and gets the rest, ${name}`, () => {
    const results = firstSeeds(FLIP_SEEDS).map((seed) => runFlips(planFor(seed)));
    let [harmed, reports, served] = [0, 0, 0];
    for (const result of results) {
      harmed += result.harmed;
      reports += result.reports;
      served += result.served;
    }
    // Most bits cost nothing: what many messages hang on is written twice.
    assertGreater(harmed, FLIP_SEEDS / 3);
    assertGreater(reports, FLIP_SEEDS / 2);
    assertGreater(served, FLIP_SEEDS / 4);
  });
}
