// The operations of the timing heap, each whole or not at all: arguments are checked and memory is
// reserved before anything changes. Called by index.ts alone.

import {
  AREA_AT,
  AREA_CAPACITY,
  AREA_DUE,
  AREA_GROUP,
  AREA_HANDLE,
  AREA_PAYLOAD,
  ERR_BAD_ARGUMENT,
  ERR_BAD_DUE_TIME,
  ERR_CHANGED,
  ERR_LIMIT_REACHED,
  ERR_OUT_OF_MEMORY,
  ERR_SCAN_NEEDED,
  ERR_STALE_HANDLE,
  ERR_UNKNOWN_GROUP,
  INTEGER_MAX,
} from "./constants";
import {
  closeDoor,
  countOf,
  doorOf,
  enterRoom,
  firstIsExact,
  firstOf,
  killRoom,
  lastIsExact,
  lastOf,
  leaveRoomAnywhere,
  renewRoom,
  roomOf,
} from "./groups";
import { beginSnapshot, endSnapshot, nextPage, snapshotIsValid } from "./scan";
import { sweepAll, sweepSome } from "./sweep";
import { countCancelled, countInserted, deadCount, liveCount } from "./taking";
import {
  abandonTimer,
  fillTimer,
  indexOfHandle,
  payloadAt,
  roomAt,
  tableIsFull,
  takeTimer,
  timerAt,
} from "./timers";
import { place, popDue, reserveEntry } from "./wheel";

// Handle or failure code.
export function insertTimer(group: u32, due: f64, payload: u32): f64 {
  endSnapshot();
  sweepSome(1);
  const room = roomOf(group);
  if (room == 0) return ERR_UNKNOWN_GROUP;
  const whole = Math.ceil(due);
  if (!(whole >= 0 && whole <= <f64>INTEGER_MAX)) return ERR_BAD_DUE_TIME;
  const handle = tryInsert(room, <u64>whole, payload);
  // Out of memory: what cancelled timers hold may be worth collecting at once.
  if (handle > 0 || deadCount() <= liveCount() >> 3) return handle;
  sweepAll();
  return tryInsert(room, <u64>whole, payload);
}

@inline
function tryInsert(room: u32, due: u64, payload: u32): f64 {
  const level = reserveEntry(due);
  if (level < 0) return ERR_OUT_OF_MEMORY;
  const index = takeTimer();
  if (index == 0) return tableIsFull() ? ERR_LIMIT_REACHED : ERR_OUT_OF_MEMORY;
  const handle = fillTimer(index, payload, room);
  place(level, due, index);
  enterRoom(room, <f64>due);
  countInserted();
  return handle;
}

export function insertFromArea(count: i32): i32 {
  if (count < 0 || <u32>count > AREA_CAPACITY) return ERR_BAD_ARGUMENT;
  for (let at = 0; at < count; at++) {
    const entry = AREA_AT + (<u32>at << 5);
    const group = load<u32>(entry, AREA_GROUP);
    const handle = insertTimer(group, load<f64>(entry, AREA_DUE), load<u32>(entry, AREA_PAYLOAD));
    store<f64>(entry, handle, AREA_HANDLE);
    if (handle < 0) return at;
  }
  return count;
}

// Payload or failure code.
export function cancelTimer(handle: f64): f64 {
  const index = indexOfHandle(handle);
  if (index == 0) return ERR_STALE_HANDLE;
  const timer = timerAt(index);
  const room = roomAt(timer);
  if (doorOf(room) == 0) return ERR_STALE_HANDLE;
  endSnapshot();
  const payload = payloadAt(timer);
  leaveRoomAnywhere(room);
  abandonTimer(timer);
  countCancelled(1);
  sweepSome(1);
  return <f64>payload;
}

export function popTimers(now: f64, max: f64): i32 {
  if (isNaN(now) || !(max >= 0)) return ERR_BAD_ARGUMENT;
  endSnapshot();
  if (now < 0) return 0;
  const time: u64 = now >= <f64>INTEGER_MAX ? INTEGER_MAX : <u64>now;
  const most: i32 = max >= <f64>AREA_CAPACITY ? AREA_CAPACITY : <i32>max;
  sweepSome(8);
  return popDue(time, most);
}

export function clearTimers(group: u32): f64 {
  const room = roomOf(group);
  if (room == 0) return ERR_UNKNOWN_GROUP;
  endSnapshot();
  const count = countOf(room);
  if (count == 0) return 0;
  countCancelled(count);
  const renewed = renewRoom(group);
  killRoom(room);
  if (!renewed) {
    // No room was left and none could be made: emptying this very one frees it.
    sweepAll();
    renewRoom(group);
  }
  sweepSome(1);
  return <f64>count;
}

export function closeTimers(group: u32): f64 {
  const room = roomOf(group);
  if (room == 0) return ERR_UNKNOWN_GROUP;
  endSnapshot();
  const count = countOf(room);
  countCancelled(count);
  killRoom(room);
  closeDoor(group);
  sweepSome(1);
  return <f64>count;
}

export function countTimers(group: u32): f64 {
  const room = roomOf(group);
  return room == 0 ? <f64>ERR_UNKNOWN_GROUP : <f64>countOf(room);
}

export function firstDue(group: u32): f64 {
  const room = roomOf(group);
  if (room == 0) return ERR_UNKNOWN_GROUP;
  if (countOf(room) == 0) return Infinity;
  return firstIsExact(room) ? firstOf(room) : ERR_SCAN_NEEDED;
}

export function lastDue(group: u32): f64 {
  const room = roomOf(group);
  if (room == 0) return ERR_UNKNOWN_GROUP;
  if (countOf(room) == 0) return -Infinity;
  return lastIsExact(room) ? lastOf(room) : ERR_SCAN_NEEDED;
}

export function snapshotFrom(group: u32): i32 {
  if (group != 0 && roomOf(group) == 0) return ERR_UNKNOWN_GROUP;
  beginSnapshot(group);
  return 0;
}

export function snapshotPage(max: f64): i32 {
  if (!(max >= 0)) return ERR_BAD_ARGUMENT;
  if (!snapshotIsValid()) return ERR_CHANGED;
  return nextPage(max >= <f64>AREA_CAPACITY ? AREA_CAPACITY : <i32>max);
}
