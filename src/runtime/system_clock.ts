// The host's two clocks behind the Clock port. server.ts gives it to the engine, which reads it once
// per turn; everything below is told the time.

import type { Clock } from "../schedule/clock.ts";

/** The wall clock and the monotonic clock of this machine. */
export class SystemClock implements Clock {
  /** Milliseconds since the Unix epoch; may jump. */
  wallMs(): number {
    return Date.now();
  }

  /** Milliseconds since this process began, with fractions; never goes back. */
  monotonicMs(): number {
    return performance.now();
  }
}
