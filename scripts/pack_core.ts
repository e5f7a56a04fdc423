// Assembles dist/timing-core/, the folder that `npm publish` and `jsr publish` take: the bindings as
// one JavaScript module with their types, their sources, the raw module, the vectors and the README.
// Run by `deno run -A scripts/pack_core.ts`; with --check it packs into a scratch folder and uses the
// package as npm would install it. It publishes nothing.

import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { checkInstalled, checkMetadata } from "./lib/packed_core.ts";
import { run } from "./lib/process.ts";
import { denoCommand, ROOT } from "./lib/runtimes.ts";
import { tscCommand } from "./lib/tools.ts";

const coreDir = join(ROOT, "core-wasm");

/** Judges metadata, files and types as JSR does, and sends nothing. */
const publish = [...denoCommand(), "publish", "--dry-run", "--allow-dirty"];

async function step(command: readonly string[], what: string, cwd = ROOT): Promise<void> {
  const { code, output } = await run(command, { cwd, quiet: true });
  if (code !== 0) throw new Error(`${what} failed:\n${output}`);
}

async function pack(outDir: string): Promise<void> {
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
  cpSync(join(ROOT, "LICENSE"), join(outDir, "LICENSE"));
  const source = join(coreDir, "mod.ts");
  const bundle = ["bundle", "--quiet", "--platform=browser", "--output", join(outDir, "mod.js")];
  await step([...denoCommand(), ...bundle, source], "bundling");
  const declare = "--ignoreConfig --noCheck --declaration --emitDeclarationOnly " +
    "--rewriteRelativeImportExtensions --stripInternal --target es2023 --lib es2023,dom " +
    "--module preserve --moduleResolution bundler";
  const folders = ["--rootDir", coreDir, "--outDir", join(outDir, "types")];
  await step([...tscCommand(), ...declare.split(" "), ...folders, source], "writing the types");
}

async function check(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "reprise-pack-"));
  try {
    const packed = join(scratch, "packed");
    await pack(packed);
    checkMetadata(packed);
    await step(publish, "what JSR would say", packed);
    cpSync(packed, join(scratch, "node_modules/@reprise/timing-core"), { recursive: true });
    await checkInstalled(scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

if (process.argv.includes("--check")) {
  await check();
  console.log("the package has valid metadata, is typed and runs");
} else {
  const outDir = join(ROOT, "dist/timing-core");
  await pack(outDir);
  console.log(`packed into ${outDir}`);
}
