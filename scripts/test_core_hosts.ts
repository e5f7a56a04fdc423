// Runs the embeddings of the core in core-wasm/hosts, or the named ones, and closes with one line:
// `N passed, N failed, N skipped`. `deno task test:hosts` calls it; exit code 1 after a failure.

import process from "node:process";
import { HOST_NAMES, runCoreHosts } from "./lib/core_hosts.ts";
import { closingLine } from "./lib/tally.ts";

const names = process.argv.slice(2);
const unknown = names.find((name) => !HOST_NAMES.includes(name));
if (unknown !== undefined) {
  console.error(`no host ${unknown}; there are ${HOST_NAMES.join(", ")}`);
  process.exit(2);
}
const tally = await runCoreHosts(names.length === 0 ? HOST_NAMES : names);
console.log(closingLine(tally));
process.exit(tally.failed === 0 ? 0 : 1);
