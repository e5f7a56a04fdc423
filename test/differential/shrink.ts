// Makes a program that fails smaller: without steps, without methods, without cuts, as long as some
// difference remains. Bounded, because every try runs on both brokers.

import type { Program, Step } from "./program.ts";
import type { Outcome } from "./run.ts";

const TRIES_MAX = 400;

/** The smallest program found, and its difference. */
export interface Shrunk {
  program: Program;
  difference: string;
}

/** Shrinks a program that `run` found to differ. */
export async function shrink(
  program: Program,
  run: (program: Program) => Promise<Outcome>,
): Promise<Shrunk> {
  let best: Shrunk = { program, difference: "not seen again" };
  let tries = 0;
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (const smaller of candidates(best.program)) {
      if (++tries > TRIES_MAX) return best;
      const { difference } = await run(smaller);
      if (difference === null) continue;
      best = { program: smaller, difference };
      isSmaller = true;
      break;
    }
  }
  return best;
}

function* candidates(program: Program): Iterable<Program> {
  const { steps } = program;
  // Half of them at once first.
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size > 1 ? size >> 1 : 0) {
    for (let from = steps.length - size; from >= 0; from -= size) {
      yield { ...program, steps: [...steps.slice(0, from), ...steps.slice(from + size)] };
    }
  }
  for (let index = steps.length - 1; index >= 0; index--) {
    for (const step of smallerSteps(steps[index]!)) {
      yield { ...program, steps: steps.map((one, at) => at === index ? step : one) };
    }
  }
}

function* smallerSteps(step: Step): Iterable<Step> {
  const { ops } = step;
  if (ops.length > 1) {
    for (let index = ops.length - 1; index >= 0; index--) {
      yield { ...step, ops: ops.filter((_, at) => at !== index) };
    }
  }
  if (step.cuts.length > 0) yield { ...step, cuts: [] };
}
