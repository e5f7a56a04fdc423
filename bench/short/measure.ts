// The ratios of the short form: the core beside flatqueue in the hold model, and the broker beside a
// fixed reference, under each runtime. Called by main.ts. Every subject runs in processes of its own,
// in turns; together they take less than a minute on two cores.

import { fileURLToPath } from "node:url";
import { run } from "../../scripts/lib/process.ts";
import { type RuntimeName, RUNTIMES } from "../../scripts/lib/runtimes.ts";
import { type Launcher, launcherOf, runJob } from "../core/launch.ts";
import type { SubjectName } from "../core/subjects.ts";
import { ratioOf, type Ratios } from "./compare.ts";

const brokerWorker = fileURLToPath(new URL("./broker_worker.ts", import.meta.url));
const rounds = 3;
const brokerTimeoutMs = 60_000;

/** Everything the short form can measure. */
export const ratioNames: readonly string[] = RUNTIMES.flatMap((runtime) => [
  `${runtime}: flatqueue / core, hold 100000`,
  `${runtime}: flatqueue / core, hold 1000000`,
  `${runtime}: reference / broker pipeline`,
]);

async function holdNs(
  launcher: Launcher,
  subject: SubjectName,
  pending: number,
): Promise<number> {
  const counts = { holdCount: 400_000, drainMax: 0 };
  const figures = await runJob(launcher, {
    kind: "speed",
    subject,
    shape: "uniform",
    pending,
    ...counts,
  });
  return figures.holdNs ?? NaN;
}

async function holdRatio(launcher: Launcher, pending: number): Promise<number> {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    ours.push(await holdNs(launcher, "core", pending));
    theirs.push(await holdNs(launcher, "flatqueue", pending));
  }
  return ratioOf(ours, theirs);
}

async function brokerRatio(launcher: Launcher): Promise<number> {
  const options = { quiet: true, timeoutMs: brokerTimeoutMs };
  const { code, output } = await run([...launcher.command, brokerWorker], options);
  if (code !== 0) throw new Error(`the broker's bench failed: ${output}`);
  const { ours, theirs } = JSON.parse(output.trim().split("\n").at(-1)!) as {
    ours: number[];
    theirs: number[];
  };
  return ratioOf(ours, theirs);
}

/** Measures the named ratios; names of runtimes that are not to be had are left out. */
export async function measureRatios(names: readonly string[]): Promise<Ratios> {
  const ratios: Record<string, number> = {};
  const launchers = new Map<string, Launcher>();
  for (const name of names) {
    const [runtime = "", what = ""] = name.split(": ");
    const launcher = launchers.get(runtime) ?? await launcherOf(runtime as RuntimeName);
    launchers.set(runtime, launcher);
    const pending = /hold (\d+)$/.exec(what)?.[1];
    const ratio = pending === undefined
      ? await brokerRatio(launcher)
      : await holdRatio(launcher, Number(pending));
    ratios[name] = Number(ratio.toFixed(3));
  }
  return ratios;
}
