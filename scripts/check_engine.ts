// Says what the sources use that the oldest engine does not have; exit code 1 if there is anything. A gate
// of `deno task ok` and of CI.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { newerSyntax, newerThanOldest } from "./lib/oldest_engine.ts";
import { installForNode } from "./lib/packages.ts";
import { ROOT } from "./lib/runtimes.ts";

// The types of the packages that the sources import.
installForNode();
const found = await newerThanOldest(["src/main.ts", "src/mod.ts"]);
for (const folder of ["src", "core-wasm"]) {
  for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".ts") || name.startsWith("assembly")) continue;
    const path = `${folder}/${name.replaceAll("\\", "/")}`;
    found.push(...newerSyntax(path, readFileSync(join(ROOT, path), "utf8")));
  }
}
for (const line of found) console.log(line);
console.log(found.length === 0 ? "nothing is newer than Node 20" : "Node 20 does not have these");
process.exit(found.length === 0 ? 0 : 1);
