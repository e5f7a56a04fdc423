// What the arguments of a queue say about a message that is returned: whether the delivery counts as
// spent, whether the message is delayed, and for how long (docs/automatic-retries.md "Delays", "What is
// retried" and "RabbitMQ's dialect"). Pure functions; the queue applies and counts their results.

import { backoff } from "../../../core-wasm/mod.ts";
import type { RetrySettings } from "../arguments/queue_arguments.ts";

/** `basic.reject` with requeue. */
export const CAUSE_REJECT = 0;
/** `basic.nack` with requeue. */
export const CAUSE_NACK = 1;
/** `basic.recover` with requeue. */
export const CAUSE_RECOVER = 2;
/** The channel or connection was closed. */
export const CAUSE_CLOSE = 3;

/** Reaction bit: the delivery counts as spent. */
export const SPENDS = 1;
/** Reaction bit: the message is delayed. Without it, the message is requeued at once. */
export const DELAYS = 2;

const DELAY_MS_MAX = 4_294_967_295;

// Indexed by cause: reject, nack, recover, close.
const REACTIONS: Readonly<Record<RetrySettings["type"] | "none", readonly number[]>> = {
  none: [SPENDS, SPENDS, SPENDS, SPENDS],
  "": [SPENDS | DELAYS, SPENDS | DELAYS, SPENDS, SPENDS],
  all: [SPENDS | DELAYS, SPENDS | DELAYS, SPENDS, SPENDS | DELAYS],
  failed: [SPENDS | DELAYS, 0, SPENDS, SPENDS | DELAYS],
  returned: [SPENDS, DELAYS, SPENDS, SPENDS],
};

/** Returns bits of {@link SPENDS} and {@link DELAYS} for a message that is returned for `cause`. */
export function reactionTo(settings: RetrySettings | null, cause: number): number {
  return REACTIONS[settings === null ? "none" : settings.type][cause]!;
}

/**
 * Returns how long the message waits, in whole ms from 1 to 2^32−1.
 * @param deliveriesSpent deliveries spent so far, the one being returned included; 0 counts as 1
 * @param random a number in [0, 1) that places the delay within its jitter
 */
export function retryDelayMs(
  settings: RetrySettings,
  deliveriesSpent: number,
  random: number,
): number {
  const attempt = Math.max(1, deliveriesSpent);
  const { jitterPercent } = settings;
  const delayMs = settings.delaysMs === null
    ? backoff.delayMs(settings.minMs, settings.multiplier, longestMs(settings), attempt)
    : listedDelayMs(settings.delaysMs, attempt);
  if (jitterPercent === 0) return delayMs;
  return backoff.jitterMs(delayMs, jitterPercent, random);
}

function listedDelayMs(delaysMs: readonly number[], attempt: number): number {
  return Math.min(delaysMs[Math.min(attempt, delaysMs.length) - 1]!, DELAY_MS_MAX);
}

// In the dialect with a type, linear growth is capped at `min` unless a maximum is given.
function longestMs(settings: RetrySettings): number {
  const isCapped = settings.type !== "" && settings.multiplier === 0 && settings.maxMs === 0;
  return isCapped ? settings.minMs : settings.maxMs;
}
