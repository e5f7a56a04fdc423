// Runs the simulation for many seeds: `deno run -A test/simulation/main.ts --seeds 1000 [--from 1]
// [--steps 400]`. Prints every seed that fails; exit code 1 if any did. The suite runs a few seeds.

import process from "node:process";
import { simulate } from "./simulate.ts";

function option(name: string, otherwise: number): number {
  const index = process.argv.indexOf(`--${name}`);
  return index < 0 ? otherwise : Number(process.argv[index + 1]);
}

const from = option("from", 1);
const count = option("seeds", 100);
const steps = option("steps", 400);
let failureCount = 0;
let deliveryCount = 0;
let retryCount = 0;
let messageCount = 0;
for (let seed = from; seed < from + count; seed++) {
  try {
    const result = simulate(seed, { steps });
    deliveryCount += result.deliveryCount;
    retryCount += result.retryCount;
    messageCount += result.messageCount;
  } catch (error) {
    failureCount++;
    console.log(error instanceof Error ? error.message : String(error));
    if (count === 1) console.log((error as Error).cause);
  }
}
const totals = `${messageCount} messages, ${deliveryCount} deliveries, ${retryCount} retries`;
console.log(`${count} seeds, ${failureCount} failed; ${totals}`);
process.exit(failureCount === 0 ? 0 : 1);
