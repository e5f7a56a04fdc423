// The test suites and how each runtime runs them. Used by scripts/run_tests.ts and scripts/ci.ts.
// Every suite must have tests: a folder that is missing or empty is a failure, never a silent pass.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TEST_TIMEOUT_MS } from "../../test/support/runners/timeout.ts";
import { run } from "./process.ts";
import { bunCommand, denoCommand, nodeCommand, ROOT, type RuntimeName } from "./runtimes.ts";
import { addCheck, addTally, emptyTally, readJunit, type Tally } from "./tally.ts";

/** Suites that must be there; a further folder in test/ is a suite as well. */
const REQUIRED: readonly string[] = ["unit", "model", "fuzz", "simulation", "clients", "e2e"];

/** What tests share; no suite. */
const SUPPORT = "support";

/** The suites, which are the folders of test/, in the order in which they run. */
export function suites(): string[] {
  const folders = readdirSync(join(ROOT, "test"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== SUPPORT)
    .map((entry) => entry.name);
  return [...new Set([...REQUIRED, ...folders.sort()])];
}

/** Tests of tools that run under Deno alone. */
const DENO_ONLY = "test/unit/scripts/";

/** All tests of one runtime may take this long. */
const RUN_TIMEOUT_MS = 900_000;

/** What to run and how to show it. */
export interface TestRun {
  /** The runtime to run under. */
  runtime: RuntimeName;
  /** Suites, or paths of folders or files; all suites by default. */
  only?: readonly string[];
  /** An exact version of Node instead of the one at hand. */
  nodeVersion?: string;
  /** Prints the runner's output only if something failed. */
  quiet?: boolean;
  /** Runs them over the file store on a disk in memory, where tests leave the store open. */
  isOnDisk?: boolean;
}

/** Suites, folders and files whose tests leave the store open: the behaviour of the broker. */
export const BEHAVIOUR: readonly string[] = [
  "test/unit/session",
  "test/unit/broker",
  "test/unit/management",
  "model",
  // The crash simulation brings its own store.
  "test/simulation/simulation_test.ts",
];

/** Runs the tests and counts them; a run that breaks counts as one failure more. */
export async function runTests(request: TestRun): Promise<Tally> {
  const tally = emptyTally();
  const runtime = request.nodeVersion ? `node ${request.nodeVersion}` : request.runtime;
  const label = request.isOnDisk ? `${runtime} on disk` : runtime;
  const files = collect(request, tally, label);
  if (files.length === 0) return tally;
  const folder = mkdtempSync(join(tmpdir(), "reprise-tests-"));
  const report = join(folder, "junit.xml");
  try {
    const result = await run(testCommand(request, files, report), {
      cwd: ROOT,
      timeoutMs: RUN_TIMEOUT_MS,
      quiet: request.quiet ?? false,
      env: request.isOnDisk ? { TEST_STORE: "disk" } : {},
    });
    const counted = existsSync(report)
      ? readJunit(readFileSync(report, "utf8"), label)
      : emptyTally();
    addTally(tally, counted);
    if (result.timedOut) addCheck(tally, `${label}: ended after ${RUN_TIMEOUT_MS} ms`, false);
    else if (counted.passed + counted.failed === 0) addCheck(tally, `${label}: ran no test`, false);
    else if (result.code !== 0 && counted.failed === 0) {
      addCheck(tally, `${label}: exit code ${result.code} outside of any test`, false);
    }
    if (tally.failed > 0 && request.quiet) console.log(result.output);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return tally;
}

/** The test files of suites, folders or files; throws when one of them has none. */
export function testFiles(names: readonly string[]): string[] {
  const all = suites();
  return names.flatMap((name) => {
    const found = listTests(all.includes(name) ? `test/${name}` : name);
    if (found.length === 0) throw new Error(`no test in ${name}`);
    return found;
  });
}

/** The test files of a request; what has none is noted as a failure. */
function collect(request: TestRun, tally: Tally, label: string): string[] {
  const files: string[] = [];
  const all = suites();
  for (const name of request.only ?? all) {
    const path = all.includes(name) ? `test/${name}` : name;
    const found = listTests(path);
    if (found.length === 0) addCheck(tally, `${label}: no test in ${path}`, false);
    files.push(...found);
  }
  return request.runtime === "deno" ? files : files.filter((file) => !file.startsWith(DENO_ONLY));
}

function listTests(path: string): string[] {
  if (path.endsWith("_test.ts")) return existsSync(join(ROOT, path)) ? [path] : [];
  if (!existsSync(join(ROOT, path))) return [];
  return readdirSync(join(ROOT, path), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith("_test.ts"))
    .map((name) => `${path}/${name.replaceAll("\\", "/")}`)
    .sort();
}

function testCommand(request: TestRun, files: string[], report: string): string[] {
  if (request.runtime === "deno") {
    return [
      ...denoCommand(),
      ...["test", "-A", "--no-check", "--sanitize-ops", "--sanitize-resources"],
      "--preload=./test/support/runners/deno_preload.ts",
      ...["--reporter=pretty", `--junit-path=${report}`],
      ...files,
    ];
  }
  if (request.runtime === "bun") {
    return [
      ...bunCommand(),
      ...["test", "--only-failures", `--timeout=${TEST_TIMEOUT_MS}`],
      ...["--reporter=junit", `--reporter-outfile=${report}`],
      ...files.map((file) => `./${file}`),
    ];
  }
  return [
    ...nodeCommand(request.nodeVersion),
    ...[
      "--import",
      "./test/support/runners/node_register.ts",
      "--disable-warning=ExperimentalWarning",
    ],
    // One process for all files, as under Bun; what a test leaves open is found under Deno.
    ...["--test", "--experimental-test-isolation=none", "--test-force-exit"],
    `--test-timeout=${TEST_TIMEOUT_MS}`,
    ...["--test-reporter=junit", `--test-reporter-destination=${report}`],
    ...["--test-reporter=dot", "--test-reporter-destination=stdout"],
    ...files,
  ];
}
