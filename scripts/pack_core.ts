// Assembles dist/timing-core/, the folder that `npm publish` and `jsr publish` take: the bindings as
// one JavaScript module, their sources, the raw module, the vectors and the README. Run under Deno by
// `deno run -A scripts/pack_core.ts`; it publishes nothing.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const rootDir = fileURLToPath(new URL("../", import.meta.url));
const coreDir = join(rootDir, "core-wasm");
const outDir = join(rootDir, "dist", "timing-core");

rmSync(outDir, { recursive: true, force: true });
mkdirSync(join(outDir, "src"), { recursive: true });
for (const name of readdirSync(coreDir).filter((name) => name.endsWith(".ts"))) {
  cpSync(join(coreDir, name), join(outDir, "src", name));
}
for (const name of ["README.md", "reprise_core.wasm", "vectors"]) {
  cpSync(join(coreDir, name), join(outDir, name), { recursive: true });
}
for (const name of ["package.json", "jsr.json"]) {
  cpSync(join(coreDir, "package", name), join(outDir, name));
}
cpSync(join(rootDir, "LICENSE"), join(outDir, "LICENSE"));
execFileSync(process.execPath, [
  "bundle",
  "--quiet",
  "--platform=browser",
  "--output",
  join(outDir, "mod.js"),
  join(coreDir, "mod.ts"),
], { stdio: "inherit" });
console.log(`packed into ${outDir}`);
