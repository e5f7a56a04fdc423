// Calls a callback soon and lets sockets be served in between. While callbacks of setImmediate follow
// each other, Deno polls its sockets only in every 61st round of its event loop; when it waits for
// nothing but timers, it polls them in every round. Under Deno a timer therefore replaces setImmediate
// now and then. The loops of this folder use it.

import { detectRuntime } from "./detect.ts";

/** Under Deno, callbacks follow each other for at most this long before its sockets are polled, ms. */
const UNSEEN_MS_MAX = 8;
/** When nothing has been asked for this long, the loop has waited for sockets meanwhile, ms. */
const IDLE_MS = 100;

/** Calls back soon, after input and output that is ready has been handled. */
export class Soon {
  readonly #looksBySelf: boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waiting: (() => void)[] = [];
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
    // The timer is set after the present work. If it were due by then, Deno would not wait for it and
    // would not poll its sockets.
    if (this.#waiting.length === 0) setImmediate(this.#onRest);
    this.#waiting.push(callback);
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

  readonly #onRest = (): void => {
    if (this.#waiting.length > 0) this.#timer ??= setTimeout(this.#onLooked, 0);
  };

  readonly #onLooked = (): void => {
    this.#timer = undefined;
    this.#lookedAtMs = performance.now();
    for (const callback of this.#waiting.splice(0)) this.#call(callback);
  };

  /** Leaves no timer behind. Callbacks that were asked for are still called. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const callback of this.#waiting.splice(0)) setImmediate(callback);
  }
}
