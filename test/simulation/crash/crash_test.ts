// A short form of the crash simulation, and the proof that it can fail. Many more seeds:
// `deno run -A test/simulation/crash/main.ts --seeds 10000`; with `--crowded`, `--flips` or `--planted`
// the other tests of this file.

import { assertEquals, assertGreater, assertInstanceOf } from "@std/assert";
import { runFlips } from "./flips.ts";
import { Violation } from "./ledger.ts";
import { crowded, type Plan, planOf } from "./plan.ts";
import { PLANTED_BUGS } from "./planted_bugs.ts";
import { run, type RunResult } from "./simulation.ts";

const SEEDS = 10;
const CROWDED_SEEDS = 5;
const FLIP_SEEDS = 30;
const BUG_SEEDS_MAX = 60;

/** Seeds that once failed, by what they found. */
const FOUND: Readonly<Record<string, readonly number[]>> = {
  "tiny messages are moved from file to file for ever": [11427, 11447],
  "batches are given up behind one that no log file has taken": [12468],
  "a move that a full disk refuses is tried again for ever": [31562],
  "a batch that is not needed is taken for a sign that those before are safe": [206975],
  "a backlog without memory takes more turns than were given to it": [41643],
  "a snapshot in place of a log holds part of a batch": [62461],
  "a snapshot is removed that the manifest names, though not for sure": [5100104],
  "a start without room takes a file for safe whose name is not": [5000946],
  "other things, before these tests were": [
    ...[15, 29, 136, 1023, 1181, 3278, 3302],
    ...[3626, 3898, 5268, 5423, 5865, 6040, 6384],
  ],
};

/** The same in the crowded form. */
const FOUND_CROWDED: Readonly<Record<string, readonly number[]>> = {
  "the end waits for no delay of days": [7100634],
};

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

for (const [found, planFor] of [[FOUND, planOf], [FOUND_CROWDED, crowdedPlanOf]] as const) {
  for (const [what, seeds] of Object.entries(found)) {
    Deno.test(`run() keeps every promise for the seeds that once found: ${what}`, async () => {
      await runAll(seeds, planFor);
    });
  }
}

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
    assertGreater(harmed, FLIP_SEEDS);
    assertGreater(reports, FLIP_SEEDS / 2);
    assertGreater(served, FLIP_SEEDS / 4);
  });
}
