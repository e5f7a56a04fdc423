// Bundles the program and the library into dist/, for Node versions that do not run TypeScript and for
// the npm package: dist/reprise.js is the executable, dist/mod.js the library door. `deno task build`
// calls it; with --smoke it also starts the bundle on the Node at hand and ends it again, and uses the
// types of the library, which are dist/mod.d.ts.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { startUntil } from "./lib/background.ts";
import { checkTypesByPath } from "./lib/typed_library.ts";
import { run } from "./lib/process.ts";
import { rollTypes } from "./lib/rolled_types.ts";
import { denoCommand, ROOT } from "./lib/runtimes.ts";
import { tscCommand } from "./lib/tools.ts";

const DIST = join(ROOT, "dist");
const SHEBANG = "#!/usr/bin/env node\n";
// `AsyncDisposable`, for programs that are compiled for an older library.
const LIBRARY_TYPES = '/// <reference lib="esnext.disposable" />\n';

async function bundle(source: string, target: string): Promise<void> {
  const output = join(DIST, target);
  const options = ["--platform=deno", "--packages=bundle", `--output=${output}`];
  const command = [...denoCommand(), "bundle", "--quiet", ...options, join(ROOT, source)];
  const result = await run(command, { cwd: ROOT, quiet: true });
  if (result.code !== 0 || !existsSync(output)) {
    throw new Error(`bundling ${source} failed:\n${result.output}`);
  }
}

/** Writes the types of the library; they were checked by `deno task check`, so only emitted here. */
async function declare(source: string, target: string): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "reprise-types-"));
  try {
    const flags = "--ignoreConfig --noCheck --declaration --emitDeclarationOnly " +
      "--target esnext --module preserve --moduleResolution bundler --allowImportingTsExtensions";
    const folders = ["--rootDir", ROOT, "--outDir", scratch];
    const command = [...tscCommand(), ...flags.split(" "), ...folders, source];
    const result = await run(command, { cwd: ROOT, quiet: true });
    if (result.code !== 0) throw new Error(`the types of ${source} failed:\n${result.output}`);
    const types = rollTypes(join(scratch, source.replace(/\.ts$/, ".d.ts")));
    writeFileSync(join(DIST, target), LIBRARY_TYPES + types);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

function prepend(target: string, line: string): void {
  const path = join(DIST, target);
  const text = readFileSync(path, "utf8");
  if (!text.startsWith(line)) writeFileSync(path, line + text);
}

/** Makes dist/ anew. */
async function build(): Promise<void> {
  rmSync(DIST, { recursive: true, force: true });
  mkdirSync(DIST);
  await bundle("src/main.ts", "reprise.js");
  await bundle("src/mod.ts", "mod.js");
  await declare("src/mod.ts", "mod.d.ts");
  // TypeScript finds the types by their place, Deno by this line.
  prepend("mod.js", '// @ts-self-types="./mod.d.ts"\n');
  prepend("reprise.js", SHEBANG);
  chmodSync(join(DIST, "reprise.js"), 0o755);
}

/** Starts the bundle on the installed Node, whatever its version, and ends it as an operator would. */
async function smoke(): Promise<void> {
  const program = join(DIST, "reprise.js");
  const ports = ["--amqp-port", "0", "--http-port", "0", "--memory"];
  const broker = await startUntil(["node", program, ...ports], "reprise ready");
  const code = await broker.stop();
  if (code !== 0) throw new Error(`the bundle ended with code ${code} after SIGTERM`);
  const library = `import { Broker } from ${JSON.stringify(join(DIST, "mod.js"))};
    const broker = await Broker.start({ amqp: { port: 0 } });
    await broker.close();`;
  const script = ["node", "--input-type=module", "-e", library];
  const result = await run(script, { quiet: true, timeoutMs: 60_000 });
  if (result.code !== 0) throw new Error(`the library does not start and close:\n${result.output}`);
  await checkTypesByPath(DIST);
  console.log(`dist/ runs on node ${(await run(["node", "-v"], { quiet: true })).output.trim()}`);
}

try {
  await build();
  if (process.argv.includes("--smoke")) await smoke();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
