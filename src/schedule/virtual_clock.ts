// A clock that stands still until it is moved. Tests and the `clock` option of the library use it.
// It never looks at the real time.

import type { Clock } from "./clock.ts";

/** Time under the caller's control. `advance` moves both clocks, `setWall` sets one. */
export class VirtualClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;

  /** Starts at `wallMs` on the wall and at 0 on the monotonic clock. */
  constructor(wallMs = 0) {
    this.#wallMs = wallMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** Lets time pass on both clocks. It refuses to run backward. */
  advance(elapsedMs: number): void {
    if (!(elapsedMs >= 0)) throw new RangeError(`cannot advance by ${elapsedMs} ms`);
    this.#wallMs += elapsedMs;
    this.#monotonicMs += elapsedMs;
  }

  /**
   * Sets the wall clock, as an administrator or a time server would. The monotonic clock does not
   * change.
   */
  setWall(wallMs: number): void {
    this.#wallMs = wallMs;
  }
}
