// The real event loop behind the HostLoop port: one timer and one way to be called again soon. Same
// on every runtime; the engine owns it, nothing else arms it.

import type { HostLoop } from "../session/host_loop.ts";

/** Timers and turns of the runtime's own event loop. */
export class SystemLoop implements HostLoop {
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls back once after `delayMs`; arming again replaces what was armed. */
  arm(delayMs: number, callback: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(callback, delayMs);
  }

  /** Forgets what was armed. */
  disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Calls back after input and output that is ready now has had its turn. */
  soon(callback: () => void): void {
    setImmediate(callback);
  }

  /** Calls back once after about `delayMs`. */
  later(delayMs: number, callback: () => void): void {
    setTimeout(callback, delayMs);
  }
}
