// The real event loop behind the HostLoop port: two timers and one way to be called again soon. Same
// on every runtime; the engine owns it, nothing else arms it.

import type { HostLoop } from "../session/host_loop.ts";

/** Timers and turns of the runtime's own event loop. */
export class SystemLoop implements HostLoop {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #laterTimer: ReturnType<typeof setTimeout> | undefined;

  /** Calls back once after `delayMs`; arming again replaces what was armed. */
  arm(delayMs: number, callback: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(callback, delayMs);
  }

  /** Forgets what was armed and what was to come later. */
  disarm(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#laterTimer);
    this.#timer = undefined;
    this.#laterTimer = undefined;
  }

  /** Calls back after input and output that is ready now has had its turn. */
  soon(callback: () => void): void {
    setImmediate(callback);
  }

  /** Calls back once after about `delayMs`; asking again replaces what was asked. */
  later(delayMs: number, callback: () => void): void {
    clearTimeout(this.#laterTimer);
    this.#laterTimer = setTimeout(callback, delayMs);
  }
}
