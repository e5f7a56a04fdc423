// Sweeping: gives back what cancelled far timers hold, long before they would be met. It starts when
// dead entries outnumber half the live ones and then goes with every call that changes something, a
// chunk at a time; chunks grown thin are joined with the one before. Called by core.ts and wheel.ts.

import { LEVEL_COUNT } from "./constants";
import {
  bucketAt,
  capacityOf,
  endOf,
  firstChunk,
  indexIn,
  lowIn,
  nextChunk,
  nextOccupied,
  setEnd,
  startOf,
  unlinkChunk,
  writeEntry,
} from "./buckets";
import { deadRoomCount } from "./groups";
import { keepLate, lateCount, lateIndexAt, rebuildLate } from "./late_heap";
import { deadCount, isDead, liveCount, takeOutDead } from "./taking";
import { drainingBucket, endDrainIfEmpty, forgetEntries } from "./wheel";

const DEAD_ALLOWED: u32 = 4096;
const DEAD_ROOMS_ALLOWED: u32 = 65536;

let level: u32 = 0; // of the bucket being swept; 0 when no sweep is under way
let digit: u32 = 0;
let chunk: u32 = 0; // next chunk to sweep; 0 when the bucket is still to be found
let before: u32 = 0;
// Dead entries that the last sweep could not reach: nearly due ones, late ones.
let unreachable: u32 = 0;

// Drops the dead from a chunk; says how many are left in it.
function compact(at: u32, chunkLevel: u32): u32 {
  const start = startOf(at);
  const end = endOf(at);
  let kept = start;
  for (let from = start; from < end; from++) {
    const index = indexIn(at, from);
    if (isDead(index)) {
      takeOutDead(index);
      continue;
    }
    if (kept != from) writeEntry(chunkLevel, at, kept, index, lowIn(chunkLevel, at, from));
    kept++;
  }
  setEnd(at, kept);
  forgetEntries(end - kept);
  return kept - start;
}

function join(into: u32, from: u32, chunkLevel: u32): void {
  let end = endOf(into);
  for (let at = startOf(from); at < endOf(from); at++) {
    writeEntry(chunkLevel, into, end++, indexIn(from, at), lowIn(chunkLevel, from, at));
  }
  setEnd(into, end);
}

// Sweeps one chunk and answers the chunk that stands before the next one.
function sweepChunk(bucket: u32, prior: u32, at: u32, chunkLevel: u32): u32 {
  const left = compact(at, chunkLevel);
  if (left == 0) {
    unlinkChunk(bucket, prior, at);
    return prior;
  }
  if (prior != 0 && endOf(prior) + left <= capacityOf(chunkLevel)) {
    join(prior, at, chunkLevel);
    unlinkChunk(bucket, prior, at);
    return prior;
  }
  return at;
}

// Finds the next bucket that is not being drained; false when the sweep is over.
function findBucket(): bool {
  while (level < LEVEL_COUNT) {
    digit = nextOccupied(level, digit);
    if (digit < 256) {
      const bucket = bucketAt(level, digit);
      if (bucket != drainingBucket()) {
        chunk = firstChunk(bucket);
        before = 0;
        return true;
      }
      digit++;
      continue;
    }
    level++;
    digit = 0;
  }
  level = 0;
  unreachable = deadCount();
  return false;
}

// The wheel is about to drain a bucket and frees its chunks: the sweep must not stand there.
export function leaveSweep(bucket: u32): void {
  if (level == 0 || chunk == 0 || bucketAt(level, digit) != bucket) return;
  chunk = 0;
  digit++;
}

// A share of the work, after any change.
@inline
export function sweepSome(chunks: i32): void {
  if (level != 0) sweepOn(chunks);
  else if (deadCount() > DEAD_ALLOWED) considerSweep();
}

function considerSweep(): void {
  if (unreachable > deadCount()) unreachable = deadCount();
  const tooMany = deadCount() - unreachable > (liveCount() >> 1) + DEAD_ALLOWED;
  if (!tooMany && deadRoomCount() <= DEAD_ROOMS_ALLOWED) return;
  level = 1;
  digit = 0;
  chunk = 0;
}

function sweepOn(chunks: i32): void {
  for (let done = 0; done < chunks; done++) {
    if (chunk == 0 && !findBucket()) return;
    const next = nextChunk(chunk);
    before = sweepChunk(bucketAt(level, digit), before, chunk, level);
    chunk = next;
    if (chunk == 0) digit++;
  }
}

// Everything at once, wherever it is: for the rare moment when a room must be found.
export function sweepAll(): void {
  level = 0;
  chunk = 0;
  for (let each: u32 = 0; each < LEVEL_COUNT; each++) {
    for (let at = nextOccupied(each, 0); at < 256; at = nextOccupied(each, at + 1)) {
      const bucket = bucketAt(each, at);
      let prior: u32 = 0;
      for (let one = firstChunk(bucket); one != 0;) {
        const next = nextChunk(one);
        prior = sweepChunk(bucket, prior, one, each);
        one = next;
      }
    }
  }
  endDrainIfEmpty();
  sweepLate();
  unreachable = 0;
}

function sweepLate(): void {
  let kept: u32 = 0;
  const count = lateCount();
  for (let at: u32 = 0; at < count; at++) {
    const index = lateIndexAt(at);
    if (isDead(index)) {
      takeOutDead(index);
      continue;
    }
    if (kept != at) keepLate(at, kept);
    kept++;
  }
  if (kept != count) rebuildLate(kept);
}
