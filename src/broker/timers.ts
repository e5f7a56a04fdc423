// Timers for owners that need one at a time: the next expiry of a queue, the end of an idle queue. They
// share one group of the scheduler, and each fires at most once per setting. Retry delays have timers
// of their own (retry/retry_queue.ts); nothing here reads a clock.

import type { Scheduler } from "../schedule/scheduler.ts";

/** One timer that can be set, moved and stopped. A stopped timer costs the scheduler nothing. */
export class Timer {
  /** When it will fire, broker time in ms; Infinity while stopped. */
  dueMs = Infinity;
  #handle = 0;
  #index = -1;
  readonly #callback: () => void;
  readonly #timers: Timers;

  constructor(timers: Timers, callback: () => void) {
    this.#timers = timers;
    this.#callback = callback;
  }

  /** Sets the timer to `dueMs`, in place of any earlier setting; Infinity stops it. */
  set(dueMs: number): void {
    if (dueMs === this.dueMs) return;
    this.stop();
    if (dueMs === Infinity) return;
    this.dueMs = dueMs;
    this.#index = this.#timers.enter(this);
    this.#handle = this.#timers.scheduler.insert(this.#timers.group, dueMs, this.#index);
  }

  /** Sets the timer to `dueMs` unless it already fires earlier. */
  setEarlier(dueMs: number): void {
    if (dueMs < this.dueMs) this.set(dueMs);
  }

  /** Stops the timer until it is set again. */
  stop(): void {
    if (this.dueMs === Infinity) return;
    this.#timers.scheduler.cancel(this.#handle);
    this.#timers.leave(this.#index);
    this.dueMs = Infinity;
  }

  /** Called by {@link Timers} when the timer is due. */
  fire(): void {
    this.#timers.leave(this.#index);
    this.dueMs = Infinity;
    this.#callback();
  }
}

/** Makes timers over one group of a scheduler. */
export class Timers {
  readonly scheduler: Scheduler;
  readonly group: number;
  readonly #running: (Timer | null)[] = [];
  readonly #freeIndexes: number[] = [];

  constructor(scheduler: Scheduler) {
    this.scheduler = scheduler;
    this.group = scheduler.openGroup((index) => this.#running[index]!.fire());
  }

  /** Returns a new, stopped timer. */
  make(callback: () => void): Timer {
    return new Timer(this, callback);
  }

  /** Gives a running timer the index under which the scheduler knows it. */
  enter(timer: Timer): number {
    const index = this.#freeIndexes.pop() ?? this.#running.length;
    this.#running[index] = timer;
    return index;
  }

  /** Takes the index back. */
  leave(index: number): void {
    this.#running[index] = null;
    this.#freeIndexes.push(index);
  }
}
