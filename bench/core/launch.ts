// Runs one job in a process of its own under a runtime. Called by main.ts and by the short form in
// bench/short; it measures nothing itself.

import { fileURLToPath } from "node:url";
import { run } from "../../scripts/lib/process.ts";
import { programCommand, runtimeCommand, type RuntimeName } from "../../scripts/lib/runtimes.ts";
import type { Job } from "./measure.ts";
import type { Figures } from "./results.ts";

const workerPath = fileURLToPath(new URL("./worker.ts", import.meta.url));
/** Objects of the slower subjects need more than the default heap at ten million. */
const heapMib = 14_000;
const jobTimeoutMs = 300_000;

/** A runtime that was found, and how it runs a worker. */
export interface Launcher {
  readonly runtime: RuntimeName;
  readonly version: string;
  readonly command: readonly string[];
}

/** Finds a runtime, brought by npm where the machine has none; throws when there is none to be had. */
export async function launcherOf(runtime: RuntimeName): Promise<Launcher> {
  const command = programCommand(runtime);
  const heap = `--max-old-space-size=${heapMib}`;
  if (runtime === "deno") command.push(`--v8-flags=${heap}`);
  if (runtime === "node") command.push(heap, "--disable-warning=ExperimentalWarning");
  const { output } = await run([...runtimeCommand(runtime), "--version"], { quiet: true });
  return { runtime, version: /\d+\.\d+\.\d+/.exec(output)?.[0] ?? "unknown", command };
}

/** The figures of one job. */
export async function runJob(launcher: Launcher, job: Job): Promise<Figures> {
  const command = [...launcher.command, workerPath, JSON.stringify(job)];
  const { code, output } = await run(command, { quiet: true, timeoutMs: jobTimeoutMs });
  if (code !== 0) throw new Error(`${launcher.runtime} ${job.subject} failed: ${output}`);
  return JSON.parse(output.trim().split("\n").at(-1)!) as Figures;
}
