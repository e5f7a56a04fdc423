// How long to wait before the next attempt: linear, constant or exponential, with an optional upper
// bound and an optional jitter. Called by hosts through index.ts. It keeps no state and never draws
// a random number: the host passes one in. Every intermediate value fits an unsigned 64-bit integer.

import { DELAY_MS_MAX, INTEGER_MAX } from "./constants";

// Saturating at the edges of the domain makes every argument legal: a caller cannot make it trap.
function toInteger(value: f64, lowest: u64): u64 {
  if (!(value >= <f64>lowest)) return lowest; // also NaN
  if (value >= <f64>INTEGER_MAX) return INTEGER_MAX;
  return <u64>value;
}

function linear(min: u64, attempt: u64): u64 {
  return attempt > DELAY_MS_MAX / min ? DELAY_MS_MAX : min * attempt;
}

// At most 32 rounds: a multiplier of two or more passes 2^32 by then, whatever the attempt is.
function exponential(min: u64, multiplier: u64, attempt: u64): u64 {
  let delay = min;
  for (let n: u64 = 1; n < attempt; n++) {
    if (multiplier > DELAY_MS_MAX / delay) return DELAY_MS_MAX;
    delay *= multiplier;
  }
  return delay;
}

export function backoffMs(min: f64, multiplier: f64, max: f64, attempt: f64): u64 {
  const first = toInteger(min, 1);
  const factor = toInteger(multiplier, 0);
  const bound = toInteger(max, 0);
  const n = toInteger(attempt, 1);
  let delay: u64 = DELAY_MS_MAX;
  if (first < DELAY_MS_MAX) {
    if (factor == 0) delay = linear(first, n);
    else if (factor == 1) delay = first;
    else delay = exponential(first, factor, n);
  }
  if (bound != 0 && delay > bound) delay = bound;
  return delay;
}

// Uniform over the whole milliseconds of [d - d*j/100, d]: `random` times the number of those
// values, so that both ends are drawn as often as any other.
export function jitteredMs(delay: u64, percent: f64, random: f64): u64 {
  let share = toInteger(percent, 0);
  if (share > 100) share = 100;
  const span = (delay * share) / 100;
  let back: u64 = 0;
  if (random > 0) back = random >= 1 ? span : <u64>Math.floor(random * <f64>(span + 1));
  if (back > span) back = span;
  const jittered = delay - back;
  return jittered < 1 ? 1 : jittered;
}
