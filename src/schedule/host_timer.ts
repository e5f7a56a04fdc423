// How long the host's one timer is armed for a due time. Broker computes it at the end of a turn;
// nothing here starts a timer.

/**
 * Longest delay that a host timer can take, ms. Longer ones fire at once on Deno, Bun and Node
 * alike.
 */
const hostDelayMsMax = 2 ** 31 - 1;

/**
 * Returns the delay for a due time: rounded up so that nothing fires early, 0 when overdue, and
 * clamped to what a host timer can take. A clamped timer wakes early and is armed again.
 */
export function hostDelayMs(dueMs: number, nowMs: number): number {
  return Math.max(0, Math.min(hostDelayMsMax, Math.ceil(dueMs - nowMs)));
}
