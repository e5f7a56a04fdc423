// What CI runs, start to end: every gate, the README's commands from fresh copies, the tests under each
// runtime, `dist/` under each Node, the Python clients and the examples. Parts run side by side, each in a
// process of its own, as many as there are processors; what measures runs alone. A failure is counted and
// the rest still runs; the one closing line sums everything. `.ci/run` calls it through `deno task ci`.
//
//   ci.ts [PART ...]    the named parts alone, one after another; --list names all

import { availableParallelism } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bringEverything, PARTS } from "./lib/ci_parts.ts";
import { runLanes } from "./lib/lanes.ts";
import { run } from "./lib/process.ts";
import { denoCommand, ROOT } from "./lib/runtimes.ts";
import { addCheck, addTally, closingLine, emptyTally, readClosingLine } from "./lib/tally.ts";
import type { Tally } from "./lib/tally.ts";

/** More side by side would only make them slower: a run of tests keeps more than one processor busy. */
const LANES_MAX = 4;

/** Runs one part here; a part that throws is a failure. */
async function runHere(name: string): Promise<Tally> {
  const tally = emptyTally();
  const part = PARTS.find((one) => one.name === name);
  try {
    if (part === undefined) throw new Error(`no such part, there are: ${names().join(", ")}`);
    addTally(tally, await part.run());
  } catch (error) {
    console.log(error);
    addCheck(tally, `${name}: broke`, false);
  }
  return tally;
}

function names(): string[] {
  return PARTS.map(({ name }) => name);
}

/** Runs one part in a process of its own and prints what it printed when it has ended. */
async function runApart(name: string): Promise<Tally> {
  const startedMs = performance.now();
  const command = [...denoCommand(), "run", "-A", fileURLToPath(import.meta.url), name];
  const { code, output } = await run(command, { cwd: ROOT, quiet: true });
  const tally = readClosingLine(output, name);
  if (code !== 0 && tally.failed === 0) addCheck(tally, `${name}: exit code ${code}`, false);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(`--- ${name}`);
  // Its failures are named once, at the end of everything.
  console.log(output.replace(/^(failed: .*|\d+ passed, \d+ failed, \d+ skipped)\n/gm, "").trim());
  const { passed, failed, skipped } = tally;
  console.log(`    ${passed} ok, ${failed} not ok, ${skipped} not run, ${seconds} s`);
  return tally;
}

const args = process.argv.slice(2);
if (args.includes("--list")) {
  console.log(names().join("\n"));
  process.exit(0);
}
const total = emptyTally();
if (args.length > 0) {
  for (const name of args) addTally(total, await runHere(name));
} else {
  const startedMs = performance.now();
  bringEverything();
  const lanes = Math.min(LANES_MAX, availableParallelism());
  const tallies = await runLanes(PARTS, lanes, ({ name }) => runApart(name));
  for (const tally of tallies) addTally(total, tally);
  console.log(`all parts: ${((performance.now() - startedMs) / 60_000).toFixed(1)} min`);
}
for (const failure of total.failures) console.log(`failed: ${failure}`);
console.log(closingLine(total));
process.exit(total.failed === 0 ? 0 : 1);
