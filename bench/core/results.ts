// What a run of the benchmark knows: one result for each subject, runtime, shape and size, the medians
// of its rounds. Written to core.json by main.ts, read by tables.ts and drawing.ts; pure.

import type { CallFigures } from "./calls.ts";
import type { Job, SpeedFigures } from "./measure.ts";
import type { ShapeName } from "./shapes.ts";
import type { SubjectName } from "./subjects.ts";

/** Where a job runs. */
export type PlaceName = "deno" | "bun" | "node" | "native";

/** Structures of compiled languages, which run in programs of their own. */
export type NativeName = "C++ priority_queue" | "Rust BinaryHeap";

/** One line of the results. */
export interface Result extends Partial<SpeedFigures>, Partial<CallFigures> {
  readonly place: PlaceName;
  readonly subject: SubjectName | NativeName;
  readonly shape: ShapeName;
  readonly pending: number;
  /** Rounds of the two models; the longest calls are measured apart. */
  readonly rounds: number;
}

/** Everything of one run. */
export interface Report {
  /** Versions by place. */
  readonly versions: Partial<Record<PlaceName, string>>;
  readonly machine: string;
  readonly results: readonly Result[];
  /** What could not be measured, and why. */
  readonly skipped: readonly string[];
}

/** Figures of one round. */
export type Figures = Partial<SpeedFigures & CallFigures>;

/** What a job is, without what it found. */
export type Key = Pick<Job, "shape" | "pending"> & {
  readonly place: PlaceName;
  readonly subject: SubjectName | NativeName;
};

/** The middle value; of an even number the upper one of the middle two. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}

/** The rounds of one job as one result: the median of each figure. */
export function summarize(key: Key, rounds: readonly Figures[]): Result {
  const result: Record<string, number> = {};
  for (const name of new Set(rounds.flatMap((round) => Object.keys(round) as (keyof Figures)[]))) {
    const values = rounds.map((round) => round[name]).filter((value) => value !== undefined);
    result[name] = median(values);
  }
  const speedRounds = rounds.filter((round) => round.holdNs !== undefined);
  return { ...key, rounds: speedRounds.length, ...result };
}

/** The result of one job, if it was measured. */
export function find(report: Report, key: Key): Result | undefined {
  return report.results.find((one) =>
    one.place === key.place && one.subject === key.subject && one.shape === key.shape &&
    one.pending === key.pending
  );
}
