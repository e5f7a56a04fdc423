// The two models. Bulk: insert everything, then take out everything (at most `drainMax`, so that ten
// million objects do not take minutes). Hold: keep the number pending constant, each step taking out
// what is due and inserting as many again. Run by worker.ts in a process of its own per job, so that
// one subject's types do not slow the next; calls.ts has the longest single calls.

import process from "node:process";
import { type Shape, type ShapeName, shapeOf } from "./shapes.ts";
import { type Subject, type SubjectName, subjectOf } from "./subjects.ts";

/** What to measure. */
export interface Job {
  /** `speed` for the two models, `calls` for the longest single calls. */
  readonly kind: "speed" | "calls";
  readonly subject: SubjectName;
  readonly shape: ShapeName;
  readonly pending: number;
  /** Timers taken out and put back in the hold model. */
  readonly holdCount: number;
  /** Most timers taken out at the end; 0 leaves them in. */
  readonly drainMax: number;
}

/** Nanoseconds per timer, and memory. */
export interface SpeedFigures {
  readonly insertNs: number;
  readonly holdNs: number;
  /** 0 when nothing was taken out. */
  readonly drainNs: number;
  /** Growth of the resident set by the bulk insertion, per timer. */
  readonly residentBytes: number;
  /** What the structure uses of its own memory, per timer; 0 where it cannot say. */
  readonly liveBytes: number;
  /** The structure's own memory, with what it keeps in reserve. */
  readonly ownBytes: number;
}

/** Time this process has computed: unlike elapsed time, it does not count waiting for a core. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Most timers taken out by one call. */
export const batchMax = 64;
/** Where every run begins. */
export const startMs = 1_700_000_000_000;

/** The hold model over one subject; time and the place in the stream of delays go on between runs. */
export class Holding {
  nowMs = startMs;
  readonly #subject: Subject;
  readonly #shape: Shape;
  readonly #stepMs: number;
  readonly #payloads = new Uint32Array(batchMax);
  #turn = 0;

  constructor(subject: Subject, shape: Shape, pending: number) {
    this.#subject = subject;
    this.#shape = shape;
    this.#stepMs = shape.stepMs(pending);
  }

  /** Inserts the timers that the model starts with. */
  fill(count: number): void {
    const subject = this.#subject;
    const { delaysMs } = this.#shape;
    const mask = delaysMs.length - 1;
    for (let payload = 0; payload < count; payload++) {
      subject.insert(startMs + delaysMs[payload & mask]!, payload);
    }
    this.#turn = count;
  }

  /** Takes out and puts back until `count` timers were. */
  hold(count: number): void {
    const subject = this.#subject;
    const payloads = this.#payloads;
    const { delaysMs } = this.#shape;
    const mask = delaysMs.length - 1;
    for (let held = 0; held < count;) {
      const taken = subject.popDue(this.nowMs, batchMax, payloads);
      for (let index = 0; index < taken; index++) {
        subject.insert(this.nowMs + delaysMs[this.#turn++ & mask]!, payloads[index]!);
      }
      held += taken;
      if (taken < batchMax) this.advance(taken);
    }
  }

  /** Time goes on when little was due; straight to the next timer when nothing was. */
  advance(taken: number): void {
    this.nowMs += this.#stepMs;
    if (taken === 0) this.nowMs = Math.max(this.nowMs, this.#subject.nextDueMs());
  }
}

/** Lets the engine compile what is about to be measured; every subject gets the same. */
export function warmUp(job: Job): void {
  const pending = 20_000;
  const subject = subjectOf(job.subject, pending);
  const holding = new Holding(subject, shapeOf(job.shape), pending);
  holding.fill(pending);
  holding.hold(Math.min(1_000_000, job.holdCount));
}

function drain(subject: Subject, count: number): void {
  const payloads = new Uint32Array(batchMax);
  let left = count;
  while (left > 0) left -= subject.popDue(Infinity, Math.min(left, batchMax), payloads);
}

/** Runs one job of the kind `speed` in this process. */
export function measureSpeed(job: Job): SpeedFigures {
  warmUp(job);
  const nsPer = (sinceMs: number, count: number) => (cpuMs() - sinceMs) * 1e6 / count;
  const residentBefore = process.memoryUsage().rss;
  const subject = subjectOf(job.subject, job.pending);
  const holding = new Holding(subject, shapeOf(job.shape), job.pending);
  let sinceMs = cpuMs();
  holding.fill(job.pending);
  const insertNs = nsPer(sinceMs, job.pending);
  const residentBytes = (process.memoryUsage().rss - residentBefore) / job.pending;

  // Until every structure has come from its first filling to its usual shape.
  holding.hold(Math.ceil(job.holdCount / 4));
  sinceMs = cpuMs();
  holding.hold(job.holdCount);
  const holdNs = nsPer(sinceMs, job.holdCount);
  const liveBytes = subject.liveBytes() / job.pending;
  const ownBytes = subject.memoryBytes() / job.pending;

  const drained = Math.min(job.pending, job.drainMax);
  sinceMs = cpuMs();
  drain(subject, drained);
  const drainNs = drained === 0 ? 0 : nsPer(sinceMs, drained);
  return { insertNs, holdNs, drainNs, residentBytes, liveBytes, ownBytes };
}
