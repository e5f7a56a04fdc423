// The real event loop behind the HostLoop port: two timers and one way to be called again soon. Same
// on every runtime; the engine owns it, nothing else arms it.

import type { HostLoop } from "../session/host_loop.ts";
import { Soon } from "./soon.ts";

/** As often the loop goes round before what has arrived counts as told. */
const INPUT_ROUNDS = 3;

/** Timers and turns of the runtime's own event loop. */
export class SystemLoop implements HostLoop {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #laterTimer: ReturnType<typeof setTimeout> | undefined;
  #inputTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #soon = new Soon();

  /** Calls back once after `delayMs`; arming again replaces what was armed. */
  arm(delayMs: number, callback: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(callback, delayMs);
  }

  /** Forgets what was armed and what was to come later. */
  disarm(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#laterTimer);
    clearTimeout(this.#inputTimer);
    this.#timer = undefined;
    this.#laterTimer = undefined;
    this.#inputTimer = undefined;
    this.#soon.stop();
  }

  /** Calls back after input and output that is ready now has had its turn. */
  soon(callback: () => void): void {
    this.#soon.ask(callback);
  }

  /** Calls back when everything that has arrived by now has been told; asked for once at a time. */
  afterInput(callback: () => void): void {
    this.#goRound(INPUT_ROUNDS, callback);
  }

  // A timer, because every runtime looks at its sockets between two of them.
  #goRound(roundsLeft: number, callback: () => void): void {
    this.#inputTimer = setTimeout(() => {
      if (roundsLeft > 1) return this.#goRound(roundsLeft - 1, callback);
      this.#inputTimer = undefined;
      callback();
    }, 0);
  }

  /** Calls back once after about `delayMs`; asking again replaces what was asked. */
  later(delayMs: number, callback: () => void): void {
    clearTimeout(this.#laterTimer);
    this.#laterTimer = setTimeout(callback, delayMs);
  }
}
