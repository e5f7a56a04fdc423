// The exported functions: everything a host can call, and nothing it has to provide. Units and
// failure codes are in core-wasm/README.md; each function here only forwards.

import { backoffMs, jitteredMs } from "./backoff";
import { ABI_VERSION, DELAY_MS_MAX } from "./constants";

export function abi_version(): u32 {
  return ABI_VERSION;
}

export function delay(min: f64, multiplier: f64, max: f64, attempt: f64): f64 {
  return <f64>backoffMs(min, multiplier, max, attempt);
}

export function jitter(delay: f64, percent: f64, random: f64): f64 {
  const whole: u64 = !(delay >= 1) ? 1 : delay >= <f64>DELAY_MS_MAX ? DELAY_MS_MAX : <u64>delay;
  return <f64>jitteredMs(whole, percent, random);
}
