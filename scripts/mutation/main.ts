// Plants small faults in the sources, one at a time, and says which of them no test notices:
// `deno task mutate src/broker src/session src/store --sample=100`. A task of its own, not part of CI:
// it takes hours where CI takes minutes. It works on copies; the checkout is never changed.
//
//   --sample=N   so many mutants of each folder, drawn at random; 100 by default, 0 for all
//   --seed=N     which ones; 1 by default
//   --jobs=N     so many at the same time; 2 by default
//   --near       only with the tests of the layer and of those above: without test/model, the
//                simulations and the fuzzers, which take most of the time and notice a few more
//   --choices    the values of constants that are choices (choices.ts) as well
//   --out=FILE   one line of JSON for each mutant

import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { Prng } from "../../src/lib/prng.ts";
import { freshCopy } from "../lib/fresh_copy.ts";
import { run } from "../lib/process.ts";
import { denoCommand, ROOT } from "../lib/runtimes.ts";
import { choicesOf } from "./choices.ts";
import { applyMutant, findMutants, type Mutant } from "./mutants.ts";
import { COMMON_STAGES, stagesOf } from "./stages.ts";

// A stage that takes so many times as long as the slowest one without a fault has hung, and a mutant
// that hangs has been noticed: a run of the tests would not end.
const HUNG_TIMES = 4;
const STAGE_MIN_MS = 60_000;
const CONTROL_MS = 1_800_000;

interface Task {
  readonly folder: string;
  readonly file: string;
  readonly mutant: Mutant;
}

/** How a stage ended. */
interface StageEnd {
  readonly end: "passed" | "failed" | "hung";
  /** The test that failed. */
  readonly by: string | null;
}

/** What became of a mutant, by the last stage that was run. */
interface Outcome extends Task, StageEnd {
  readonly isKilled: boolean;
  /** Which one that was; the nearest tests are 0. */
  readonly stage: number;
  readonly change: string;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    jobs: { type: "string", default: "2" },
    near: { type: "boolean", default: false },
    choices: { type: "boolean", default: false },
    out: { type: "string" },
  },
});

const folders = positionals.length > 0 ? positionals : ["src/broker", "src/session", "src/store"];
const random = new Prng(Number(values.seed));
const tasks = alternating(
  folders.map((folder) => draw(mutantsOf(folder), Number(values.sample))),
);
console.log(`${tasks.length} mutants`);

const outcomes: Outcome[] = [];
await Promise.all(Array.from({ length: Number(values.jobs) }, () => work()));
report();

function mutantsOf(folder: string): Task[] {
  const names = statSync(join(ROOT, folder)).isFile()
    ? [folder]
    : readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.endsWith("_gen.ts"))
      .map((name) => join(folder, name))
      .sort();
  return names.flatMap((file) =>
    findMutants(readFileSync(join(ROOT, file), "utf8"), choicesOf(file))
      .filter(({ isChoice }) => values.choices || !isChoice)
      .map((mutant) => ({ folder, file, mutant }))
  );
}

/** `count` of them at random, or all. */
function draw(all: Task[], count: number): Task[] {
  if (count === 0 || count >= all.length) return all;
  for (let i = 0; i < count; i++) {
    const j = i + random.nextBelow(all.length - i);
    [all[i], all[j]] = [all[j]!, all[i]!];
  }
  return all.slice(0, count);
}

/** One of each in turn, so that a run that is broken off has tried something of every folder. */
function alternating(lists: Task[][]): Task[] {
  const longest = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list[index] ?? []))
    .flat();
}

/** The stages that are run for a file. */
function chosenStages(file: string, root: string): string[][] {
  const stages = stagesOf(file, root);
  return values.near ? stages.slice(0, -1) : stages;
}

/** One worker with a copy of its own. */
async function work(): Promise<void> {
  const copy = freshCopy();
  try {
    const timeoutMs = await control(copy.path);
    for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) {
      const outcome = await tryMutant(task, copy.path, timeoutMs);
      outcomes.push(outcome);
      if (!outcome.isKilled) console.log(`survived: ${outcome.change}`);
      if (values.out !== undefined) appendFileSync(values.out, `${JSON.stringify(outcome)}\n`);
    }
  } finally {
    copy.remove();
  }
}

/** Without a fault every test has to pass, or nothing that fails later says anything. */
async function control(root: string): Promise<number> {
  const folderTasks = [...new Map(tasks.map((task) => [task.folder, task])).values()];
  const stages = folderTasks.flatMap(({ file }) =>
    chosenStages(file, root).slice(values.near ? -1 : -COMMON_STAGES)
  );
  let slowestMs = 0;
  for (const stage of new Map(stages.map((stage) => [stage.join(" "), stage])).values()) {
    const startMs = performance.now();
    if ((await runStage(stage, root, CONTROL_MS)).end !== "passed") {
      throw new Error(`fails without any fault: ${stage.join(" ")}`);
    }
    slowestMs = Math.max(slowestMs, performance.now() - startMs);
  }
  return Math.max(STAGE_MIN_MS, HUNG_TIMES * slowestMs);
}

async function tryMutant(task: Task, root: string, timeoutMs: number): Promise<Outcome> {
  const path = join(root, task.file);
  const source = readFileSync(path, "utf8");
  const { mutant } = task;
  const was = source.slice(mutant.start, mutant.end).split("\n")[0]!;
  const change = `${task.file}:${mutant.line} ${was} -> ${mutant.replacement}`;
  writeFileSync(path, applyMutant(source, mutant));
  try {
    const stages = chosenStages(task.file, root);
    for (const [stage, tests] of stages.entries()) {
      const result = await runStage(tests, root, timeoutMs);
      if (result.end !== "passed") return { ...task, change, stage, ...result, isKilled: true };
    }
    const stage = stages.length - 1;
    return { ...task, change, stage, end: "passed", by: null, isKilled: false };
  } finally {
    writeFileSync(path, source);
  }
}

async function runStage(tests: string[], root: string, timeoutMs: number): Promise<StageEnd> {
  const preload = "--preload=./test/support/runners/deno_preload.ts";
  const { code, output, timedOut } = await run(
    [...denoCommand(), "test", "-A", "--no-check", "--fail-fast", preload, ...tests],
    { cwd: root, quiet: true, timeoutMs },
  );
  if (timedOut) return { end: "hung", by: null };
  if (code === 0) return { end: "passed", by: null };
  return { end: "failed", by: /^(.+) \.\.\..* FAILED/m.exec(output)?.[1] ?? null };
}

function report(): void {
  for (const folder of folders) {
    const own = outcomes.filter((outcome) => outcome.folder === folder);
    const killed = own.filter((outcome) => outcome.isKilled).length;
    const hung = own.filter((outcome) => outcome.end === "hung").length;
    const share = own.length === 0 ? 0 : (100 * killed) / own.length;
    console.log(
      `${folder}: ${killed} of ${own.length} noticed, ${share.toFixed(1)} %; ${hung} hung`,
    );
  }
  process.exit(0);
}
