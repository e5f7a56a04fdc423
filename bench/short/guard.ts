// Guards against lost speed: measures the short form, compares it with bench/history/baseline.json,
// and appends what it found to bench/history/history.jsonl. Called by main.ts and by CI.

import { spawnSync } from "node:child_process";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { ROOT } from "../../scripts/lib/runtimes.ts";
import { judge, type Judgement, type Ratios } from "./compare.ts";
import { measureRatios, ratioNames } from "./measure.ts";

const baselinePath = `${ROOT}bench/history/baseline.json`;
const historyPath = `${ROOT}bench/history/history.jsonl`;

function commit(): string {
  const args = ["describe", "--always", "--dirty"];
  const { stdout, status } = spawnSync("git", args, { cwd: ROOT, encoding: "utf8" });
  return status === 0 ? stdout.trim() : "unknown";
}

/** One line of the history. */
async function record(ratios: Ratios): Promise<string> {
  const { length, [0]: first } = cpus();
  const machine = `${length} x ${first?.model ?? "unknown"}`;
  const line = JSON.stringify({
    date: new Date().toISOString(),
    commit: commit(),
    machine,
    ratios,
  });
  await appendFile(historyPath, `${line}\n`);
  return line;
}

/** Measures and compares; prints the line that it appended to the history. */
export async function guardSpeed(): Promise<Judgement> {
  const baseline = JSON.parse(await readFile(baselinePath, "utf8")) as Ratios;
  const judgement = await judge(measureRatios, baseline);
  console.log(await record(judgement.ratios));
  for (const { name, found, baseline } of judgement.regressions) {
    console.log(`slower than before: ${name} is ${found}, was ${baseline}`);
  }
  return judgement;
}

/** Measures everything anew and makes it the baseline. */
export async function writeBaseline(): Promise<void> {
  const ratios = await measureRatios(ratioNames);
  await writeFile(baselinePath, `${JSON.stringify(ratios, null, 2)}\n`);
  console.log(await record(ratios));
}
