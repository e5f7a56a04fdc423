// The two models. Bulk: insert everything, then take everything out. Hold: keep the number pending
// constant, each step taking out what is due and inserting as many again. Runs in a process of its
// own per subject and size (worker.ts), so that one subject's types do not slow the next.

import process from "node:process";
import { type ShapeName, shapeOf } from "./shapes.ts";
import { type Subject, type SubjectName, subjectOf } from "./subjects.ts";

/** What to measure. */
export interface Job {
  readonly subject: SubjectName;
  readonly shape: ShapeName;
  readonly pending: number;
  /** Timers taken out and put back in the hold model. */
  readonly holdCount: number;
}

/** Nanoseconds per timer, and memory. */
export interface Figures extends Job {
  readonly insertNs: number;
  readonly holdNs: number;
  readonly drainNs: number;
  /** Longest single step of the hold model, with its insertions. */
  readonly worstStepMs: number;
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

const batchMax = 64;
const startMs = 1_700_000_000_000;

interface Held {
  readonly nowMs: number;
  readonly cpuMs: number;
  readonly worstStepMs: number;
}

function hold(subject: Subject, job: Job, count: number, fromMs: number): Held {
  const { delaysMs, stepMs } = shapeOf(job.shape);
  const step = stepMs(job.pending);
  const payloads = new Uint32Array(batchMax);
  const mask = delaysMs.length - 1;
  let nowMs = fromMs;
  let turn = job.pending;
  let worstStepMs = 0;
  const cpuBefore = cpuMs();
  let stepBeganAt = performance.now();
  for (let held = 0; held < count;) {
    const taken = subject.popDue(nowMs, batchMax, payloads);
    for (let index = 0; index < taken; index++) {
      subject.insert(nowMs + delaysMs[turn++ & mask]!, payloads[index]!);
    }
    held += taken;
    const endedAt = performance.now();
    if (endedAt - stepBeganAt > worstStepMs) {
      worstStepMs = endedAt - stepBeganAt;
    }
    stepBeganAt = endedAt;
    if (taken === batchMax) continue;
    if (taken === 0) nowMs = Math.max(nowMs + step, subject.nextDueMs());
    else nowMs += step;
  }
  return { nowMs, cpuMs: cpuMs() - cpuBefore, worstStepMs };
}

/** Lets the engine compile what is about to be measured; every subject gets the same. */
function warmUp(job: Job): void {
  const small = { ...job, pending: 20_000 };
  const subject = subjectOf(job.subject, small.pending);
  const { delaysMs } = shapeOf(job.shape);
  for (let payload = 0; payload < small.pending; payload++) {
    subject.insert(startMs + delaysMs[payload]!, payload);
  }
  hold(subject, small, 1_000_000, startMs);
}

/** Runs one job in this process. */
export function measure(job: Job): Figures {
  warmUp(job);
  const { delaysMs } = shapeOf(job.shape);
  const mask = delaysMs.length - 1;
  const residentBefore = process.memoryUsage().rss;
  const subject = subjectOf(job.subject, job.pending);
  const cpuBefore = cpuMs();
  for (let payload = 0; payload < job.pending; payload++) {
    subject.insert(startMs + delaysMs[payload & mask]!, payload);
  }
  const insertMs = cpuMs() - cpuBefore;
  const residentBytes = (process.memoryUsage().rss - residentBefore) /
    job.pending;

  const warm = hold(subject, job, Math.ceil(job.holdCount / 4), startMs);
  const held = hold(subject, job, job.holdCount, warm.nowMs);
  const liveBytes = subject.liveBytes() / job.pending;
  const ownBytes = subject.memoryBytes() / job.pending;

  const payloads = new Uint32Array(batchMax);
  const cpuBeforeDrain = cpuMs();
  let left = job.pending;
  while (left > 0) left -= subject.popDue(Infinity, batchMax, payloads);
  const drainMs = cpuMs() - cpuBeforeDrain;

  const nsPer = (ms: number, count: number) => (ms * 1e6) / count;
  return {
    ...job,
    insertNs: nsPer(insertMs, job.pending),
    holdNs: nsPer(held.cpuMs, job.holdCount),
    drainNs: nsPer(drainMs, job.pending),
    worstStepMs: held.worstStepMs,
    residentBytes,
    liveBytes,
    ownBytes,
  };
}
