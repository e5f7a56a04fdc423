// Shapes of delays: what makes timing structures differ besides how many timers they hold. Each
// gives the delay of the `turn`-th insertion, and how far time moves per step of the hold model.

import { seededRandom } from "./prng.ts";

/** A stream of delays in whole milliseconds. */
export interface Shape {
  /** Delays for refilling; drawn ahead, so that drawing is not measured. */
  readonly delaysMs: Float64Array;
  /** Advance of time per step, so that some 64 timers fall due in one. */
  stepMs(pending: number): number;
}

export type ShapeName = "uniform" | "backoff" | "equal";

export const shapeNames: readonly ShapeName[] = ["uniform", "backoff", "equal"];

const delayCount = 1 << 20;
const hourMs = 3_600_000;
const duePerStep = 64;

function fill(draw: (turn: number) => number): Float64Array {
  const delaysMs = new Float64Array(delayCount);
  for (let turn = 0; turn < delayCount; turn++) delaysMs[turn] = draw(turn);
  return delaysMs;
}

/** Uniform over an hour: what jitter or a mix of queues gives. */
function uniform(): Shape {
  const random = seededRandom(1);
  return {
    delaysMs: fill(() => 1 + Math.floor(random() * hourMs)),
    stepMs: (pending) => Math.max(1, Math.round((duePerStep * hourMs) / 2 / pending)),
  };
}

/** Nine classes, 1 s doubled eight times: one policy, no jitter. */
function backoff(): Shape {
  return { delaysMs: fill((turn) => 1_000 * 2 ** (turn % 9)), stepMs: () => 1 };
}

/** One delay for all: nothing to sort. */
function equal(): Shape {
  return { delaysMs: fill(() => 30_000), stepMs: () => 1 };
}

/** A fresh stream of the named shape. */
export function shapeOf(name: ShapeName): Shape {
  return name === "uniform" ? uniform() : name === "backoff" ? backoff() : equal();
}
