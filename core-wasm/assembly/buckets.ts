// Buckets: where far timers wait. Time is read as seven digits of eight bits; a timer stands at the
// level of the highest digit in which its due time differs from the current time, in the bucket of
// that digit. So every timer of a lower level is due before any of a higher one, and a bucket of
// level 0 holds one millisecond. Called by wheel.ts, sweep.ts and scan.ts, which know the time.
//
//   bucket:  [0 first chunk u32][4 last chunk u32], and one bit in the level's set of occupied ones
//   chunk:   [0 next u32][4 start u16][6 end u16][8 timer index u32 x capacity][low digits ...]
//   low digits, what the bucket does not say of the due time, by level:
//     0: none, 62 entries   1, 2: u16, 41 entries   3: u16 and u8, 35   4 to 6: u32 and u16, 24

import { BUCKETS_AT, LEVEL_COUNT, OCCUPIED_AT } from "./constants";
import { CHUNK_BYTES, releaseChunk, takeChunk } from "./memory";

const HEADER: u32 = 8;
const ROOM: u32 = CHUNK_BYTES - HEADER;
export const CAPACITY_0: u32 = ROOM / 4;
export const CAPACITY_1: u32 = ROOM / 6;
export const CAPACITY_3: u32 = ROOM / 7;
export const CAPACITY_4: u32 = ROOM / 10;

const START: usize = 4;
const END: usize = 6;

@inline
export function bucketAt(level: u32, digit: u32): u32 {
  return BUCKETS_AT + (((level << 8) | digit) << 3);
}

@inline
export function capacityOf(level: u32): u32 {
  return level == 0 ? CAPACITY_0 : level <= 2 ? CAPACITY_1 : level == 3 ? CAPACITY_3 : CAPACITY_4;
}

@inline
export function firstChunk(bucket: u32): u32 {
  return load<u32>(bucket);
}

@inline
export function nextChunk(chunk: u32): u32 {
  return load<u32>(chunk);
}

@inline
export function startOf(chunk: u32): u32 {
  return load<u16>(chunk, START);
}

@inline
export function endOf(chunk: u32): u32 {
  return load<u16>(chunk, END);
}

@inline
export function setStart(chunk: u32, start: u32): void {
  store<u16>(chunk, <u16>start, START);
}

@inline
export function setEnd(chunk: u32, end: u32): void {
  store<u16>(chunk, <u16>end, END);
}

@inline
export function indexIn(chunk: u32, at: u32): u32 {
  return load<u32>(chunk + (at << 2), HEADER);
}

@inline
export function lowIn(level: u32, chunk: u32, at: u32): u64 {
  if (level == 0) return 0;
  if (level <= 2) return load<u16>(chunk + (at << 1), HEADER + CAPACITY_1 * 4);
  if (level == 3) {
    const low = <u64>load<u16>(chunk + (at << 1), HEADER + CAPACITY_3 * 4);
    return low | (<u64>load<u8>(chunk + at, HEADER + CAPACITY_3 * 6) << 16);
  }
  const low = <u64>load<u32>(chunk + (at << 2), HEADER + CAPACITY_4 * 4);
  return low | (<u64>load<u16>(chunk + (at << 1), HEADER + CAPACITY_4 * 8) << 32);
}

@inline
export function writeEntry(level: u32, chunk: u32, at: u32, index: u32, due: u64): void {
  store<u32>(chunk + (at << 2), index, HEADER);
  if (level == 0) return;
  if (level <= 2) {
    store<u16>(chunk + (at << 1), <u16>due, HEADER + CAPACITY_1 * 4);
  } else if (level == 3) {
    store<u16>(chunk + (at << 1), <u16>due, HEADER + CAPACITY_3 * 4);
    store<u8>(chunk + at, <u8>(due >> 16), HEADER + CAPACITY_3 * 6);
  } else {
    store<u32>(chunk + (at << 2), <u32>due, HEADER + CAPACITY_4 * 4);
    store<u16>(chunk + (at << 1), <u16>(due >> 32), HEADER + CAPACITY_4 * 8);
  }
}

// The digits below the bucket's own: level 1 keeps 16 bits of which its bucket needs 8.
@inline
export function lowMask(level: u32): u64 {
  return (<u64>1 << (<u64>level << 3)) - 1;
}

// Adds to the end of a bucket; a chunk must be in reserve.
export function append(level: u32, digit: u32, index: u32, due: u64): void {
  const bucket = bucketAt(level, digit);
  let chunk = load<u32>(bucket, 4);
  let end: u32 = 0;
  if (chunk != 0) {
    end = endOf(chunk);
    if (end == capacityOf(level)) {
      const fresh = takeChunk();
      store<u32>(chunk, fresh);
      store<u32>(bucket, fresh, 4);
      chunk = fresh;
      end = 0;
    }
  } else {
    chunk = takeChunk();
    store<u32>(bucket, chunk);
    store<u32>(bucket, chunk, 4);
    const word = OCCUPIED_AT + (level << 5) + ((digit >> 6) << 3);
    store<u64>(word, load<u64>(word) | (<u64>1 << <u64>(digit & 63)));
  }
  writeEntry(level, chunk, end, index, due);
  setEnd(chunk, end + 1);
}

// Takes a chunk out of its bucket; `before` is the chunk in front of it, 0 for the first.
export function unlinkChunk(bucket: u32, before: u32, chunk: u32): void {
  const next = nextChunk(chunk);
  if (before != 0) store<u32>(before, next);
  else store<u32>(bucket, next);
  if (next == 0) store<u32>(bucket, before, 4);
  if (next == 0 && before == 0) {
    const place = (bucket - BUCKETS_AT) >> 3;
    const word = OCCUPIED_AT + ((place >> 6) << 3);
    store<u64>(word, load<u64>(word) & ~(<u64>1 << <u64>(place & 63)));
  }
  releaseChunk(chunk);
}

// The first occupied bucket of a level at or after a digit, or 256.
export function nextOccupied(level: u32, from: u32): u32 {
  let at = from >> 6;
  if (at > 3) return 256;
  const words = OCCUPIED_AT + (level << 5);
  let bits = load<u64>(words + (at << 3)) & (~(<u64>0) << <u64>(from & 63));
  while (bits == 0) {
    if (++at == 4) return 256;
    bits = load<u64>(words + (at << 3));
  }
  return (at << 6) + <u32>ctz(bits);
}

// The highest level that has an occupied bucket, 0 when none has.
export function highestLevel(): u32 {
  for (let level: u32 = LEVEL_COUNT - 1; level > 0; level--) {
    if (nextOccupied(level, 0) < 256) return level;
  }
  return 0;
}
