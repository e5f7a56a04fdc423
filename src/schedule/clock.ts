// The port through which time enters: implemented by src/runtime with real clocks and by
// VirtualClock in tests. Nothing in the pure layers reads a clock of its own.

/** Two clocks of one host, both in milliseconds, fractions allowed. */
export interface Clock {
  /** Since the Unix epoch; may jump in either direction when the host's time is set. */
  wallMs(): number;
  /** Since an arbitrary origin; never goes back, unaffected by settings. */
  monotonicMs(): number;
}
