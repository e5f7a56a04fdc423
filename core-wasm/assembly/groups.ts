// Groups: which are open, how many timers each holds, and the first and last due time of each.
// What the host holds is a door (index and generation); behind a door stands a room that timers
// point to. Clearing a group puts a new room behind its door, so that no timer need be touched: the
// old room stays dead until the last timer in it is met and removed.
//
//   record i, 32 bytes:  as room i  [ 0 count u32][ 4 door id u32, 0 = dead][ 8 first f64][16 last f64]
//                                   [30 first is exact u8][31 last is exact u8]
//                        as door i  [24 room u32][28 generation u16]
//   room 0 is always dead: cancelled timers point to it.

import {
  ERR_LIMIT_REACHED,
  ERR_OUT_OF_MEMORY,
  GROUP_COUNT_MAX,
  GROUP_INDEX_BITS,
  GROUP_INDEX_MASK,
  GROUP_PAGES_AT,
} from "./constants";
import { allocate } from "./memory";

const RECORD_BYTES: u32 = 32;
const PAGE_RECORDS: u32 = 256;
const COUNT: usize = 0;
const DOOR: usize = 4;
const FIRST: usize = 8;
const LAST: usize = 16;
const ROOM: usize = 24;
const GENERATION: usize = 28;
const FIRST_EXACT: usize = 30;
const LAST_EXACT: usize = 31;
const GENERATION_MAX: u32 = (1 << 13) - 1;
// Doors wait in line before they are used again, so that a stale id is refused for long.
const DOORS_WAITING: u32 = 64;

let doorsUsed: u32 = 0;
let freeDoorHead: u32 = 0;
let freeDoorTail: u32 = 0;
let freeDoors: u32 = 0;
let roomsUsed: u32 = 0;
let freeRoom: u32 = 0;
let deadRooms: u32 = 0;

@inline
export function recordAt(index: u32): u32 {
  return load<u32>(GROUP_PAGES_AT + ((index >> 8) << 2)) + (index & 255) * RECORD_BYTES;
}

// The door's id for hosts, or 0 when the room is dead.
@inline
export function doorOf(room: u32): u32 {
  return load<u32>(recordAt(room), DOOR);
}

export function deadRoomCount(): u32 {
  return deadRooms;
}

function ensureRecord(index: u32): bool {
  const entry = GROUP_PAGES_AT + ((index >> 8) << 2);
  if (load<u32>(entry) != 0) return true;
  const page = allocate(PAGE_RECORDS * RECORD_BYTES);
  store<u32>(entry, page);
  return page != 0;
}

// A room with nothing in it and no door, or 0.
function takeRoom(): u32 {
  let room = freeRoom;
  if (room != 0) {
    freeRoom = load<u32>(recordAt(room), COUNT);
  } else {
    if (roomsUsed == GROUP_INDEX_MASK || !ensureRecord(roomsUsed + 1)) return 0;
    room = ++roomsUsed;
  }
  store<u32>(recordAt(room), 0, COUNT);
  return room;
}

function releaseRoom(room: u32): void {
  store<u32>(recordAt(room), 0, DOOR);
  store<u32>(recordAt(room), freeRoom, COUNT);
  freeRoom = room;
}

function takeDoor(): u32 {
  if (freeDoors > DOORS_WAITING || (doorsUsed == GROUP_COUNT_MAX && freeDoors > 0)) {
    const door = freeDoorHead;
    freeDoorHead = load<u32>(recordAt(door), ROOM);
    freeDoors--;
    return door;
  }
  if (doorsUsed == GROUP_COUNT_MAX || !ensureRecord(doorsUsed + 1)) return 0;
  store<u16>(recordAt(++doorsUsed), 1, GENERATION);
  return doorsUsed;
}

function releaseDoor(door: u32): void {
  const record = recordAt(door);
  const generation = <u32>load<u16>(record, GENERATION);
  store<u16>(record, <u16>(generation == GENERATION_MAX ? 1 : generation + 1), GENERATION);
  store<u32>(record, 0, ROOM);
  if (freeDoors == 0) freeDoorHead = door;
  else store<u32>(recordAt(freeDoorTail), door, ROOM);
  freeDoorTail = door;
  freeDoors++;
}

// The id for the host, or a failure code.
export function openGroup(): i32 {
  const room = takeRoom();
  if (room == 0) return ERR_OUT_OF_MEMORY;
  const door = takeDoor();
  if (door == 0) {
    const full = doorsUsed == GROUP_COUNT_MAX;
    releaseRoom(room);
    return full ? ERR_LIMIT_REACHED : ERR_OUT_OF_MEMORY;
  }
  const id = (<u32>load<u16>(recordAt(door), GENERATION) << GROUP_INDEX_BITS) | door;
  store<u32>(recordAt(door), room, ROOM);
  store<u32>(recordAt(room), id, DOOR);
  return id;
}

