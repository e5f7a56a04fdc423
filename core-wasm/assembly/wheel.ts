// The wheel: the current time, the buckets seen from it and the late heap before it, and how timers
// come nearer. When time enters a bucket above level 0, its entries move down to where they belong,
// in order and a bounded number per call ("draining"); what is inserted for that stretch of time
// meanwhile goes to the end of the same bucket. So equal due times always share a path and keep the
// order of insertion without a sequence number. Called by core.ts.

import { LEVEL_COUNT, WORK_MAX } from "./constants";
import {
  append,
  bucketAt,
  CAPACITY_1,
  endOf,
  firstChunk,
  highestLevel,
  indexIn,
  lowIn,
  lowMask,
  nextChunk,
  nextOccupied,
  setStart,
  startOf,
  unlinkChunk,
  writeEntry,
} from "./buckets";
import { dropFirstLate, lateCount, lateDueAt, lateIndexAt, pushLate, reserveLate } from "./late_heap";
import { haveChunks, reserveChunks } from "./memory";
import { leaveSweep } from "./sweep";
import { isDead, liveCount, takeOut, takeOutDead } from "./taking";
import { payloadAt, timerAt } from "./timers";

export const LATE_LEVEL: i32 = 7;

// Taking a node out of the late heap touches several others: as much work as this many entries.
const LATE_WORK: i32 = 8;

// No entry of the wheel is due before `current`; every entry of the late heap is.
let current: u64 = 0;
// Entries in buckets, live or dead.
let entries: u32 = 0;
// At least the highest level with entries.
let topLevel: u32 = 0;
// The bucket being drained: its level (0 when none is) and where its stretch of time ends; `current`
// is inside.
let drainLevel: u32 = 0;
let drainEnd: u64 = 0;
// A bucket of level 1 with few entries is not spread over level 0 but sorted where it stands, and
// emptied from the front as time passes. How far it is sorted, so that additions show.
let small: bool = false;
let sortedEnd: u32 = 0;

@inline
function digitOf(time: u64, level: u32): u32 {
  return <u32>(time >> (<u64>level << 3)) & 255;
}

@inline
function levelFor(due: u64): u32 {
  const differing = due ^ current;
  return differing < 256 ? 0 : (63 - <u32>clz(differing)) >> 3;
}

export function currentTime(): u64 {
  return current;
}

export function drainingLevel(): u32 {
  return drainLevel;
}

export function drainingBucket(): u32 {
  return drainLevel == 0 ? 0 : bucketAt(drainLevel, digitOf(current, drainLevel));
}

export function forgetEntries(count: u32): void {
  entries -= count;
}

// A sweep emptied the bucket that was being drained.
export function endDrainIfEmpty(): void {
  if (drainLevel != 0 && firstChunk(drainingBucket()) == 0) drainLevel = 0;
}

// An empty wheel may stand anywhere: near the first timer it needs fewer levels.
@inline
function approach(due: u64): void {
  if (entries == 0 && (due ^ current) >> 32 != 0 && lateCount() == 0) {
    current = due & ~(<u64>0xffff_ffff);
  }
}

// The level a new timer goes to, LATE_LEVEL for the late heap, or -1 when there is no memory. Makes
// sure that `place` will succeed, and that all later draining will: draining can need one more chunk
// for each bucket below the top level, and must not fail for want of memory.
@inline
export function reserveEntry(due: u64): i32 {
  approach(due);
  if (due < current) return reserveLate() ? LATE_LEVEL : -1;
  const level = drainLevel != 0 && due < drainEnd ? drainLevel : levelFor(due);
  if (level > topLevel) topLevel = level;
  const buckets = topLevel << 8;
  const most = entries < buckets ? entries : buckets;
  return haveChunks(most + 4) || reserveChunks(most + 4) ? level : -1;
}

