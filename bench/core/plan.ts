// What a run of the benchmark measures, and how often: read from the command line by main.ts. The
// plan is made so that everything takes about ten minutes on two idle cores.

import { parseArgs } from "node:util";
import { type RuntimeName, RUNTIMES } from "../../scripts/lib/runtimes.ts";
import type { Job } from "./measure.ts";
import { type ShapeName, shapeNames } from "./shapes.ts";
import { type SubjectName, subjectNames } from "./subjects.ts";

/** The choices of the command line. */
export interface Plan {
  readonly runtimes: readonly RuntimeName[];
  readonly sizes: readonly number[];
  readonly shapes: readonly ShapeName[];
  readonly subjects: readonly SubjectName[];
  /** Most rounds of a job. */
  readonly rounds: number;
  readonly isQuick: boolean;
  readonly hasNative: boolean;
  /** No job but the first round of each begins after this. */
  readonly minutes: number;
  /** Folder for core.json and core.svg; undefined writes nothing. */
  readonly outDir: string | undefined;
  /** Whether the tables go into docs/benchmarks.md. */
  readonly writesDocs: boolean;
}

const options = {
  quick: { type: "boolean", default: false },
  runtimes: { type: "string" },
  sizes: { type: "string" },
  shapes: { type: "string" },
  subjects: { type: "string" },
  rounds: { type: "string" },
  minutes: { type: "string", default: "11" },
  out: { type: "string" },
  docs: { type: "boolean", default: false },
  "no-native": { type: "boolean", default: false },
} as const;

/** Reads the command line. */
export function planOf(args: string[]): Plan {
  const { values } = parseArgs({ args, options });
  const isQuick = values.quick;
  const list = <T extends string>(text: string | undefined, otherwise: readonly T[]) =>
    text === undefined ? otherwise : text.split(",") as T[];
  const sizes = list(values.sizes, isQuick ? ["100000"] : ["100000", "1000000", "10000000"]);
  return {
    runtimes: list(values.runtimes, isQuick ? ["deno"] : RUNTIMES),
    sizes: sizes.map(Number),
    shapes: list(values.shapes, isQuick ? ["uniform"] : shapeNames),
    subjects: list(values.subjects, isQuick ? ["core", "flatqueue", "tinyqueue"] : subjectNames),
    rounds: Number(values.rounds ?? 3),
    isQuick,
    hasNative: !values["no-native"] && !isQuick,
    minutes: Number(values.minutes),
    outDir: values.out ?? (isQuick ? undefined : "bench/history"),
    writesDocs: values.docs,
  };
}

/** A job, where it runs and how often. */
export interface Planned {
  readonly runtime: RuntimeName;
  readonly job: Job;
  readonly rounds: number;
}

const millions = 10_000_000;
const rivals: readonly SubjectName[] = ["core", "flatqueue"];

/** Rounds of the two models: the comparison that the goals name gets all of them everywhere. */
function roundsOf(plan: Plan, runtime: RuntimeName, job: Job): number {
  const isRival = rivals.includes(job.subject);
  const isMain = runtime === plan.runtimes[0];
  if (job.pending < millions) return isRival || isMain ? plan.rounds : 1;
  // Ten million objects take half a minute to fill and hold.
  if (isRival) return isMain || job.shape === "uniform" ? plan.rounds : 1;
  return isMain ? 1 : 0;
}

/** All jobs of the plan, in the order of one round. */
export function jobsOf(plan: Plan): Planned[] {
  const planned: Planned[] = [];
  const each = (take: (runtime: RuntimeName, at: Pick<Job, "shape" | "pending">) => void) => {
    for (const runtime of plan.runtimes) {
      for (const shape of plan.shapes) {
        for (const pending of plan.sizes) take(runtime, { shape, pending });
      }
    }
  };
  each((runtime, at) => {
    for (const subject of plan.subjects) {
      const counts = { holdCount: 1_000_000, drainMax: 500_000 };
      const job: Job = { kind: "speed", subject, ...at, ...counts };
      planned.push({ runtime, job, rounds: roundsOf(plan, runtime, job) });
    }
  });
  each((runtime, at) => {
    for (const subject of plan.subjects.filter((one) => rivals.includes(one))) {
      if (plan.isQuick || (subject !== "core" && at.shape !== "uniform")) continue;
      const job: Job = { kind: "calls", subject, ...at, holdCount: 500_000, drainMax: 0 };
      planned.push({ runtime, job, rounds: 1 });
    }
  });
  return planned.filter(({ rounds }) => rounds > 0);
}
