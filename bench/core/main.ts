// Measures the scheduling core beside the priority queues of JavaScript: `deno task bench`, or with
// Bun or Node. Prints a table and writes bench/core/results.json; figures of one machine mean little,
// the ratios of one run do. Options: --quick (small, for CI), --sizes N,N, --shapes S,S, --subjects S,S,
// --rounds N, --out FILE.

import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import type { Figures, Job } from "./measure.ts";
import { medianOf, printTables, type Summary } from "./report.ts";
import { type ShapeName, shapeNames } from "./shapes.ts";
import { type SubjectName, subjectNames } from "./subjects.ts";

const run = promisify(execFile);
const workerPath = fileURLToPath(new URL("./worker.ts", import.meta.url));
/** Objects of the slower subjects need more than the default heap at ten million. */
const heapMib = 14_000;

function runtimeName(): string {
  const scope = globalThis as {
    Bun?: { version: string };
    Deno?: { version: { deno: string } };
  };
  if (scope.Bun !== undefined) return `Bun ${scope.Bun.version}`;
  const deno = scope.Deno?.version?.deno;
  return deno === undefined ? `Node ${process.versions.node}` : `Deno ${deno}`;
}

function workerArguments(job: Job): string[] {
  const argument = JSON.stringify(job);
  const name = runtimeName();
  if (name.startsWith("Deno")) {
    return [
      "run",
      "-A",
      "--no-check",
      `--v8-flags=--max-old-space-size=${heapMib}`,
      workerPath,
      argument,
    ];
  }
  if (name.startsWith("Bun")) return ["run", workerPath, argument];
  return [`--max-old-space-size=${heapMib}`, workerPath, argument];
}

/** One job in a process of its own. */
async function runJob(job: Job): Promise<Figures> {
  const { stdout } = await run(process.execPath, workerArguments(job), {
    maxBuffer: 1 << 20,
  });
  return JSON.parse(stdout) as Figures;
}

interface Plan {
  readonly sizes: number[];
  readonly shapes: readonly ShapeName[];
  readonly subjects: readonly SubjectName[];
  readonly rounds: number;
  readonly holdCount: number;
  readonly out: string | undefined;
}

function planOf(args: string[]): Plan {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: "boolean", default: false },
      sizes: { type: "string" },
      shapes: { type: "string" },
      subjects: { type: "string" },
      rounds: { type: "string" },
      out: { type: "string" },
    },
  });
  const sizes = values.sizes ??
    (values.quick ? "100000" : "100000,1000000,10000000");
  const shapes = values.shapes ??
    (values.quick ? "uniform" : shapeNames.join(","));
  const subjects = values.subjects?.split(",") as SubjectName[] | undefined;
  return {
    sizes: sizes.split(",").map(Number),
    shapes: shapes.split(",") as ShapeName[],
    subjects: subjects ?? (values.quick ? ["core", "flatqueue", "tinyqueue"] : subjectNames),
    rounds: Number(values.rounds ?? (values.quick ? 3 : 5)),
    holdCount: values.quick ? 500_000 : 2_000_000,
    out: values.out ?? (values.quick ? undefined : "bench/core/results.json"),
  };
}

/** All rounds of one size and shape, the subjects taking turns so that noise hits them alike. */
async function compare(
  plan: Plan,
  shape: ShapeName,
  pending: number,
): Promise<Summary[]> {
  const figures = new Map<SubjectName, Figures[]>(
    plan.subjects.map((subject) => [subject, []]),
  );
  // Ten million objects take minutes to fill and empty: one round has to do.
  const rounds = pending >= 10_000_000 ? Math.min(plan.rounds, 1) : plan.rounds;
  for (let round = 0; round < rounds; round++) {
    for (const subject of plan.subjects) {
      const job = { subject, shape, pending, holdCount: plan.holdCount };
      figures.get(subject)!.push(await runJob(job));
    }
  }
  return plan.subjects.map((subject) => medianOf(figures.get(subject)!));
}

const plan = planOf(process.argv.slice(2));
const summaries: Summary[] = [];
for (const shape of plan.shapes) {
  for (const pending of plan.sizes) {
    const compared = await compare(plan, shape, pending);
    printTables(compared);
    summaries.push(...compared);
  }
}
if (plan.out !== undefined) {
  const results = {
    runtime: runtimeName(),
    date: new Date().toISOString(),
    results: summaries,
  };
  await writeFile(plan.out, `${JSON.stringify(results, null, 2)}\n`);
  console.log(`written to ${plan.out}`);
}
