// The exported functions: everything a host can call, and nothing it has to provide. Units and
// failure codes are in core-wasm/README.md; each function here only forwards.

import { backoffMs, jitteredMs } from "./backoff";
import { ABI_VERSION, AREA_AT, AREA_CAPACITY, DELAY_MS_MAX } from "./constants";
import {
  cancelTimer,
  clearTimers,
  closeTimers,
  countTimers,
  firstDue,
  insertFromArea,
  insertTimer,
  lastDue,
  popTimers,
  snapshotFrom,
  snapshotPage,
} from "./core";
import { openGroup } from "./groups";
import { limitBytes, liveBytes } from "./memory";
import { refreshBounds, snapshotFloor, snapshotIsDone } from "./scan";
import { liveCount } from "./taking";
import { nextDue } from "./wheel";

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

export function area_at(): u32 {
  return AREA_AT;
}

export function area_capacity(): u32 {
  return AREA_CAPACITY;
}

export function memory_limit(bytes: f64): void {
  limitBytes(bytes);
}

export function memory_live(): f64 {
  return liveBytes();
}

export function group_open(): i32 {
  return openGroup();
}

export function group_close(group: u32): f64 {
  return closeTimers(group);
}

export function group_clear(group: u32): f64 {
  return clearTimers(group);
}

export function group_count(group: u32): f64 {
  return countTimers(group);
}

export function group_first_due(group: u32): f64 {
  return firstDue(group);
}

export function group_last_due(group: u32): f64 {
  return lastDue(group);
}

export function bounds_refresh(): void {
  refreshBounds();
}

export function insert(group: u32, due: f64, payload: u32): f64 {
  return insertTimer(group, due, payload);
}

export function insert_many(count: i32): i32 {
  return insertFromArea(count);
}

export function cancel(handle: f64): f64 {
  return cancelTimer(handle);
}

export function pop_due(now: f64, max: f64): i32 {
  return popTimers(now, max);
}

export function next_due(): f64 {
  return nextDue();
}

export function count(): f64 {
  return <f64>liveCount();
}

export function snapshot_begin(group: u32): i32 {
  return snapshotFrom(group);
}

export function snapshot_next(max: f64): i32 {
  return snapshotPage(max);
}

export function snapshot_done(): u32 {
  return snapshotIsDone() ? 1 : 0;
}

export function snapshot_floor(): f64 {
  return snapshotFloor();
}
