// The broker's timers: retry delays, expirations, idle queues and heartbeats, all in one timing
// heap and each in the group of its owner. The server calls `runDue` with the time of the turn;
// the scheduler never reads a clock and never arms a timer.

import { failure, groupIndexOf, TimingHeap, TimingHeapError } from "../../core-wasm/mod.ts";
import { PoppedTimers } from "./popped_timers.ts";

/** The most calls into the core per `runDue` that move entries nearer without firing any. */
const idleCallsMax = 16;
const dueMsMax = Number.MAX_SAFE_INTEGER;

/** Called once for each timer of a group, with the arguments of its `insert`. */
export type OnDue = (payload: number, dueMs: number) => void;

/** No memory is left for another timer, or the core's limit is reached. Nothing was changed. */
export class SchedulerFullError extends Error {
  constructor(options?: ErrorOptions) {
    super("the scheduler can hold no more timers", options);
    this.name = "SchedulerFullError";
  }
}

/** Limits of a {@linkcode Scheduler}. */
export interface SchedulerOptions {
  /**
   * The most memory that the timing heap may take, bytes; without it, as much as WebAssembly
   * allows.
   */
  readonly maxMemoryBytes?: number;
}

/**
 * Timers of many groups, by due time, and equal ones in the order of insertion. A
 * payload is an unsigned 32-bit number whose meaning only the owner knows.
 */
export class Scheduler {
  readonly #heap: TimingHeap;
  readonly #callbacks: (OnDue | undefined)[] = [];
  readonly #popped = new PoppedTimers();

  constructor(options: SchedulerOptions = {}) {
    this.#heap = new TimingHeap(options);
  }

  /** Timers that have not fired. A timer counts until its callback runs. */
  get pendingCount(): number {
    return this.#heap.count + this.#popped.remaining;
  }

  /** Opens an empty group whose timers are given to `onDue`. Ten thousand groups are cheap. */
  openGroup(onDue: OnDue): number {
    const group = this.#orFull(() => this.#heap.openGroup());
    this.#callbacks[groupIndexOf(group)] = onDue;
    return group;
  }

  /** Cancels all timers of the group and forgets it. Its id is refused from then on. */
  closeGroup(group: number): void {
    this.#heap.closeGroup(group);
    this.#popped.clearGroup(group);
    this.#callbacks[groupIndexOf(group)] = undefined;
  }

  /**
   * Schedules one call of the group's `onDue`, not before `dueMs` (a fraction is rounded up).
   * Returns a handle greater than 0 for `cancel`. Throws {@linkcode SchedulerFullError}.
   */
  insert(group: number, dueMs: number, payload: number): number {
    const wholeMs = Math.min(dueMsMax, Math.max(0, Math.ceil(dueMs)));
    const handle = this.#heap.tryInsert(group, wholeMs, payload);
    if (handle < 0) throw insertError(handle);
    return handle;
  }

  /** Cancels a timer; false when it has fired or was cancelled already. */
  cancel(handle: number): boolean {
    if (this.#heap.cancel(handle) >= 0) return true;
    return this.#popped.remaining > 0 && this.#popped.cancel(handle);
  }

  /** Cancels all timers of the group. The group stays open. */
  clearGroup(group: number): void {
    this.#heap.clearGroup(group);
    this.#popped.clearGroup(group);
  }

  /** Timers of the group that have not fired. */
  groupCount(group: number): number {
    const waiting = this.#popped.remaining === 0 ? 0 : this.#popped.ofGroup(group).length;
    return this.#heap.groupCount(group) + waiting;
  }

  /**
   * Returns a time before which nothing is due; Infinity when nothing is pending. Arm the host
   * timer for it.
   */
  nextDueMs(): number {
    const popped = this.#popped;
    const coreMs = this.#heap.nextDueMs();
    return popped.remaining === 0 ? coreMs : Math.min(coreMs, popped.batch.dueMs[popped.next]!);
  }

  /** Due time of the group's next timer, ms; Infinity when it has none. It may walk the heap. */
  firstDueMs(group: number): number {
    return Math.min(
      this.#popped.ofGroup(group)[0] ?? Infinity,
      this.#heap.firstDueMs(group),
    );
  }

  /** Due time of the group's last timer, ms; -Infinity when it has none. It may walk the heap. */
  lastDueMs(group: number): number {
    const waiting = this.#popped.ofGroup(group);
    return Math.max(waiting.at(-1) ?? -Infinity, this.#heap.lastDueMs(group));
  }

  /**
   * Gives every timer due at or before `nowMs` to its group, in order, at most `max`, and returns
   * how many. A timer that a callback inserts may come after later ones that left the core with the
   * timer of the callback. The work is bounded: while `nextDueMs() <= nowMs`, call it again.
   */
  runDue(nowMs: number, max: number): number {
    const wholeNowMs = Math.floor(nowMs);
    const popped = this.#popped;
    const { batch } = popped;
    let fired = 0;
    let idleCalls = 0;
    while (fired < max) {
      if (popped.remaining === 0) {
        const count = this.#heap.popDue(wholeNowMs, batch, max - fired);
        popped.begin();
        if (count > 0) continue;
        if (this.#heap.nextDueMs() > wholeNowMs || ++idleCalls >= idleCallsMax) break;
        continue;
      }
      const index = popped.next;
      const dueMs = batch.dueMs[index]!;
      if (dueMs > wholeNowMs) break;
      popped.advance();
      fired++;
      this.#callbacks[groupIndexOf(batch.groups[index]!)]!(batch.payloads[index]!, dueMs);
    }
    return fired;
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
