// Measures the scheduling core beside the priority queues of JavaScript, C++ and Rust, under every
// runtime: `deno task bench`. Prints tables in Markdown, writes core.json and core.svg in
// bench/history, with --docs also the tables in docs/benchmarks.md, which describes the options.
// Figures of one machine mean little, the ratios of one run do.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { draw } from "./drawing.ts";
import { type Launcher, launcherOf, runJob } from "./launch.ts";
import { compileNatives, type Native, runNative } from "./native.ts";
import { jobsOf, type Plan, planOf } from "./plan.ts";
import { type Figures, type Key, type Report, type Result, summarize } from "./results.ts";
import { tables } from "./tables.ts";

const docsPath = "docs/benchmarks.md";

/** Rounds collected so far. */
class Collection {
  readonly #rounds = new Map<string, Figures[]>();

  add(key: Key, figures: Figures): void {
    const { place, subject, shape, pending } = key;
    const name = JSON.stringify({ place, subject, shape, pending });
    const rounds = this.#rounds.get(name) ?? [];
    rounds.push(figures);
    this.#rounds.set(name, rounds);
  }

  results(): Result[] {
    return [...this.#rounds].map(([name, rounds]) => summarize(JSON.parse(name) as Key, rounds));
  }
}

async function findLaunchers(plan: Plan, skipped: string[]): Promise<Launcher[]> {
  const launchers: Launcher[] = [];
  for (const runtime of plan.runtimes) {
    try {
      launchers.push(await launcherOf(runtime));
    } catch (error) {
      skipped.push(`${runtime}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return launchers;
}

async function runNatives(plan: Plan, natives: readonly Native[], into: Collection): Promise<void> {
  for (let round = 0; round < plan.rounds; round++) {
    for (const shape of plan.shapes) {
      for (const pending of plan.sizes) {
        for (const native of natives) {
          const job = { kind: "speed", shape, pending, holdCount: 1_000_000, drainMax: 500_000 };
          const figures = await runNative(native, job as Parameters<typeof runNative>[1]);
          into.add({ place: "native", subject: native.name, shape, pending }, figures);
        }
      }
    }
  }
}

/** Round after round through all jobs, so that what the machine does besides hits all alike. */
async function runJobs(
  plan: Plan,
  launchers: readonly Launcher[],
  into: Collection,
): Promise<number> {
  const endsAt = performance.now() + plan.minutes * 60_000;
  const jobs = jobsOf(plan);
  let left = 0;
  for (let round = 0; round < Math.max(...jobs.map((one) => one.rounds)); round++) {
    for (const { runtime, job, rounds } of jobs) {
      const launcher = launchers.find((one) => one.runtime === runtime);
      if (launcher === undefined || rounds <= round) continue;
      if (round > 0 && performance.now() > endsAt) {
        left++;
        continue;
      }
      const { subject, shape, pending } = job;
      const figures = await runJob(launcher, job);
      into.add({ place: runtime, subject, shape, pending }, figures);
      const told = Object.entries(figures).map(([name, value]) => `${name} ${value.toFixed(1)}`);
      console.error(`${round + 1} ${runtime} ${shape} ${pending} ${subject}: ${told.join(", ")}`);
    }
  }
  return left;
}

async function measureAll(plan: Plan): Promise<Report> {
  const skipped: string[] = [];
  const collection = new Collection();
  const scratchDir = await mkdtemp(join(tmpdir(), "reprise-bench-"));
  try {
    const launchers = await findLaunchers(plan, skipped);
    const compiled = plan.hasNative ? await compileNatives(scratchDir) : undefined;
    skipped.push(...compiled?.skipped ?? []);
    await runNatives(plan, compiled?.natives ?? [], collection);
    const left = await runJobs(plan, launchers, collection);
    if (left > 0) skipped.push(`${left} repetitions for want of time`);
    const versions: Report["versions"] = Object.fromEntries([
      ...launchers.map(({ runtime, version }) => [runtime, version]),
      ["native", (compiled?.natives ?? []).map(({ version }) => version).join(", ")],
    ]);
    const machine = `${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}`;
    return { versions, machine, results: collection.results(), skipped };
  } finally {
    await rm(scratchDir, { recursive: true, force: true });
  }
}

/** Puts the tables between the two marks of the page. */
async function writeDocs(text: string): Promise<void> {
  const page = await readFile(docsPath, "utf8");
  const marked = /(<!-- results:[^>]*-->\n)[\s\S]*?(<!-- end of results -->)/;
  if (!marked.test(page)) throw new Error(`${docsPath} has no place for results`);
  await writeFile(docsPath, page.replace(marked, (_, begin, end) => `${begin}\n${text}\n${end}`));
}

const plan = planOf(process.argv.slice(2));
const report = await measureAll(plan);
const text = tables(report);
console.log(text);
if (plan.outDir !== undefined) {
  await writeFile(join(plan.outDir, "core.json"), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(plan.outDir, "core.svg"), draw(report));
  console.log(`written: core.json and core.svg in ${plan.outDir}`);
}
if (plan.writesDocs) await writeDocs(text);
