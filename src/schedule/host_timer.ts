// The port to the host's one timer. The server arms it for the scheduler's next due time at the end
// of a turn; src/runtime implements it. Nothing here starts a timer.

/** One timer that calls back once. Arming it again replaces the earlier call. */
export interface HostTimer {
  /** `delayMs` must come from {@linkcode hostDelayMs}. */
  arm(delayMs: number, callback: () => void): void;
  clear(): void;
}

/**
 * Longest delay that a host timer can take, ms. Longer ones fire at once on Deno, Bun and Node
 * alike.
 */
export const hostDelayMsMax = 2 ** 31 - 1;

/**
 * Returns the delay for a due time: rounded up so that nothing fires early, 0 when overdue, and
 * clamped to what a host timer can take. A clamped timer wakes early and is armed again.
 */
export function hostDelayMs(dueMs: number, nowMs: number): number {
  return Math.max(0, Math.min(hostDelayMsMax, Math.ceil(dueMs - nowMs)));
}
