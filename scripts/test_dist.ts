// Tests `dist/` under the versions of Node that it is made for, or those named, and closes with one line
// as scripts/run_tests.ts does. `deno task test:dist` builds it first.

import process from "node:process";
import { runDistTests } from "./lib/dist_tests.ts";
import { NODE_DIST } from "./lib/runtimes.ts";
import { closingLine } from "./lib/tally.ts";

const versions = process.argv.slice(2);
const tally = await runDistTests(versions.length === 0 ? NODE_DIST : versions, false);
for (const failure of tally.failures) console.log(`failed: ${failure}`);
console.log(closingLine(tally));
process.exit(tally.failed === 0 ? 0 : 1);
