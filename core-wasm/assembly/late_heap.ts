// The heap of late timers: those inserted for a time that the wheel has already passed. They are due
// at once, so it is nearly always empty; it exists so that order by (due, insertion) holds for them
// too. Four children a node, holes moved instead of nodes swapped. Called by wheel.ts and scan.ts.
//
//   node, 16 bytes:  [0 due u64][8 sequence : 39 bits, timer index : 25 bits]
//   in pages of 512 nodes, found through tables of 1024 pages, found through 64 fixed words

import { LATE_TABLES_AT, TIMER_COUNT_MAX, TIMER_INDEX_BITS } from "./constants";
import { allocate } from "./memory";

const PAGE_BYTES: u32 = 8192;
const TABLE_BYTES: u32 = 4096;
const SEQUENCE_MAX: u64 = (<u64>1 << 39) - 1;

let capacity: u32 = 0;
let size: u32 = 0;
let sequence: u64 = 0; // starts anew whenever the heap is empty

@inline
function nodeAt(place: u32): u32 {
  const table = load<u32>(LATE_TABLES_AT + ((place >> 19) << 2));
  return load<u32>(table + (((place >> 9) & 1023) << 2)) + ((place & 511) << 4);
}

export function lateCount(): u32 {
  return size;
}

export function lateDueAt(place: u32): u64 {
  return load<u64>(nodeAt(place));
}

export function lateIndexAt(place: u32): u32 {
  return <u32>(load<u64>(nodeAt(place), 8) & <u64>TIMER_COUNT_MAX);
}

export function lateSequenceAt(place: u32): u64 {
  return load<u64>(nodeAt(place), 8) >> TIMER_INDEX_BITS;
}

// True when one more node fits.
export function reserveLate(): bool {
  if (sequence == SEQUENCE_MAX) return false;
  if (size < capacity) return true;
  const tableWord = LATE_TABLES_AT + ((capacity >> 19) << 2);
  if (load<u32>(tableWord) == 0) store<u32>(tableWord, allocate(TABLE_BYTES));
  const table = load<u32>(tableWord);
  const page = table == 0 ? 0 : allocate(PAGE_BYTES);
  if (page == 0) return false;
  store<u32>(table + (((capacity >> 9) & 1023) << 2), page);
  capacity += 512;
  return true;
}

@inline
function isBefore(due: u64, tag: u64, node: u32): bool {
  const other = load<u64>(node);
  return due < other || (due == other && tag < load<u64>(node, 8));
}

@inline
function move(from: u32, to: u32): void {
  store<u64>(to, load<u64>(from));
  store<u64>(to, load<u64>(from, 8), 8);
}

// After `reserveLate`.
export function pushLate(due: u64, index: u32): void {
  const tag = (sequence++ << TIMER_INDEX_BITS) | <u64>index;
  let hole = size++;
  while (hole > 0) {
    const parent = (hole - 1) >> 2;
    const node = nodeAt(parent);
    if (!isBefore(due, tag, node)) break;
    move(node, nodeAt(hole));
    hole = parent;
  }
  const node = nodeAt(hole);
  store<u64>(node, due);
  store<u64>(node, tag, 8);
}

// Removes the first node; the heap is not empty.
export function dropFirstLate(): void {
  const last = nodeAt(--size);
  if (size == 0) sequence = 0;
  else sink(0, load<u64>(last), load<u64>(last, 8));
}

function sink(from: u32, due: u64, tag: u64): void {
  let hole = from;
  while (true) {
    const first = (hole << 2) + 1;
    if (first >= size) break;
    let least = nodeAt(first);
    let leastPlace = first;
    const behind = min<u32>(first + 4, size);
    for (let child = first + 1; child < behind; child++) {
      const node = nodeAt(child);
      if (!isBefore(load<u64>(node), load<u64>(node, 8), least)) continue;
      least = node;
      leastPlace = child;
    }
    if (isBefore(due, tag, least)) break;
    move(least, nodeAt(hole));
    hole = leastPlace;
  }
  const node = nodeAt(hole);
  store<u64>(node, due);
  store<u64>(node, tag, 8);
}

// Keeps node `from` at place `to`; for a sweep, which then calls `rebuildLate`.
export function keepLate(from: u32, to: u32): void {
  move(nodeAt(from), nodeAt(to));
}

export function rebuildLate(count: u32): void {
  size = count;
  if (count == 0) sequence = 0;
  for (let place = <i32>((count + 2) >> 2) - 1; place >= 0; place--) {
    const node = nodeAt(place);
    sink(place, load<u64>(node), load<u64>(node, 8));
  }
}
