// Deliveries of one channel that are settled in one way, all up to a tag, perhaps in pieces. Unacked goes
// through them; whoever has begun one says how many at a time. Data, no behaviour.

/** Done with. */
export const SETTLED_AS_ACKED = 0;
/** Rejected for good. */
export const SETTLED_AS_REJECTED = 1;
/** They come back, for one of the causes of retry.ts. */
export const SETTLED_AS_RETURNED = 2;

/** A run through the unacked table of a channel. */
export interface SettleRun {
  /** One of `SETTLED_AS_*`. */
  readonly how: number;
  /** Why they come back. */
  readonly cause: number;
  /** Whether what a transaction holds is settled too. */
  readonly includesHeld: boolean;
  /** Whether a client has asked for it, so that it counts as acked or rejected. */
  readonly isCounted: boolean;
  readonly lastTag: number;
  /** Everything below has been looked at. */
  nextTag: number;
}
