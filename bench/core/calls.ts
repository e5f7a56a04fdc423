// The longest single calls: every insertion while the structure fills, then insertions, pops of a
// batch and cancellations in the hold model, each timed by itself. The same calls are made several
// times over, and the least time of each counts: what a structure does at some turn it does every
// time, what else the machine did it did only once. Run by worker.ts; measure.ts has the averages.

import { batchMax, Holding, type Job, startMs, warmUp } from "./measure.ts";
import { seededRandom } from "./prng.ts";
import { shapeOf } from "./shapes.ts";
import { subjectOf } from "./subjects.ts";

/** The longest call of each kind, in milliseconds; 0 where there is no such call. */
export interface CallFigures {
  readonly worstInsertMs: number;
  readonly worstPopMs: number;
  readonly worstCancelMs: number;
}

const repetitions = 4;
/** Handles of the latest insertions, one of which is cancelled now and then. */
const handlesKept = 65_536;

/** The least time of each call, by its turn. */
class Times {
  readonly #leastMs: Float32Array;
  #turn = 0;

  constructor(capacity: number) {
    this.#leastMs = new Float32Array(capacity).fill(Infinity);
  }

  note(ms: number): void {
    const turn = this.#turn++;
    if (ms < this.#leastMs[turn]!) this.#leastMs[turn] = ms;
  }

  /** The longest of all; to be asked between repetitions, of which the next one begins anew. */
  worst(): number {
    let worst = 0;
    for (let turn = 0; turn < this.#turn; turn++) worst = Math.max(worst, this.#leastMs[turn]!);
    this.#turn = 0;
    return worst;
  }
}

interface Calls {
  readonly insert: Times;
  readonly pop: Times;
  readonly cancel: Times;
}

function repeat(job: Job, calls: Calls): void {
  const subject = subjectOf(job.subject, job.pending);
  const shape = shapeOf(job.shape);
  const { delaysMs } = shape;
  const mask = delaysMs.length - 1;
  const random = seededRandom(2);
  const payloads = new Uint32Array(batchMax);
  const handles = new Float64Array(handlesKept);
  const holding = new Holding(subject, shape, job.pending);
  let turn = 0;
  const insert = (fromMs: number, payload: number) => {
    const dueMs = fromMs + delaysMs[turn & mask]!;
    const beganAt = performance.now();
    const handle = subject.insert(dueMs, payload);
    calls.insert.note(performance.now() - beganAt);
    handles[turn++ & (handlesKept - 1)] = handle;
  };
  while (turn < job.pending) insert(startMs, turn);
  for (let held = 0; held < job.holdCount;) {
    const beganAt = performance.now();
    const taken = subject.popDue(holding.nowMs, batchMax, payloads);
    calls.pop.note(performance.now() - beganAt);
    for (let index = 0; index < taken; index++) insert(holding.nowMs, payloads[index]!);
    held += taken;
    // One in eight is cancelled, and replaced so that as many stay pending.
    for (let index = 0; index < taken && subject.cancel !== undefined; index += 8) {
      const handle = handles[Math.floor(random() * handlesKept)]!;
      const beganAt = performance.now();
      subject.cancel(handle);
      calls.cancel.note(performance.now() - beganAt);
      insert(holding.nowMs, index);
    }
    // One more even when all were taken, so that the calls are as many as there is room for.
    held++;
    if (taken < batchMax) holding.advance(taken);
  }
}

/** Runs one job of the kind `calls` in this process. */
export function measureCalls(job: Job): CallFigures {
  warmUp(job);
  const callsMax = job.holdCount + batchMax;
  const calls: Calls = {
    insert: new Times(job.pending + 2 * callsMax),
    pop: new Times(callsMax),
    cancel: new Times(callsMax),
  };
  let figures: CallFigures = { worstInsertMs: 0, worstPopMs: 0, worstCancelMs: 0 };
  for (let repetition = 0; repetition < repetitions; repetition++) {
    repeat(job, calls);
    figures = {
      worstInsertMs: calls.insert.worst(),
      worstPopMs: calls.pop.worst(),
      worstCancelMs: calls.cancel.worst(),
    };
  }
  return figures;
}
