// The two clocks of the host behind the Clock port. main.ts and mod.ts make one; broker time reads it
// once per turn, and all other code is given the time.

import type { Clock } from "../schedule/clock.ts";

/** The wall clock and the monotonic clock of this machine. */
export class SystemClock implements Clock {
  /** Milliseconds since the Unix epoch; may jump. */
  wallMs(): number {
    return Date.now();
  }

  /** Milliseconds since this process started, with fractions; never goes back. */
  monotonicMs(): number {
    return performance.now();
  }
}
