// The broker's timers: retry delays, expirations, idle queues and heartbeats, all in one timing
// heap and each in the group of its owner. The server calls `runDue` with the time of the turn;
// the scheduler never reads a clock and never arms a timer.

import { failure, groupIndexOf, TimingHeap, TimingHeapError } from "../../core-wasm/mod.ts";
import { PoppedTimers } from "./popped_timers.ts";

/** Calls into the core that may only move entries nearer, without firing any, per `runDue`. */
const idleCallsMax = 16;
const dueMsMax = Number.MAX_SAFE_INTEGER;

/** Called once for each timer of a group, with what `insert` was given. */
export type OnDue = (payload: number, dueMs: number) => void;

/** No memory is left for another timer, or the core's limit is reached; nothing was changed. */
export class SchedulerFullError extends Error {
  constructor(options?: ErrorOptions) {
    super("the scheduler can hold no more timers", options);
    this.name = "SchedulerFullError";
  }
}

/** Limits of a {@linkcode Scheduler}. */
export interface SchedulerOptions {
  /** Most memory that the timing heap may take; what WebAssembly allows when absent. */
  readonly maxMemoryBytes?: number;
}

/** A timer as `Scheduler.list` shows it. */
export interface ScheduledTimer {
  payload: number;
  dueMs: number;
  handle: number;
}

/**
 * Timers of many groups in one order: by due time, equal ones as they were inserted. A payload is
 * an unsigned 32-bit number whose meaning is the owner's.
 */
export class Scheduler {
  readonly #heap: TimingHeap;
  readonly #callbacks: (OnDue | undefined)[] = [];
  readonly #popped = new PoppedTimers();
  /** Earliest due time inserted by callbacks while popped timers were waiting. */
  #earliestInsertedMs = Infinity;

  constructor(options: SchedulerOptions = {}) {
    this.#heap = new TimingHeap(options);
  }

  /** Timers that have not fired; those whose callback is about to run count. */
  get pendingCount(): number {
    return this.#heap.count + this.#popped.remaining;
  }

  /** A new, empty group whose timers are handed to `onDue`. Ten thousand groups are cheap. */
  openGroup(onDue: OnDue): number {
    const group = this.#orFull(() => this.#heap.openGroup());
    this.#callbacks[groupIndexOf(group)] = onDue;
    return group;
  }

  /** Cancels everything in the group and forgets it: its id is refused from then on. */
  closeGroup(group: number): void {
    this.#heap.closeGroup(group);
    this.#popped.clearGroup(group);
    this.#callbacks[groupIndexOf(group)] = undefined;
  }

  /**
   * Schedules one call of the group's `onDue`, not before `dueMs` (a fraction is rounded up). The
   * answer, greater than 0, is for `cancel`. Throws {@linkcode SchedulerFullError}.
   */
  insert(group: number, dueMs: number, payload: number): number {
    const wholeMs = Math.min(dueMsMax, Math.max(0, Math.ceil(dueMs)));
    const handle = this.#heap.tryInsert(group, wholeMs, payload);
    if (handle < 0) throw insertError(handle);
    if (wholeMs < this.#earliestInsertedMs && this.#popped.remaining > 0) {
      this.#earliestInsertedMs = wholeMs;
    }
    return handle;
  }

  /** False when the timer already fired or was cancelled. */
  cancel(handle: number): boolean {
    if (this.#heap.cancel(handle) >= 0) return true;
    return this.#popped.remaining > 0 && this.#popped.cancel(handle);
  }

  /** Cancels everything in the group; the group stays open. */
  clearGroup(group: number): void {
    this.#heap.clearGroup(group);
    this.#popped.clearGroup(group);
  }

  /** Timers of the group that have not fired. */
  groupCount(group: number): number {
    const waiting = this.#popped.remaining === 0 ? 0 : this.#popped.ofGroup(group).length;
    return this.#heap.groupCount(group) + waiting;
  }

  /** The group's timers in due order, from the `offset`-th on; walks the heap, for operators. */
  list(group: number, offset: number, limit: number): ScheduledTimer[] {
    const waiting = this.#popped.ofGroup(group);
    const timers = waiting.slice(offset, offset + limit);
    const rest = limit - timers.length;
    if (rest === 0) return timers;
    const skipped = Math.max(0, offset - waiting.length);
    for (const { payload, dueMs, handle } of this.#heap.list(group, skipped, rest)) {
      timers.push({ payload, dueMs, handle });
    }
    return timers;
  }

  /** Nothing is due before this; Infinity when nothing is pending. Re-arm the host timer to it. */
  nextDueMs(): number {
    const batch = this.#popped.top();
    const coreMs = this.#heap.nextDueMs();
    return batch === undefined ? coreMs : Math.min(coreMs, batch.dueMs[this.#popped.nextIndex()]!);
  }

  /** Due time of the group's next timer, Infinity when it has none; may walk the heap. */
  firstDueMs(group: number): number {
    return Math.min(
      this.#popped.ofGroup(group)[0]?.dueMs ?? Infinity,
      this.#heap.firstDueMs(group),
    );
  }

  /** Due time of the group's last timer, -Infinity when it has none; may walk the heap. */
  lastDueMs(group: number): number {
    const waiting = this.#popped.ofGroup(group);
    return Math.max(waiting.at(-1)?.dueMs ?? -Infinity, this.#heap.lastDueMs(group));
  }

  /**
   * Hands every timer due at or before `nowMs` to its group, in order, at most `max`; says how many.
   * What a callback inserts takes its place in that order at once. Work is bounded: when
   * `nextDueMs() <= nowMs` afterwards, more is to be had by another call.
   */
  runDue(nowMs: number, max: number): number {
    const wholeNowMs = Math.floor(nowMs);
    let fired = 0;
    let idleCalls = 0;
    while (fired < max) {
      const batch = this.#popped.top();
      if (batch === undefined) {
        if (this.#pop(wholeNowMs, max - fired) > 0) continue;
        if (this.#heap.nextDueMs() > wholeNowMs || ++idleCalls >= idleCallsMax) break;
        continue;
      }
      const index = this.#popped.nextIndex();
      const dueMs = batch.dueMs[index]!;
      if (this.#earliestInsertedMs < dueMs) {
        this.#popEarlier(Math.min(wholeNowMs, dueMs - 1), max - fired);
        continue;
      }
      if (dueMs > wholeNowMs) break;
      this.#popped.advance();
      fired++;
      this.#callbacks[groupIndexOf(batch.groups[index]!)]!(batch.payloads[index]!, dueMs);
    }
    return fired;
  }

  #pop(untilMs: number, wanted: number): number {
    const batch = this.#popped.borrow();
    const count = this.#heap.popDue(untilMs, batch, wanted);
    this.#popped.push(batch);
    return count;
  }

  /** Fetches what callbacks inserted in front of the next popped timer. */
  #popEarlier(untilMs: number, wanted: number): void {
    this.#pop(untilMs, wanted);
    this.#earliestInsertedMs = this.#heap.nextDueMs();
  }

  #orFull<T>(attempt: () => T): T {
    try {
      return attempt();
    } catch (error) {
      throw error instanceof TimingHeapError ? insertError(error.code) : error;
    }
  }
}

function insertError(code: number): Error {
  const cause = new TimingHeapError(code);
  const full = code === failure.outOfMemory || code === failure.limitReached;
  return full ? new SchedulerFullError({ cause }) : cause;
}
