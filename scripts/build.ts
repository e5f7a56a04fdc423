// Bundles the program and the library into dist/, for Node versions that do not run TypeScript and for
// the npm package: dist/reprise.js is the executable, dist/mod.js the library door. `deno task build`
// calls it; with --smoke it also starts the bundle on the Node at hand and ends it again.

import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { startUntil } from "./lib/background.ts";
import { run } from "./lib/process.ts";
import { denoCommand, ROOT } from "./lib/runtimes.ts";

const DIST = join(ROOT, "dist");
const SHEBANG = "#!/usr/bin/env node\n";

async function bundle(source: string, target: string, more: string[]): Promise<void> {
  const output = join(DIST, target);
  const options = ["--platform=deno", "--packages=bundle", ...more, `--output=${output}`];
  const command = [...denoCommand(), "bundle", "--quiet", ...options, join(ROOT, source)];
  const result = await run(command, { cwd: ROOT, quiet: true });
  if (result.code !== 0 || !existsSync(output)) {
    throw new Error(`bundling ${source} failed:\n${result.output}`);
  }
}

/** Makes dist/ anew. */
async function build(): Promise<void> {
  rmSync(DIST, { recursive: true, force: true });
  mkdirSync(DIST);
  await bundle("src/main.ts", "reprise.js", []);
  await bundle("src/mod.ts", "mod.js", ["--declaration"]);
  const program = join(DIST, "reprise.js");
  const text = readFileSync(program, "utf8");
  writeFileSync(program, text.startsWith("#!") ? text : SHEBANG + text);
  chmodSync(program, 0o755);
}

/** Starts the bundle on the installed Node, whatever its version, and ends it as an operator would. */
async function smoke(): Promise<void> {
  const program = join(DIST, "reprise.js");
  const ports = ["--amqp-port", "0", "--http-port", "0", "--memory"];
  const broker = await startUntil(["node", program, ...ports], "reprise ready");
  const code = await broker.stop();
  if (code !== 0) throw new Error(`the bundle ended with code ${code} after SIGTERM`);
  const library = `import("${join(DIST, "mod.js")}").then((door) => {
    if (Object.keys(door).length === 0) throw new Error("the library exports nothing");
  })`;
  const result = await run(["node", "-e", library], { quiet: true });
  if (result.code !== 0) throw new Error(`the library does not load:\n${result.output}`);
  console.log(`dist/ runs on node ${(await run(["node", "-v"], { quiet: true })).output.trim()}`);
}

try {
  await build();
  if (process.argv.includes("--smoke")) await smoke();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
