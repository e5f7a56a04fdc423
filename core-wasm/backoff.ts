// Retry delays as plain functions over the core. Called by whoever schedules a retry; it keeps no
// state and draws no random numbers, the caller passes one in.

import { instantiateCore } from "./instance.ts";

const core = instantiateCore();

/** Whole milliseconds to wait before the next attempt; never above 2^32 - 1, never below 1. */
export interface Backoff {
  /**
   * `minMs · attempt` when `multiplier` is 0, otherwise `minMs · multiplier^(attempt - 1)`, then
   * clamped to `maxMs` unless that is 0. Attempts count from 1. Saturates instead of overflowing.
   */
  delayMs(minMs: number, multiplier: number, maxMs: number, attempt: number): number;

  /**
   * {@linkcode Backoff.delayMs} and then {@linkcode Backoff.jitterMs}: drawn from
   * `[d - d·j/100, d]` where `d` is the delay without jitter.
   */
  jitteredDelayMs(
    minMs: number,
    multiplier: number,
    maxMs: number,
    attempt: number,
    jitterPercent: number,
    random: number,
  ): number;

  /** Takes up to `jitterPercent` off a delay; `random` is in `[0, 1)`, 0 leaves the delay whole. */
  jitterMs(delayMs: number, jitterPercent: number, random: number): number;
}

/** Retry delays. */
export const backoff: Backoff = {
  delayMs(minMs, multiplier, maxMs, attempt) {
    return core.delay(minMs, multiplier, maxMs, attempt);
  },

  // deno-lint-ignore reprise-shape/function-shape -- the core's own argument order, called per retry
  jitteredDelayMs(minMs, multiplier, maxMs, attempt, jitterPercent, random) {
    return core.jitter(core.delay(minMs, multiplier, maxMs, attempt), jitterPercent, random);
  },

  jitterMs(delayMs, jitterPercent, random) {
    return core.jitter(delayMs, jitterPercent, random);
  },
};
