// Being called again soon, with sockets let in on the way. Deno looks at sockets only in every 61st
// round while callbacks of setImmediate follow each other, and in every round when there is nothing
// but timers to wait for. So there a timer takes the place of setImmediate now and then. Used by the
// loops of this folder.

import { detectRuntime } from "./detect.ts";

/** Callbacks follow each other for this long on Deno before its sockets are looked at. */
const UNSEEN_MS_MAX = 8;
/** Who has asked for nothing for this long has waited for sockets. */
const IDLE_MS = 100;

/** Calls back soon, after input and output that is ready has had its turn. */
export class Soon {
  readonly #looksBySelf: boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waiting: (() => void)[] = [];
  #askedAtMs = -Infinity;
  #lookedAtMs = 0;

  /** `looksBySelf`: the runtime looks at its sockets between two callbacks of setImmediate. */
  constructor(looksBySelf: boolean = detectRuntime() !== "deno") {
    this.#looksBySelf = looksBySelf;
  }

  /** Calls back in a later round of the event loop. */
  ask(callback: () => void): void {
    if (this.#looksBySelf || this.#isFresh()) {
      setImmediate(callback);
      return;
    }
    // The timer is set when the work at hand is done: one that was due by then would not be waited for.
    if (this.#waiting.length === 0) setImmediate(this.#onRest);
    this.#waiting.push(callback);
  }

  #isFresh(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#askedAtMs > IDLE_MS) this.#lookedAtMs = nowMs;
    this.#askedAtMs = nowMs;
    return this.#waiting.length === 0 && nowMs - this.#lookedAtMs < UNSEEN_MS_MAX;
  }

  readonly #onRest = (): void => {
    if (this.#waiting.length > 0) this.#timer ??= setTimeout(this.#onLooked, 0);
  };

  readonly #onLooked = (): void => {
    this.#timer = undefined;
    this.#lookedAtMs = performance.now();
    for (const callback of this.#waiting.splice(0)) callback();
  };

  /** Leaves no timer behind; what has been asked for is still called. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const callback of this.#waiting.splice(0)) setImmediate(callback);
  }
}
