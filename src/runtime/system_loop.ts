// The real event loop behind the HostLoop port: timers, and a way to be called again soon. It is the
// same on every runtime. The engine owns it; nothing else arms it.

import type { HostLoop } from "../session/host_loop.ts";
import { Soon } from "./soon.ts";

/** After this many rounds of the loop, all input that had arrived has been reported. */
const INPUT_ROUNDS = 3;

/** Timers and turns of the runtime's own event loop. */
export class SystemLoop implements HostLoop {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #laterTimer: ReturnType<typeof setTimeout> | undefined;
  #inputTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #soon = new Soon();

  /** Calls back once after `delayMs`. Arming again replaces the earlier timer. */
  arm(delayMs: number, callback: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(callback, delayMs);
  }

  /** Cancels all timers. */
  disarm(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#laterTimer);
    clearTimeout(this.#inputTimer);
    this.#timer = undefined;
    this.#laterTimer = undefined;
    this.#inputTimer = undefined;
  }

  /** Calls back after input and output that is ready now has been handled. */
  soon(callback: () => void): void {
    this.#soon.ask(callback);
  }

  /**
   * Calls back when all input that has arrived by now has been reported. Only one call may wait at a
   * time.
   */
  afterInput(callback: () => void): void {
    this.#goRound(INPUT_ROUNDS, callback);
  }

  // Timers are used because every runtime polls its sockets between two of them.
  #goRound(roundsLeft: number, callback: () => void): void {
    this.#inputTimer = setTimeout(() => {
      if (roundsLeft > 1) return this.#goRound(roundsLeft - 1, callback);
      this.#inputTimer = undefined;
      callback();
    }, 0);
  }

  /** Calls back once after about `delayMs`. A later call replaces an earlier one. */
  later(delayMs: number, callback: () => void): void {
    clearTimeout(this.#laterTimer);
    this.#laterTimer = setTimeout(callback, delayMs);
  }
}
