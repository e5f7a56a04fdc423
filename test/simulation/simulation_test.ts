// A short form of the simulation, and the proof that it can fail. Many more seeds:
// `deno run -A test/simulation/main.ts --seeds 1000`.

import { assertGreater } from "@std/assert";
import { PLANTED_BUGS } from "./planted_bugs.ts";
import { simulate, SimulationFailure } from "./simulate.ts";

const SEEDS = 25;
const BUG_SEEDS_MAX = 20;

Deno.test("simulate() keeps every promise for the first seeds", () => {
  let deliveryCount = 0;
  let retryCount = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const result = simulate(seed);
    deliveryCount += result.deliveryCount;
    retryCount += result.retryCount;
  }
  // A simulation in which nothing happens proves nothing.
  assertGreater(deliveryCount, SEEDS * 50);
  assertGreater(retryCount, SEEDS * 5);
});

for (const [bug, plant] of Object.entries(PLANTED_BUGS)) {
  Deno.test(`simulate() finds out when ${bug}`, () => {
    for (let seed = 1; seed <= BUG_SEEDS_MAX; seed++) {
      try {
        simulate(seed, { node: plant() });
      } catch (error) {
        if (error instanceof SimulationFailure) return;
        throw error;
      }
    }
    throw new Error(`${BUG_SEEDS_MAX} seeds did not find the bug`);
  });
}

Deno.test("simulate() is the same run for the same seed", () => {
  const [first, second] = [simulate(7), simulate(7)];
  if (JSON.stringify(first) !== JSON.stringify(second)) throw new Error("two different runs");
});
