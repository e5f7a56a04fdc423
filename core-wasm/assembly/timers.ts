// The timer table: what a handle stands for. Each pending timer has one place, found by its index;
// when and in which bucket it is due is kept elsewhere (wheel.ts, late_heap.ts).
//
//   place, 8 bytes:  [0 payload u32][4 generation : 14 bits, room : 18 bits]
//   free place:      [0 next free index u32][4 generation : 14 bits, room 0]
//   handle = generation * 2^25 + index; the generation is 1 to 16383, so a handle is never 0

import {
  GROUP_INDEX_BITS,
  GROUP_INDEX_MASK,
  TIMER_COUNT_MAX,
  TIMER_INDEX_BITS,
  TIMER_PAGES_AT,
} from "./constants";
import { allocate } from "./memory";

const PAGE_BYTES: u32 = 65536;
const GENERATION_MAX: u32 = (1 << 14) - 1;
// A free place waits behind this many others before it is used again: a stale handle is told from
// a live one for at least 1024 * 16383 later timers.
const PLACES_WAITING: u32 = 1024;

let used: u32 = 0; // index 0 is never used
let freeHead: u32 = 0;
let freeTail: u32 = 0;
let freeCount: u32 = 0;

@inline
export function timerAt(index: u32): u32 {
  return load<u32>(TIMER_PAGES_AT + ((index >> 13) << 2)) + ((index & 8191) << 3);
}

@inline
export function payloadAt(timer: u32): u32 {
  return load<u32>(timer);
}

@inline
export function roomAt(timer: u32): u32 {
  return load<u32>(timer, 4) & GROUP_INDEX_MASK;
}

@inline
export function handleAt(timer: u32, index: u32): f64 {
  const generation = load<u32>(timer, 4) >> GROUP_INDEX_BITS;
  return <f64>((<u64>generation << TIMER_INDEX_BITS) | <u64>index);
}

@inline
function takeFree(): u32 {
  const index = freeHead;
  freeHead = load<u32>(timerAt(index));
  freeCount--;
  return index;
}

// Index of a place of one's own, or 0 when neither memory nor an index is left.
@inline
export function takeTimer(): u32 {
  if (freeCount > PLACES_WAITING) return takeFree();
  return takeFresh();
}

function takeFresh(): u32 {
  if (used < TIMER_COUNT_MAX) {
    const index = used + 1;
    const entry = TIMER_PAGES_AT + ((index >> 13) << 2);
    if (load<u32>(entry) == 0) store<u32>(entry, allocate(PAGE_BYTES));
    if (load<u32>(entry) != 0) {
      used = index;
      store<u32>(timerAt(index), 1 << GROUP_INDEX_BITS, 4);
      return index;
    }
  }
  return freeCount > 0 ? takeFree() : 0;
}

export function tableIsFull(): bool {
  return used == TIMER_COUNT_MAX && freeCount == 0;
}

@inline
export function fillTimer(index: u32, payload: u32, room: u32): f64 {
  const timer = timerAt(index);
  store<u32>(timer, payload);
  store<u32>(timer, load<u32>(timer, 4) | room, 4);
  return handleAt(timer, index);
}

// The handle is stale from now on.
@inline
export function releaseTimer(timer: u32, index: u32): void {
  const generation = load<u32>(timer, 4) >> GROUP_INDEX_BITS;
  const next = generation == GENERATION_MAX ? 1 : generation + 1;
  store<u32>(timer, next << GROUP_INDEX_BITS, 4);
  if (freeCount == 0) freeHead = index;
  else store<u32>(timerAt(freeTail), index);
  freeTail = index;
  freeCount++;
}

// The timer keeps its place until its entry is met, but belongs to no group any more.
export function abandonTimer(timer: u32): void {
  store<u32>(timer, load<u32>(timer, 4) & ~GROUP_INDEX_MASK, 4);
}

// Index of the timer that a handle names, or 0 when the handle is of another generation or garbage.
export function indexOfHandle(handle: f64): u32 {
  if (!(handle >= 1 && handle < <f64>(<u64>1 << 39))) return 0;
  const bits = <u64>handle;
  if (<f64>bits != handle) return 0;
  const index = <u32>(bits & <u64>TIMER_COUNT_MAX);
  if (index == 0 || index > used) return 0;
  return load<u32>(timerAt(index), 4) >> GROUP_INDEX_BITS == <u32>(bits >> TIMER_INDEX_BITS) ? index : 0;
}
