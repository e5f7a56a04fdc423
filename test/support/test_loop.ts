// The host loop of tests: nothing happens by itself. `settle` runs what was to come soon, `advance`
// lets virtual time pass and fires the timer on the way.

import type { VirtualClock } from "../../src/schedule/virtual_clock.ts";
import type { HostLoop } from "../../src/session/host_loop.ts";

const ROUNDS_MAX = 1_000_000;

/** Drives an engine by hand. */
export class TestLoop implements HostLoop {
  readonly #clock: VirtualClock;
  #armedMs = Infinity;
  #callback: (() => void) | null = null;
  #soon: (() => void)[] = [];
  #later: (() => void)[] = [];

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** When the timer fires on the monotonic clock, Infinity when none is armed. */
  get armedMs(): number {
    return this.#armedMs;
  }

  arm(delayMs: number, callback: () => void): void {
    this.#armedMs = this.#clock.monotonicMs() + delayMs;
    this.#callback = callback;
  }

  disarm(): void {
    this.#armedMs = Infinity;
    this.#callback = null;
  }

  readonly soon = (callback: () => void): void => {
    this.#soon.push(callback);
  };

  /** Comes after what was to come soon before. */
  afterInput(callback: () => void): void {
    this.soon(() => this.soon(callback));
  }

  /** Comes when nothing else is left to do now. */
  later(_delayMs: number, callback: () => void): void {
    this.#later.push(callback);
  }

  /** Runs one round of what was to come soon; false when there was nothing. */
  step(): boolean {
    const callbacks = this.#soon;
    this.#soon = [];
    for (const callback of callbacks) callback();
    return callbacks.length > 0;
  }

  /** Runs what was to come later. */
  stepLater(): void {
    const callbacks = this.#later;
    this.#later = [];
    for (const callback of callbacks) callback();
  }

  /** Runs what was to come soon until nothing is left. */
  settle(): void {
    let rounds = 0;
    while (this.step() || this.#later.length > 0) {
      if (++rounds > ROUNDS_MAX) throw new Error("the loop never comes to rest");
      if (this.#soon.length === 0) this.stepLater();
    }
    if (this.#armedMs <= this.#clock.monotonicMs()) this.#fire();
  }

  #fire(): void {
    const callback = this.#callback;
    this.disarm();
    callback?.();
    this.settle();
  }

  /** Lets time pass, stopping at every due time on the way. */
  advance(elapsedMs: number): void {
    const targetMs = this.#clock.monotonicMs() + elapsedMs;
    this.settle();
    while (this.#armedMs <= targetMs) {
      this.#clock.advance(Math.max(0, this.#armedMs - this.#clock.monotonicMs()));
      this.#fire();
    }
    this.#clock.advance(targetMs - this.#clock.monotonicMs());
  }
}
