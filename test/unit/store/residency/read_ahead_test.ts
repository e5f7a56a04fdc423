// ReadAhead: windows that grow while what they bring is used and shrink when it has to make way.

import { assert, assertEquals, assertFalse } from "@std/assert";
import type { ReadyLane } from "../../../../src/store/port.ts";
import { ReadAhead } from "../../../../src/store/residency/read_ahead.ts";

// Only its identity counts.
function lane(): ReadyLane {
  return {} as ReadyLane;
}

function addAll(ahead: ReadAhead, one: ReadyLane, refs: number[]): void {
  for (const ref of refs) ahead.add(one, ref, 10);
}

Deno.test("ReadAhead.recordsFor() doubles while all that was read is used", () => {
  const ahead = new ReadAhead(100_000);
  const one = lane();
  const seen: number[] = [];
  for (let round = 0; round < 7; round++) {
    const records = ahead.recordsFor(one);
    seen.push(records);
    addAll(ahead, one, [1, 2]);
    assertEquals(ahead.freeBytes, 99_980);
    ahead.used(1);
    ahead.used(2);
  }
  assertEquals(seen, [8, 16, 32, 64, 128, 256, 256]);
  assertEquals([ahead.count, ahead.freeBytes], [0, 100_000]);
});

Deno.test("ReadAhead.recordsFor() stays while something is left", () => {
  const ahead = new ReadAhead(1000);
  const one = lane();
  assertEquals(ahead.recordsFor(one), 8);
  addAll(ahead, one, [1, 2]);
  ahead.used(1);
  ahead.used(77);
  assertEquals(ahead.recordsFor(one), 8);
  assert(ahead.has(2));
  assertFalse(ahead.has(1));
});

Deno.test("ReadAhead takes the room of lanes that use nothing for those that do", () => {
  const ahead = new ReadAhead(100);
  const idle = lane();
  const busy = lane();
  assertEquals(ahead.recordsFor(idle), 8);
  addAll(ahead, idle, [1, 2, 3, 4, 5, 6, 7, 8]);
  for (let head = 0; head < 4095; head++) ahead.recordsFor(busy);
  assertEquals([ahead.count, ahead.freeBytes], [8, 20]);
  ahead.recordsFor(busy);
  // Until half of it is free.
  assertEquals([ahead.count, ahead.freeBytes], [4, 60]);
  assertFalse(ahead.has(1));
  assert(ahead.has(8));
  assertEquals(ahead.recordsFor(idle), 4);
});

Deno.test("ReadAhead.recordsFor() begins anew from nothing only with much room", () => {
  const ahead = new ReadAhead(100);
  const cut = lane();
  const busy = lane();
  ahead.recordsFor(cut);
  for (const records of [4, 2, 1, 0]) {
    addAll(ahead, cut, [1, 2, 3, 4, 5, 6, 7, 8]);
    for (let head = 0; head < 4096; head++) ahead.recordsFor(busy);
    for (const ref of [5, 6, 7, 8]) ahead.used(ref);
    assertEquals(ahead.recordsFor(cut), records);
  }
  addAll(ahead, busy, [11, 12, 13, 14, 15, 16]);
  assertEquals(ahead.recordsFor(cut), 0);
  for (const ref of [11, 12]) ahead.used(ref);
  assertEquals(ahead.recordsFor(cut), 1);
});
