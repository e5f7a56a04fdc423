// The embeddings of the core in core-wasm/hosts, one per language: each replays the shared vectors and
// the shared trace. Used by scripts/test_core_hosts.ts and scripts/ci.ts. A host whose toolchain is
// missing is skipped, and said to be, never passed; build output goes to scratch folders.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run, type RunOptions } from "./process.ts";
import { denoCommand, ROOT } from "./runtimes.ts";
import { addCheck, addTally, emptyTally, type Tally } from "./tally.ts";

const CORE = join(ROOT, "core-wasm");
const HOSTS = join(CORE, "hosts");
const TIMEOUT_MS = 600_000;
/** Says in its own words that both replays went well. */
const SUCCESS = /vectors: \d+ as expected\s+trace: \d+ result bytes as expected/;

type Command = readonly string[];

/** An embedding and how it is run. */
export interface Host {
  /** How it is reported. */
  readonly name: string;
  /** Each must answer, or the toolchain is missing. */
  readonly probes: readonly Command[];
  /** Resolves to what the host printed; rejects when a step failed. */
  replay(scratch: string): Promise<string>;
  /** Whether taking longer than the limit says nothing but that the machine is busy. */
  readonly mayBeLate?: boolean;
}

/** A step of a host took longer than it may. */
export class LateError extends Error {}

async function output(command: Command, cwd: string, env: RunOptions["env"] = {}): Promise<string> {
  const result = await run(command, { cwd, env, quiet: true, timeoutMs: TIMEOUT_MS });
  if (result.timedOut) throw new LateError(`${command[0]} took more than ${TIMEOUT_MS / 1000} s`);
  if (result.code !== 0) throw new Error(`${command.join(" ")} failed:\n${result.output}`);
  return result.output;
}

async function replayPython(scratch: string): Promise<string> {
  const folder = join(HOSTS, "python");
  await output(["python3", "-m", "venv", scratch], folder);
  const python = join(scratch, "bin", "python");
  await output([python, "-m", "pip", "install", "-q", "-r", "requirements.txt"], folder);
  return await output([python, "replay.py"], folder);
}

/** Compiles in two minutes on two idle cores, nearly all of it the WebAssembly runtime. */
function replayRust(scratch: string): Promise<string> {
  const env = { CARGO_TARGET_DIR: join(scratch, "target") };
  return output(["cargo", "run", "--quiet", "--locked"], join(HOSTS, "rust"), env);
}

const PAGE_FILES: Readonly<Record<string, readonly [path: string, type: string]>> = {
  "/": [join(HOSTS, "browser/index.html"), "text/html"],
  "/vectors/delay.json": [join(CORE, "vectors/delay.json"), "application/json"],
  "/vectors/trace.txt": [join(CORE, "vectors/trace.txt"), "text/plain"],
  "/vectors/trace_result.json": [join(CORE, "vectors/trace_result.json"), "application/json"],
};

/** The page is bundled, served from memory and opened by a headless Chromium. */
async function replayBrowser(scratch: string): Promise<string> {
  const bundle = join(scratch, "page.js");
  const page = join(HOSTS, "browser/page.ts");
  const options = ["bundle", "--quiet", "--platform=browser", "--output", bundle, page];
  await output([...denoCommand(), ...options], CORE);
  const files = { ...PAGE_FILES, "/page.js": [bundle, "text/javascript"] as const };
  const server = createServer((request, response) => {
    const file = files[request.url as keyof typeof files];
    if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": file[1] }).end(readFileSync(file[0]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const profile = `--user-data-dir=${join(scratch, "profile")}`;
    const flags = ["--headless", "--no-sandbox", "--disable-gpu", profile];
    const browse = ["chromium", ...flags, "--virtual-time-budget=60000", "--dump-dom", url];
    return await output(browse, scratch);
  } finally {
    server.close();
  }
}

const ALL: readonly Host[] = [
  // First, because it takes longest: the others run beside it.
  {
    name: "rust",
    probes: [["cargo", "--version"]],
    replay: replayRust,
    mayBeLate: true,
  },
  {
    name: "go",
    probes: [["go", "version"]],
    replay: () => output(["go", "run", "."], join(HOSTS, "go")),
  },
  {
    name: "java",
    probes: [["javac", "-version"], ["mvn", "--version"]],
    replay: (scratch) => {
      const target = `-DoutputFolder=${scratch}`;
      return output(["mvn", "-q", "-B", target, "compile", "exec:java"], join(HOSTS, "java"));
    },
  },
  {
    name: "python",
    probes: [["python3", "-c", "import ensurepip, venv"]],
    replay: replayPython,
  },
  { name: "browser", probes: [["chromium", "--version"]], replay: replayBrowser },
];

/** Names of the hosts, as the command line takes them. */
export const HOST_NAMES: readonly string[] = ALL.map((host) => host.name);

async function missing({ probes }: Host): Promise<string | undefined> {
  for (const probe of probes) {
    if ((await run(probe, { quiet: true, timeoutMs: TIMEOUT_MS })).code !== 0) return probe[0];
  }
  return undefined;
}

/** Runs one host in a scratch folder of its own and counts it as passed, failed or skipped. */
export async function checkHost(host: Host): Promise<Tally> {
  const tally = emptyTally();
  const absent = await missing(host);
  if (absent !== undefined) {
    tally.skipped++;
    console.log(`${host.name}: skipped, no ${absent}`);
    return tally;
  }
  const scratch = mkdtempSync(join(tmpdir(), `reprise-host-${host.name}-`));
  const startedMs = performance.now();
  const seconds = () => ((performance.now() - startedMs) / 1000).toFixed(0);
  try {
    const text = await host.replay(scratch);
    if (!SUCCESS.test(text)) throw new Error(text);
    addCheck(tally, `host ${host.name}`, true);
    console.log(`${host.name}: passed after ${seconds()} s`);
  } catch (error) {
    if (error instanceof LateError && host.mayBeLate) {
      tally.skipped++;
      console.log(`${host.name}: skipped, ${error.message}`);
    } else {
      addCheck(tally, `host ${host.name}`, false);
      console.log(`${host.name}: failed after ${seconds()} s\n${error}`);
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return tally;
}

/** Runs the named hosts, or all: the first beside the others, which follow one another. */
export async function runCoreHosts(names: readonly string[] = HOST_NAMES): Promise<Tally> {
  const tally = emptyTally();
  const [first, ...rest] = ALL.filter((host) => names.includes(host.name));
  const slow = first === undefined ? emptyTally() : checkHost(first);
  for (const host of rest) addTally(tally, await checkHost(host));
  addTally(tally, await slow);
  return tally;
}
