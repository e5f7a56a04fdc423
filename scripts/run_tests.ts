// Runs the tests under one runtime and closes with one line: `N passed, N failed, N skipped`.
// `deno task test`, `test:bun` and `test:node` call it; it runs on any of the three itself.
//
//   run_tests.ts [deno|bun|node|node@VERSION] [--disk] [SUITE or PATH ...]
//
// With --disk the tests that leave the store open run on the file store, alone unless paths follow.

import process from "node:process";
import { type RuntimeName, RUNTIMES } from "./lib/runtimes.ts";
import { BEHAVIOUR, runTests, suites, type TestRun } from "./lib/suites.ts";
import { closingLine } from "./lib/tally.ts";

function parse(args: string[]): TestRun | undefined {
  const [name = "deno", version] = (args[0] ?? "deno").split("@");
  if (!RUNTIMES.includes(name as RuntimeName)) return undefined;
  const isOnDisk = args[1] === "--disk";
  const paths = args.slice(isOnDisk ? 2 : 1);
  const only = isOnDisk && paths.length === 0 ? BEHAVIOUR : paths;
  return {
    runtime: name as RuntimeName,
    ...(version === undefined ? {} : { nodeVersion: version }),
    isOnDisk,
    ...(only.length === 0 ? {} : { only }),
  };
}

const request = parse(process.argv.slice(2));
if (request === undefined) {
  console.error(
    `usage: run_tests.ts [deno|bun|node|node@VERSION] [--disk] [${suites().join("|")}|PATH ...]`,
  );
  process.exit(2);
}
const tally = await runTests(request);
for (const failure of tally.failures) console.log(`failed: ${failure}`);
console.log(closingLine(tally));
process.exit(tally.failed === 0 ? 0 : 1);
