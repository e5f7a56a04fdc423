// All deliveries of one channel up to a tag that are settled in one way, perhaps in pieces. Unacked
// works through a run; the code that began the run decides how many deliveries a piece has. Data, no
// behaviour.

/** The deliveries are acked. */
export const SETTLED_AS_ACKED = 0;
/** The deliveries are rejected without requeue. */
export const SETTLED_AS_REJECTED = 1;
/** The deliveries are returned for a cause of retry/rules.ts. */
export const SETTLED_AS_RETURNED = 2;

/** A pass over the unacked table of a channel. */
export interface SettleRun {
  /** One of `SETTLED_AS_*`. */
  readonly how: number;
  /** Why the deliveries are returned; one of the causes of retry/rules.ts. */
  readonly cause: number;
  /** Whether deliveries that a transaction holds are settled too. */
  readonly includesHeld: boolean;
  /** Whether a client has requested the run, so that its deliveries count as acked or rejected. */
  readonly isCounted: boolean;
  readonly lastTag: number;
  /** All tags below this one have been looked at. */
  nextTag: number;
}
