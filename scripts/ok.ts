// Every gate on one machine with one runtime: what to run before a commit (`deno task ok`). CI runs
// the same gates and then the tests on every runtime: scripts/ci.ts.

import process from "node:process";
import { runGates } from "./lib/gates.ts";
import { runTests } from "./lib/suites.ts";
import { addTally, closingLine, emptyTally } from "./lib/tally.ts";

const tally = emptyTally();
await runGates(tally);
addTally(tally, await runTests({ runtime: "deno", quiet: true }));
for (const failure of tally.failures) console.log(`failed: ${failure}`);
console.log(closingLine(tally));
process.exit(tally.failed === 0 ? 0 : 1);
