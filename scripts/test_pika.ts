// Runs the Python client tests against the broker under the named runtimes, or all of them, and closes
// with one line: `N passed, N failed, N skipped`. `deno task test:pika` calls it.

import process from "node:process";
import { runPika } from "./lib/pika.ts";
import { RUNTIMES } from "./lib/runtimes.ts";
import { addTally, closingLine, emptyTally } from "./lib/tally.ts";

const names = process.argv.slice(2);
const tally = emptyTally();
for (const runtime of RUNTIMES) {
  if (names.length > 0 && !names.includes(runtime)) continue;
  addTally(tally, await runPika(runtime, false));
}
for (const failure of tally.failures) console.log(`failed: ${failure}`);
console.log(closingLine(tally));
process.exit(tally.failed === 0 ? 0 : 1);
