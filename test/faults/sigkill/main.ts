// The long form of the SIGKILL test, a task of its own: many rounds with a broker under each runtime.
//   deno task sigkill [--rounds=50] [--seed=1] [--runtime=deno,bun,node] [-- flags of the broker]

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { programCommand, type RuntimeName, RUNTIMES } from "../../../scripts/lib/runtimes.ts";
import { startBroker } from "../../e2e/support/program.ts";
import { option } from "../../support/options.ts";
import { runKills } from "./rounds.ts";

const rounds = Number(option("rounds", "50"));
const seed = Number(option("seed", "1"));
const runtimes = option("runtime", RUNTIMES.join(",")).split(",") as RuntimeName[];
const dashes = process.argv.indexOf("--");
const flags = dashes < 0 ? [] : process.argv.slice(dashes + 1);

let failed = 0;
for (const runtime of runtimes) {
  const folder = mkdtempSync(join(tmpdir(), "reprise-sigkill-"));
  console.log(`--- ${runtime}: ${rounds} rounds, seed ${seed}`);
  const command = programCommand(runtime);
  const problems = await runKills({
    rounds,
    seed,
    folder,
    start: () => startBroker(["--data-dir", folder, ...flags], { command }),
    report: (line) => console.log(line),
  });
  for (const problem of problems) console.log(`PROBLEM ${problem}`);
  if (problems.length === 0) rmSync(folder, { recursive: true });
  else console.log(`the folder is kept: ${folder}`);
  failed += problems.length;
}
console.log(failed === 0 ? "nothing lost, nothing twice" : `${failed} problems`);
process.exit(failed === 0 ? 0 : 1);
