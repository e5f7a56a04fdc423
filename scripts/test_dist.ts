// Tests `dist/` under what it is made for, or under those versions of Node, `bun` or `deno` that are named,
// and closes with one line as scripts/run_tests.ts does. `deno task test:dist` builds it first.

import process from "node:process";
import { runDistTests } from "./lib/dist_tests.ts";
import { DIST_ENGINES } from "./lib/runtimes.ts";
import { closingLine } from "./lib/tally.ts";

const named = process.argv.slice(2);
const tally = await runDistTests(named.length === 0 ? DIST_ENGINES : named, false);
for (const failure of tally.failures) console.log(`failed: ${failure}`);
console.log(closingLine(tally));
process.exit(tally.failed === 0 ? 0 : 1);
