// Says what the sources use that the oldest engine does not have; exit code 1 if there is anything. A gate
// of `deno task ok` and of CI.

import process from "node:process";
import { newerThanOldest } from "./lib/oldest_engine.ts";

const found = await newerThanOldest(["src/main.ts", "src/mod.ts"]);
for (const line of found) console.log(line);
console.log(found.length === 0 ? "nothing is newer than Node 20" : "Node 20 does not have these");
process.exit(found.length === 0 ? 0 : 1);
