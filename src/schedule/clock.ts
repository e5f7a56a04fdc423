// The port through which time enters. src/runtime implements it with real clocks, VirtualClock
// implements it for tests. Nothing in the pure layers reads a clock of its own.

/** Two clocks of one host, both in milliseconds, fractions allowed. */
export interface Clock {
  /**
   * Milliseconds since the Unix epoch. It may jump in either direction when the host's time is set.
   */
  wallMs(): number;
  /**
   * Milliseconds since an arbitrary origin. It never goes back, and setting the host's time does
   * not change it.
   */
  monotonicMs(): number;
}
