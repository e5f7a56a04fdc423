// Runs the embeddings of the core in core-wasm/hosts: each replays the shared vectors and the shared
// trace. `deno run -A scripts/test_core_hosts.ts [host ...]`. A host whose toolchain is missing is
// skipped, and said to be; the exit code is 1 when one that ran failed.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const coreDir = fileURLToPath(new URL("../core-wasm/", import.meta.url));
const hostsDir = join(coreDir, "hosts");
/** Says in its own words that both replays went well. */
const success = /vectors: \d+ as expected\s+trace: \d+ result bytes as expected/;

interface Host {
  readonly name: string;
  /** Asks for the version; a toolchain that cannot answer is missing. */
  readonly probe: [string, ...string[]];
  replay(scratchDir: string): Promise<string>;
}

async function output(
  command: string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const [program = "", ...args] = command;
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 1 << 24 };
  return (await run(program, args, options)).stdout;
}

async function replayPython(scratchDir: string): Promise<string> {
  const dir = join(hostsDir, "python");
  await output(["python3", "-m", "venv", scratchDir], dir);
  const python = join(scratchDir, "bin", "python");
  await output([python, "-m", "pip", "install", "-q", "-r", "requirements.txt"], dir);
  return await output([python, "replay.py"], dir);
}

/** The page is bundled, served from memory and opened by a headless Chromium. */
async function replayBrowser(scratchDir: string): Promise<string> {
  const bundle = join(scratchDir, "page.js");
  const source = join(hostsDir, "browser", "page.ts");
  await output(
    [process.execPath, "bundle", "--quiet", "--platform=browser", "--output", bundle, source],
    coreDir,
  );
  const files = new Map([
    ["/", [join(hostsDir, "browser", "index.html"), "text/html"]],
    ["/page.js", [bundle, "text/javascript"]],
    ["/vectors/delay.json", [join(coreDir, "vectors/delay.json"), "application/json"]],
    ["/vectors/trace.txt", [join(coreDir, "vectors/trace.txt"), "text/plain"]],
    ["/vectors/trace_result.json", [
      join(coreDir, "vectors/trace_result.json"),
      "application/json",
    ]],
  ]);
  const server = createServer((request, response) => {
    const [path, type] = files.get(request.url ?? "") ?? [];
    if (path === undefined || type === undefined) {
      response.writeHead(404).end();
      return;
    }
    readFile(path).then((body) => response.writeHead(200, { "content-type": type }).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const profile = `--user-data-dir=${join(scratchDir, "profile")}`;
    const flags = ["--headless", "--no-sandbox", "--disable-gpu", profile];
    return await output(
      ["chromium", ...flags, "--virtual-time-budget=60000", "--dump-dom", url],
      scratchDir,
    );
  } finally {
    server.close();
  }
}

const hosts: Host[] = [
  {
    name: "go",
    probe: ["go", "version"],
    replay: () => output(["go", "run", "."], join(hostsDir, "go")),
  },
  {
    name: "rust",
    probe: ["cargo", "--version"],
    replay: () =>
      output(["cargo", "run", "--quiet", "--release", "--locked"], join(hostsDir, "rust")),
  },
  { name: "python", probe: ["python3", "--version"], replay: replayPython },
  {
    name: "java",
    probe: ["mvn", "--version"],
    replay: () => output(["mvn", "-q", "-B", "compile", "exec:java"], join(hostsDir, "java")),
  },
  { name: "browser", probe: ["chromium", "--version"], replay: replayBrowser },
];

async function isMissing(host: Host): Promise<boolean> {
  return await output([...host.probe], hostsDir).then(() => false, () => true);
}

async function verdictOf(host: Host): Promise<"passed" | "failed" | "skipped"> {
  if (await isMissing(host)) {
    console.log(`${host.name}: skipped, ${host.probe[0]} is not installed`);
    return "skipped";
  }
  const scratchDir = await mkdtemp(join(tmpdir(), `reprise-host-${host.name}-`));
  try {
    const text = await host.replay(scratchDir);
    if (!success.test(text)) throw new Error(text);
    console.log(`${host.name}: passed`);
    return "passed";
  } catch (error) {
    console.log(`${host.name}: failed\n${error}`);
    return "failed";
  } finally {
    await rm(scratchDir, { recursive: true, force: true });
  }
}

const wanted = process.argv.slice(2);
const verdicts: string[] = [];
for (const host of hosts) {
  if (wanted.length === 0 || wanted.includes(host.name)) verdicts.push(await verdictOf(host));
}
const count = (verdict: string) => verdicts.filter((one) => one === verdict).length;
console.log(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);
process.exit(count("failed") === 0 ? 0 : 1);
