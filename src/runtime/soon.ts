// Calls a callback soon and lets sockets be served in between. While callbacks of setImmediate follow
// each other, Deno polls its sockets only in every 61st round of its event loop. Under Deno, Soon
// therefore lets as many empty rounds pass every few milliseconds; together they take about 0.1 ms,
// where a timer would take 2 ms. The loops of this folder use it.

import { detectRuntime } from "./detect.ts";

/** Under Deno, callbacks follow each other for at most this long before its sockets are polled, ms. */
const UNSEEN_MS_MAX = 4;
/** When nothing has been asked for this long, the loop has waited for sockets meanwhile, ms. */
const IDLE_MS = 100;
/** Rounds of Deno's event loop in which it polls its sockets at least once. */
const EMPTY_ROUNDS = 64;

/** Calls back soon, after input and output that is ready has been handled. */
export class Soon {
  readonly #looksBySelf: boolean;
  #waiting: (() => void)[] = [];
  #roundsLeft = 0;
  #askedAtMs = -Infinity;
  #lookedAtMs = 0;
  /** Whether a callback is running: its time is not time in which the loop has waited. */
  #isCalling = false;

  /** `looksBySelf`: whether the runtime polls its sockets between two callbacks of setImmediate. */
  constructor(looksBySelf: boolean = detectRuntime() !== "deno") {
    this.#looksBySelf = looksBySelf;
  }

  /** Calls back in a later round of the event loop. */
  ask(callback: () => void): void {
    if (this.#looksBySelf) {
      setImmediate(callback);
      return;
    }
    if (this.#isFresh()) {
      setImmediate(this.#call, callback);
      return;
    }
    this.#waiting.push(callback);
    if (this.#waiting.length > 1) return;
    this.#roundsLeft = EMPTY_ROUNDS;
    setImmediate(this.#onRound);
  }

  #isFresh(): boolean {
    const nowMs = performance.now();
    if (!this.#isCalling && nowMs - this.#askedAtMs > IDLE_MS) this.#lookedAtMs = nowMs;
    this.#askedAtMs = nowMs;
    return this.#waiting.length === 0 && nowMs - this.#lookedAtMs < UNSEEN_MS_MAX;
  }

  readonly #call = (callback: () => void): void => {
    this.#isCalling = true;
    try {
      callback();
    } finally {
      this.#isCalling = false;
    }
  };

  readonly #onRound = (): void => {
    if (--this.#roundsLeft > 0) {
      setImmediate(this.#onRound);
      return;
    }
    this.#lookedAtMs = performance.now();
    for (const callback of this.#waiting.splice(0)) this.#call(callback);
  };
}