// The room behind an id, or 0 when the id is not that of an open group.
@inline
export function roomOf(id: u32): u32 {
  const door = id & GROUP_INDEX_MASK;
  if (door == 0 || door > doorsUsed) return 0;
  // A free door keeps a link where an open one keeps its room, and an older id has the same door:
  // the room says which id it belongs to.
  const room = load<u32>(recordAt(door), ROOM);
  return room <= roomsUsed && doorOf(room) == id ? room : 0;
}

@inline
export function countOf(room: u32): u32 {
  return load<u32>(recordAt(room), COUNT);
}

// Puts an empty room behind the door, whose old room is the caller's to kill; false when there is
// none to be had.
export function renewRoom(id: u32): bool {
  const fresh = takeRoom();
  if (fresh == 0) return false;
  store<u32>(recordAt(id & GROUP_INDEX_MASK), fresh, ROOM);
  store<u32>(recordAt(fresh), id, DOOR);
  return true;
}

// From now on the timers in the room count as cancelled.
export function killRoom(room: u32): void {
  const record = recordAt(room);
  store<u32>(record, 0, DOOR);
  if (load<u32>(record, COUNT) == 0) releaseRoom(room);
  else deadRooms++;
}

export function closeDoor(id: u32): void {
  releaseDoor(id & GROUP_INDEX_MASK);
}

// A timer of a dead room was met and removed.
export function leaveDeadRoom(room: u32): void {
  if (room == 0) return;
  const record = recordAt(room);
  const count = load<u32>(record, COUNT) - 1;
  store<u32>(record, count, COUNT);
  if (count != 0) return;
  deadRooms--;
  releaseRoom(room);
}

@inline
export function enterRoom(room: u32, due: f64): void {
  const record = recordAt(room);
  const count = load<u32>(record, COUNT);
  store<u32>(record, count + 1, COUNT);
  if (count == 0) {
    store<f64>(record, due, FIRST);
    store<f64>(record, due, LAST);
    store<u16>(record, 0x0101, FIRST_EXACT);
    return;
  }
  if (due <= load<f64>(record, FIRST)) {
    store<f64>(record, due, FIRST);
    store<u8>(record, 1, FIRST_EXACT);
  }
  if (due >= load<f64>(record, LAST)) {
    store<f64>(record, due, LAST);
    store<u8>(record, 1, LAST_EXACT);
  }
}

// The room's first timer fired: what is left is due then or later.
@inline
export function leaveRoomFirst(room: u32, due: f64): void {
  const record = recordAt(room);
  store<u32>(record, load<u32>(record, COUNT) - 1, COUNT);
  store<f64>(record, due, FIRST);
  store<u8>(record, 0, FIRST_EXACT);
}

// Some timer was cancelled; it may have been the first or the last.
export function leaveRoomAnywhere(room: u32): void {
  const record = recordAt(room);
  store<u32>(record, load<u32>(record, COUNT) - 1, COUNT);
  store<u16>(record, 0, FIRST_EXACT);
}

export function firstIsExact(room: u32): bool {
  return load<u8>(recordAt(room), FIRST_EXACT) != 0;
}

export function lastIsExact(room: u32): bool {
  return load<u8>(recordAt(room), LAST_EXACT) != 0;
}

export function firstOf(room: u32): f64 {
  return load<f64>(recordAt(room), FIRST);
}

export function lastOf(room: u32): f64 {
  return load<f64>(recordAt(room), LAST);
}

// Forgets all bounds of rooms in use; `widenBounds` for each timer, then `sealBounds`.
export function resetBounds(): void {
  for (let room: u32 = 1; room <= roomsUsed; room++) {
    const record = recordAt(room);
    if (load<u32>(record, DOOR) == 0) continue;
    store<f64>(record, Infinity, FIRST);
    store<f64>(record, -Infinity, LAST);
  }
}

export function widenBounds(room: u32, due: f64): void {
  const record = recordAt(room);
  if (due < load<f64>(record, FIRST)) store<f64>(record, due, FIRST);
  if (due > load<f64>(record, LAST)) store<f64>(record, due, LAST);
}

export function sealBounds(): void {
  for (let room: u32 = 1; room <= roomsUsed; room++) {
    store<u16>(recordAt(room), 0x0101, FIRST_EXACT);
  }
}