// After `reserveEntry` for the same due time, with its answer.
@inline
export function place(level: i32, due: u64, index: u32): void {
  if (level == LATE_LEVEL) {
    pushLate(due, index);
    return;
  }
  append(level, digitOf(due, level), index, due);
  entries++;
}

// Kept so that the optimizer cannot drop the loads of `touch`.
let _touched: u32 = 0;

// Brings the places of timers that are about to be looked at into the cache: they lie anywhere, and
// in so short a loop many loads are under way at once. A fifth to a quarter of the time of the hold
// model, at any size.
@inline
function touch(chunk: u32, from: u32, to: u32): void {
  let seen: u32 = 0;
  for (let at = from; at < to; at++) seen ^= payloadAt(timerAt(indexIn(chunk, at)));
  _touched = seen;
}

// Moves up to `work` entries of the drained bucket down; says how many it moved.
function drain(work: i32): i32 {
  const level = drainLevel;
  const bucket = drainingBucket();
  const mask = lowMask(level);
  const bucketStart = current & ~mask;
  let moved: i32 = 0;
  let chunk = firstChunk(bucket);
  while (chunk != 0 && moved < work) {
    const start = startOf(chunk);
    const count = min<i32>(endOf(chunk) - start, work - moved);
    if (level == 1) touch(chunk, start, start + count);
    for (let at = start; at < start + count; at++) {
      const due = bucketStart | (lowIn(level, chunk, at) & mask);
      const below = levelFor(due);
      const index = indexIn(chunk, at);
      if (level == 1 && isDead(index)) {
        // Looking here costs little more than not to: these timers are taken out within 256 ms.
        takeOutDead(index);
        entries--;
        continue;
      }
      append(below, digitOf(due, below), index, due);
    }
    moved += count;
    if (start + count < endOf(chunk)) {
      setStart(chunk, start + count);
      return moved;
    }
    const next = nextChunk(chunk);
    unlinkChunk(bucket, 0, chunk);
    chunk = next;
  }
  if (chunk == 0) {
    drainLevel = 0;
    if (level == topLevel) topLevel = highestLevel();
  }
  return moved;
}

@inline
function advanceTo(time: u64): void {
  if (time > current) current = time;
}

// Goes to the next occupied bucket if its time has come, else to `now`. False when nothing in the
// wheel is due.
function enterNext(now: u64): bool {
  for (let level: u32 = 1; level < LEVEL_COUNT; level++) {
    const digit = nextOccupied(level, digitOf(current, level) + 1);
    if (digit == 256) continue;
    const start = startOfBucket(level, digit);
    if (start > now) break;
    current = start;
    drainLevel = level;
    drainEnd = start + (<u64>1 << (<u64>level << 3));
    leaveSweep(bucketAt(level, digit));
    small = level == 1 && nextChunk(firstChunk(bucketAt(level, digit))) == 0;
    sortedEnd = 0;
    return true;
  }
  advanceTo(now);
  return false;
}

@inline
export function startOfBucket(level: u32, digit: u32): u64 {
  const above = current & ~((<u64>256 << (<u64>level << 3)) - 1);
  return above | (<u64>digit << (<u64>level << 3));
}

// Stable, and quick for what was sorted before and grew at its end.
function sortSmall(chunk: u32): void {
  const end = endOf(chunk);
  for (let from = startOf(chunk) + 1; from < end; from++) {
    const low = lowIn(1, chunk, from) & 255;
    const index = indexIn(chunk, from);
    let hole = from;
    while (hole > startOf(chunk) && (lowIn(1, chunk, hole - 1) & 255) > low) {
      writeEntry(1, chunk, hole, indexIn(chunk, hole - 1), lowIn(1, chunk, hole - 1));
      hole--;
    }
    if (hole != from) writeEntry(1, chunk, hole, index, low);
  }
  sortedEnd = end;
}

