// Runs the tests under one runtime and closes with one line: `N passed, N failed, N skipped`.
// `deno task test`, `test:bun` and `test:node` call it; it runs on any of the three itself.
//
//   run_tests.ts [deno|bun|node|node@VERSION] [SUITE or PATH ...]

import process from "node:process";
import { type RuntimeName, RUNTIMES } from "./lib/runtimes.ts";
import { runTests, suites, type TestRun } from "./lib/suites.ts";
import { closingLine } from "./lib/tally.ts";

function parse(args: string[]): TestRun | undefined {
  const [name = "deno", version] = (args[0] ?? "deno").split("@");
  if (!RUNTIMES.includes(name as RuntimeName)) return undefined;
  const only = args.slice(1);
  return {
    runtime: name as RuntimeName,
    ...(version === undefined ? {} : { nodeVersion: version }),
    ...(only.length === 0 ? {} : { only }),
  };
}

const request = parse(process.argv.slice(2));
if (request === undefined) {
  console.error(
    `usage: run_tests.ts [deno|bun|node|node@VERSION] [${suites().join("|")}|PATH ...]`,
  );
  process.exit(2);
}
const tally = await runTests(request);
for (const failure of tally.failures) console.log(`failed: ${failure}`);
console.log(closingLine(tally));
process.exit(tally.failed === 0 ? 0 : 1);
