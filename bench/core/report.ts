// Turns figures into what people read: medians of the rounds and a table with ratios to the core.
// Called by main.ts; measures nothing.

import type { Figures } from "./measure.ts";

/** Medians over the rounds of one job. */
export type Summary = Figures & { readonly rounds: number };

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

/** The median of each figure; the worst step is the worst of all rounds. */
export function medianOf(rounds: Figures[]): Summary {
  const pick = (read: (figures: Figures) => number) => median(rounds.map(read));
  return {
    ...rounds[0]!,
    insertNs: pick((one) => one.insertNs),
    holdNs: pick((one) => one.holdNs),
    drainNs: pick((one) => one.drainNs),
    worstStepMs: Math.max(...rounds.map((one) => one.worstStepMs)),
    residentBytes: pick((one) => one.residentBytes),
    liveBytes: pick((one) => one.liveBytes),
    ownBytes: pick((one) => one.ownBytes),
    rounds: rounds.length,
  };
}

const columns = [
  "",
  "insert",
  "hold",
  "drain",
  "hold / core",
  "worst step",
  "live B",
  "own B",
  "RSS B",
];
const widths = [18, 10, 10, 10, 12, 11, 7, 7, 7];

function printRow(cells: string[]): void {
  console.log(
    cells.map((cell, at) => at === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[at]!))
      .join(" "),
  );
}

/** One table for one shape and size; nanoseconds per timer, bytes per timer. */
export function printTables(summaries: Summary[]): void {
  const core = summaries.find((one) => one.subject === "core");
  const { shape, pending, rounds } = summaries[0]!;
  console.log(
    `\n${pending.toLocaleString("en")} pending, ${shape} delays, median of ${rounds}`,
  );
  printRow(columns);
  for (const one of summaries) {
    printRow([
      one.subject,
      `${one.insertNs.toFixed(0)} ns`,
      `${one.holdNs.toFixed(0)} ns`,
      `${one.drainNs.toFixed(0)} ns`,
      core === undefined ? "" : `${(one.holdNs / core.holdNs).toFixed(1)} x`,
      `${one.worstStepMs.toFixed(1)} ms`,
      one.liveBytes === 0 ? "" : one.liveBytes.toFixed(1),
      one.ownBytes === 0 ? "" : one.ownBytes.toFixed(1),
      one.residentBytes.toFixed(1),
    ]);
  }
}
