// The port to the host's one timer. The server arms it for the scheduler's next due time at the end
// of a turn; src/runtime implements it. Nothing here starts a timer.

/** One timer that calls back once; arming it again replaces what was armed. */
export interface HostTimer {
  /** `delayMs` must come from {@linkcode hostDelayMs}. */
  arm(delayMs: number, callback: () => void): void;
  clear(): void;
}

/** Longest delay a host timer can take: larger ones fire at once on Deno, Bun and Node alike. */
export const hostDelayMsMax = 2 ** 31 - 1;

/**
 * The delay to arm for something due at `dueMs`: rounded up so that it does not fire early, 0 when
 * overdue, clamped to what a host timer can take (it then wakes early and is armed again).
 */
export function hostDelayMs(dueMs: number, nowMs: number): number {
  return Math.max(0, Math.min(hostDelayMsMax, Math.ceil(dueMs - nowMs)));
}
