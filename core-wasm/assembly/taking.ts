// Taking timers out, and the two totals: live timers, and dead ones whose entry still waits in a
// bucket or the late heap. A timer is dead when its room is: it was cancelled alone (room 0) or its
// group was cleared. Called by wheel.ts and sweep.ts for entries they meet, by core.ts for totals.

import { AREA_AT, AREA_DUE, AREA_GROUP, AREA_HANDLE, AREA_PAYLOAD } from "./constants";
import { doorOf, leaveDeadRoom, leaveRoomFirst } from "./groups";
import { handleAt, payloadAt, releaseTimer, roomAt, timerAt } from "./timers";

let live: u32 = 0;
let dead: u32 = 0;

@inline
export function liveCount(): u32 {
  return live;
}

@inline
export function deadCount(): u32 {
  return dead;
}

@inline
export function countInserted(): void {
  live++;
}

export function countCancelled(count: u32): void {
  live -= count;
  dead += count;
}

// The entry of a timer that may be dead was met outside the due order.
export function isDead(index: u32): bool {
  return doorOf(roomAt(timerAt(index))) == 0;
}

export function takeOutDead(index: u32): void {
  const timer = timerAt(index);
  leaveDeadRoom(roomAt(timer));
  releaseTimer(timer, index);
  dead--;
}

// Writes a due timer to the transfer area and frees its place; false when it was dead.
@inline
export function takeOut(index: u32, due: f64, at: i32): bool {
  const timer = timerAt(index);
  const room = roomAt(timer);
  const door = doorOf(room);
  if (door == 0) {
    takeOutDead(index);
    return false;
  }
  const entry = AREA_AT + (<u32>at << 5);
  store<u32>(entry, payloadAt(timer), AREA_PAYLOAD);
  store<u32>(entry, door, AREA_GROUP);
  store<f64>(entry, due, AREA_DUE);
  store<f64>(entry, handleAt(timer, index), AREA_HANDLE);
  leaveRoomFirst(room, due);
  releaseTimer(timer, index);
  live--;
  return true;
}
