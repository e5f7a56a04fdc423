// The differential fuzzer: random sequences of methods against Reprise and RabbitMQ, side by side.
//   deno task fuzz:rabbitmq [--count=10000] [--seed=1] [--seconds=…] [--keep-going]
// Prints the seed and the shrunk sequence of each difference; exits with 1 when there was one.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fuzz } from "./fuzz.ts";
import { option } from "../support/options.ts";
import { hasRabbitMq } from "./rabbitmq.ts";

if (!hasRabbitMq()) {
  console.log("RabbitMQ is not installed here: apt-get install rabbitmq-server");
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "reprise-fuzz-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const result = await fuzz({
  folder,
  count: Number(option("count", "10000")),
  seed: Number(option("seed", "1")),
  secondsMax: Number(option("seconds", "Infinity")),
  keepsGoing: process.argv.includes("--keep-going"),
  report: (line) => console.log(line),
});
for (const [kind, count] of [...result.said].sort(([, a], [, b]) => b - a)) {
  console.log(`${count}`.padStart(8), kind);
}
const { programCount, stepCount, methodCount, differenceCount, unstableCount } = result;
console.log(
  `${programCount} sequences, ${stepCount} steps, ${methodCount} methods, ` +
    `${differenceCount} differences, ${unstableCount} not seen again, ` +
    `started over ${result.startedOverCount} times`,
);
process.exit(result.differenceCount === 0 ? 0 : 1);
