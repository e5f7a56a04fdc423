// Snapshots: every live timer of a group (or of all) in pages, roughly in due order, and exact first
// and last due times. Called by core.ts. A snapshot lasts until something changes; it writes to the
// transfer area and to nothing else.
//
// Order of the walk: late heap, the bucket being drained, then all buckets by level and digit. Each
// entry gets an order number, so that sorting by (due, order) gives the exact order of firing.

import {
  AREA_AT,
  AREA_DUE,
  AREA_GROUP,
  AREA_HANDLE,
  AREA_ORDER,
  AREA_PAYLOAD,
  LEVEL_COUNT,
  WORK_MAX,
} from "./constants";
import {
  bucketAt,
  endOf,
  firstChunk,
  indexIn,
  lowIn,
  lowMask,
  nextChunk,
  nextOccupied,
  startOf,
} from "./buckets";
import { doorOf, resetBounds, sealBounds, widenBounds } from "./groups";
import { lateCount, lateDueAt, lateIndexAt, lateSequenceAt } from "./late_heap";
import { handleAt, payloadAt, roomAt, timerAt } from "./timers";
import { currentTime, drainingBucket, drainingLevel, startOfBucket } from "./wheel";

// Entries of a bucket being drained come after those of equal due time that moved down before.
const DRAINING_ORDER: f64 = 4503599627370496; // 2^52

const LATE: i32 = 0;
const DRAINING: i32 = 1;
const BUCKETS: i32 = 2;
const DONE: i32 = 3;

let valid: bool = false;
let onlyGroup: u32 = 0;
let phase: i32 = DONE;
let level: u32 = 0;
let digit: u32 = 0;
let chunk: u32 = 0;
let at: u32 = 0;
let order: f64 = 0;

// The entry that the walk stands at.
let entryIndex: u32 = 0;
let entryDue: u64 = 0;
let entryOrder: f64 = 0;

// Any change ends a snapshot.
@inline
export function endSnapshot(): void {
  valid = false;
}

export function snapshotIsValid(): bool {
  return valid;
}

export function snapshotIsDone(): bool {
  return phase == DONE;
}

export function beginSnapshot(group: u32): void {
  valid = true;
  onlyGroup = group;
  phase = LATE;
  at = 0;
  order = 0;
}

function enterBucket(newLevel: u32, newDigit: u32): void {
  level = newLevel;
  digit = newDigit;
  chunk = firstChunk(bucketAt(level, digit));
  at = startOf(chunk);
}

// Leaves an exhausted part for the next one.
function nextPart(): void {
  if (phase == LATE) {
    phase = DRAINING;
    if (drainingLevel() != 0) {
      enterBucket(drainingLevel(), <u32>(currentTime() >> (<u64>drainingLevel() << 3)) & 255);
      return;
    }
  }
  let from = digit + 1;
  if (phase == DRAINING) {
    phase = BUCKETS;
    level = 0;
    from = 0;
  }
  while (level < LEVEL_COUNT) {
    const found = nextOccupied(level, from);
    if (found == 256) {
      level++;
      from = 0;
    } else if (bucketAt(level, found) == drainingBucket()) {
      from = found + 1;
    } else {
      enterBucket(level, found);
      return;
    }
  }
  phase = DONE;
}

function step(): bool {
  if (phase == LATE && at < lateCount()) {
    entryIndex = lateIndexAt(at);
    entryDue = lateDueAt(at);
    entryOrder = <f64>lateSequenceAt(at);
    at++;
    return true;
  }
  while (phase == LATE || (chunk != 0 && at == endOf(chunk))) {
    if (phase != LATE) chunk = nextChunk(chunk);
    if (phase != LATE && chunk != 0) at = startOf(chunk);
    else nextPart();
    if (phase == DONE) return false;
  }
  if (phase == DONE) return false;
  entryIndex = indexIn(chunk, at);
  entryDue = startOfBucket(level, digit) | (lowIn(level, chunk, at) & lowMask(level));
  entryOrder = phase == DRAINING ? DRAINING_ORDER + order : order;
  order += 1;
  at++;
  return true;
}

// What the walk has not handed out yet is due then or later.
export function snapshotFloor(): f64 {
  if (phase == DONE) return Infinity;
  return phase == BUCKETS ? <f64>startOfBucket(level, digit) : 0;
}

// Writes up to `max` entries; touches WORK_MAX at most, so it may write fewer and not be done.
export function nextPage(max: i32): i32 {
  let written: i32 = 0;
  for (let work = WORK_MAX; work > 0 && written < max; work--) {
    if (!step()) break;
    const timer = timerAt(entryIndex);
    const door = doorOf(roomAt(timer));
    if (door == 0 || (onlyGroup != 0 && door != onlyGroup)) continue;
    const entry = AREA_AT + (<u32>written << 5);
    store<u32>(entry, payloadAt(timer), AREA_PAYLOAD);
    store<u32>(entry, door, AREA_GROUP);
    store<f64>(entry, <f64>entryDue, AREA_DUE);
    store<f64>(entry, handleAt(timer, entryIndex), AREA_HANDLE);
    store<f64>(entry, entryOrder, AREA_ORDER);
    written++;
  }
  return written;
}

// Makes first and last due time exact for every group: walks everything.
export function refreshBounds(): void {
  resetBounds();
  beginSnapshot(0);
  while (step()) {
    const room = roomAt(timerAt(entryIndex));
    if (doorOf(room) != 0) widenBounds(room, <f64>entryDue);
  }
  endSnapshot();
  sealBounds();
}
