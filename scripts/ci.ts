// What CI runs, start to end: every gate, the README's commands from fresh copies, the tests under each
// runtime, the Python clients and the examples. A failure is counted and the rest still runs; the one
// closing line sums everything. `.ci/run` calls it through `deno task ci`.

import process from "node:process";
import { guardSpeed } from "../bench/short/guard.ts";
import { checkReadme } from "./check_readme.ts";
import { startFromBareClone, testFromBareClone } from "./lib/bare_clone.ts";
import { runCoreHosts } from "./lib/core_hosts.ts";
import { runGates } from "./lib/gates.ts";
import { runPika } from "./lib/pika.ts";
import { NODE_MIN, RUNTIMES, VERSIONS } from "./lib/runtimes.ts";
import { BEHAVIOUR, runTests } from "./lib/suites.ts";
import { addCheck, addTally, closingLine, emptyTally, type Tally } from "./lib/tally.ts";

const total = emptyTally();

/** Runs one part, adds its tally and says how long it took; a part that throws is a failure. */
async function part(name: string, work: () => Promise<Tally>): Promise<void> {
  const startedMs = performance.now();
  console.log(`--- ${name}`);
  const tally = emptyTally();
  try {
    addTally(tally, await work());
  } catch (error) {
    console.log(error);
    addCheck(tally, `${name}: broke`, false);
  }
  addTally(total, tally);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(
    `    ${tally.passed} ok, ${tally.failed} not ok, ${tally.skipped} not run, ${seconds} s`,
  );
}

/** Parts that count into a tally given to them. */
function counted(work: (tally: Tally) => Promise<void>): () => Promise<Tally> {
  return async () => {
    const tally = emptyTally();
    await work(tally);
    return tally;
  };
}

await part("gates", counted(runGates));
await part("tests under Deno, from a bare clone", testFromBareClone);
await part("start from a bare clone", counted(startFromBareClone));
await part("behaviour on the file store", () => {
  return runTests({ runtime: "deno", only: BEHAVIOUR, isOnDisk: true, quiet: true });
});
await part("tests under Bun", () => runTests({ runtime: "bun", quiet: true }));
const versions: string[] = [VERSIONS.node, NODE_MIN];
for (const nodeVersion of versions) {
  await part(
    `tests under Node ${nodeVersion}`,
    () => runTests({ runtime: "node", nodeVersion, quiet: true }),
  );
}
for (const runtime of RUNTIMES) {
  await part(`Python client against ${runtime}`, () => runPika(runtime, true));
}
await part("examples of README and docs", () => checkReadme());
await part("hosts of the timing core", () => runCoreHosts());

await part("speed beside the baseline", async () => {
  const tally = emptyTally();
  const { ratios, regressions } = await guardSpeed();
  for (const name of Object.keys(ratios)) {
    addCheck(tally, `speed of ${name}`, regressions.every((one) => one.name !== name));
  }
  return tally;
});

for (const failure of total.failures) console.log(`failed: ${failure}`);
console.log(closingLine(total));
process.exit(total.failed === 0 ? 0 : 1);