// Takes out what is due of a small bucket, after `before` results; says how many there are then.
// While something is left the bucket stays the one being drained.
function popSmall(now: u64, max: i32, before: i32): i32 {
  const bucket = drainingBucket();
  const chunk = firstChunk(bucket);
  if (sortedEnd != endOf(chunk)) {
    if (sortedEnd == 0) touch(chunk, startOf(chunk), endOf(chunk));
    sortSmall(chunk);
  }
  const start = current & ~(<u64>255);
  const first = startOf(chunk);
  let at = first;
  let taken = before;
  while (at < sortedEnd && taken < max) {
    const due = start | (lowIn(1, chunk, at) & 255);
    if (due > now) break;
    current = due;
    if (takeOut(indexIn(chunk, at), <f64>due, taken)) taken++;
    at++;
  }
  entries -= at - first;
  if (at < sortedEnd) {
    setStart(chunk, at);
  } else {
    unlinkChunk(bucket, 0, chunk);
    drainLevel = 0;
  }
  return taken;
}

// Takes out what is due, in order: results go to the transfer area. Stops after `max` of them, or
// after touching WORK_MAX entries without a result.
export function popDue(now: u64, max: i32): i32 {
  let taken: i32 = 0;
  let work = WORK_MAX;
  while (lateCount() > 0) {
    const due = lateDueAt(0);
    if (due > now) break;
    if (taken == max || work <= 0) return taken;
    const index = lateIndexAt(0);
    dropFirstLate();
    if (takeOut(index, <f64>due, taken)) taken++;
    else work -= LATE_WORK;
  }
  while (taken < max && work > 0) {
    if (drainLevel != 0 && small && nextChunk(firstChunk(drainingBucket())) == 0) {
      taken = popSmall(now, max, taken);
      work -= CAPACITY_1;
      if (drainLevel == 0) continue;
      if (taken < max) advanceTo(now);
      break;
    }
    if (drainLevel != 0) {
      small = false;
      work -= drain(work);
      if (drainLevel != 0) break;
    }
    const digit = nextOccupied(0, <u32>current & 255);
    if (digit == 256) {
      if (enterNext(now)) continue;
      break;
    }
    const due = startOfBucket(0, digit);
    if (due > now) {
      advanceTo(now);
      break;
    }
    current = due;
    const bucket = bucketAt(0, digit);
    const chunk = firstChunk(bucket);
    const end = endOf(chunk);
    let at = startOf(chunk);
    const first = at;
    const time = <f64>due;
    while (at < end && taken < max && work > 0) {
      if (takeOut(indexIn(chunk, at), time, taken)) taken++;
      else work--;
      at++;
    }
    entries -= at - first;
    if (at == end) unlinkChunk(bucket, 0, chunk);
    else setStart(chunk, at);
  }
  return taken;
}

// Nothing is due before the answer. Exact for late timers, in level 0 and for a bucket of one chunk,
// except that a cancelled timer whose entry is still there counts; without live timers it does not.
export function nextDue(): f64 {
  if (liveCount() == 0) return Infinity;
  const late = lateCount() > 0 ? <f64>lateDueAt(0) : Infinity;
  if (drainLevel != 0) {
    const earliest = small ? earliestIn(1, digitOf(current, 1)) : current;
    return Math.min(late, <f64>earliest);
  }
  for (let level: u32 = 0; level < LEVEL_COUNT; level++) {
    const digit = nextOccupied(level, digitOf(current, level));
    if (digit < 256) return Math.min(late, <f64>earliestIn(level, digit));
  }
  return late;
}

function earliestIn(level: u32, digit: u32): u64 {
  const start = startOfBucket(level, digit);
  const chunk = firstChunk(bucketAt(level, digit));
  if (level == 0 || nextChunk(chunk) != 0) return start;
  const mask = lowMask(level);
  let least = mask;
  for (let at = startOf(chunk); at < endOf(chunk); at++) {
    least = min<u64>(least, lowIn(level, chunk, at) & mask);
  }
  return start | least;
}
