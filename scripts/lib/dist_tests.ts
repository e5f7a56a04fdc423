// The client suite and the tests of the program and the library from outside, against `dist/`: what
// people run on a Node that does not run TypeScript, and what the package has for every runtime. The tests are compiled into a folder of their own,
// in which src/mod.ts is dist/mod.js and the program is dist/reprise.js. Used by scripts/test_dist.ts and
// scripts/ci.ts; it builds nothing.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { CACHE, installForNode } from "./packages.ts";
import { run } from "./process.ts";
import { bunCommand, denoCommand, nodeCommand, ROOT } from "./runtimes.ts";
import { testFiles } from "./suites.ts";
import { addCheck, addTally, emptyTally, readJunit, type Tally } from "./tally.ts";
import { tscCommand } from "./tools.ts";

/** What of the tests uses the library or the program as their users do, and what older engines lack. */
const SUITES: readonly string[] = [
  "clients",
  "e2e",
  "test/unit/mod_test.ts",
  "test/unit/lib/bytes_test.ts",
];
const RUNNER = "test/support/runners/plain_runner";
const ASSERTIONS = "test/support/assert";
const TIMEOUT_MS = 600_000;
const DIST = join(ROOT, "dist");

/** Nothing imports the programs that tests start. */
function typescriptIn(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(".ts"));
  return names.map((name) => `${folder}/${name}`);
}

/** Compiles tests and what they import; resolves to the folder, which can find the project's packages. */
async function compile(files: readonly string[]): Promise<string> {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "dist-tests-"));
  const flags = "--ignoreConfig --noCheck --rewriteRelativeImportExtensions --target es2022 " +
    "--module esnext --moduleResolution bundler";
  const folders = ["--rootDir", ROOT, "--outDir", folder];
  const programs = typescriptIn("test/e2e/support");
  const sources = [`${RUNNER}.ts`, `${ASSERTIONS}.ts`, ...programs, ...files];
  const command = [...tscCommand(), ...flags.split(" "), ...folders, ...sources];
  const { code, output } = await run(command, { cwd: ROOT, quiet: true });
  if (code !== 0) throw new Error(`compiling the tests failed:\n${output}`);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  const library = JSON.stringify(join(DIST, "mod.js"));
  writeFileSync(join(folder, "src/mod.js"), `export * from ${library};\n`);
  const assertions = JSON.stringify(join(folder, `${ASSERTIONS}.js`));
  for (const name of readdirSync(join(folder, "test"), { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".js")) continue;
    const path = join(folder, "test", name);
    writeFileSync(path, readFileSync(path, "utf8").replaceAll('"@std/assert"', assertions));
  }
  return folder;
}

/** What runs a compiled file: `deno`, `bun`, or Node by its version. */
function commandOf(engine: string): string[] {
  if (engine === "bun") return bunCommand();
  if (engine !== "deno") return nodeCommand(engine);
  installForNode();
  return [...denoCommand(), "run", "-A", "--no-config", "--node-modules-dir=manual"];
}

/** Runs the tests against `dist/` under versions of Node, `bun` and `deno`, one after another. */
export async function runDistTests(engines: readonly string[], quiet: boolean): Promise<Tally> {
  const tally = emptyTally();
  if (!existsSync(join(DIST, "reprise.js"))) throw new Error("dist/ is not built");
  const files = testFiles(SUITES);
  const folder = await compile(files);
  try {
    const compiled = files.map((file) => join(folder, file.replace(/\.ts$/, ".js")));
    for (const engine of engines) {
      const label = `dist under ${/^\d/.test(engine) ? `node ${engine}` : engine}`;
      const report = join(folder, `${engine}.xml`);
      const command = [...commandOf(engine), join(folder, `${RUNNER}.js`), report, ...compiled];
      const result = await run(command, {
        cwd: folder,
        timeoutMs: TIMEOUT_MS,
        quiet,
        env: { TEST_DIST: DIST },
      });
      const counted = existsSync(report)
        ? readJunit(readFileSync(report, "utf8"), label)
        : emptyTally();
      if (result.timedOut) addCheck(counted, `${label}: took too long`, false);
      else if (counted.passed + counted.failed === 0) {
        addCheck(counted, `${label}: ran no test`, false);
      } else if (result.code !== 0 && counted.failed === 0) {
        addCheck(counted, `${label}: exit code ${result.code} outside of any test`, false);
      }
      if (counted.failed > 0 && quiet) console.log(result.output);
      const { passed, failed } = counted;
      console.log(`${label}: ${passed} passed, ${failed} failed`);
      addTally(tally, counted);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return tally;
}
