// The timing heap's promises one by one: order, handles, groups, memory, bounded calls.

import { assert, assertEquals, assertFalse, assertLess, assertThrows } from "@std/assert";
import {
  DueBatch,
  failure,
  groupIndexOf,
  TimingHeap,
  TimingHeapError,
} from "../../../core-wasm/mod.ts";
import { seededNumbers } from "./seeded_numbers.ts";
import { TwinHeaps } from "./twin_heaps.ts";

const mibBytes = 1024 * 1024;

function refusal(attempt: () => unknown): number {
  const error = assertThrows(attempt, TimingHeapError);
  return error.code;
}

/** Pops everything due, in as many calls as it takes. */
function popAll(heap: TimingHeap, nowMs: number): { payload: number; dueMs: number }[] {
  const batch = new DueBatch(512);
  const popped: { payload: number; dueMs: number }[] = [];
  while (heap.popDue(nowMs, batch) > 0 || heap.nextDueMs() <= nowMs) {
    for (let index = 0; index < batch.count; index++) {
      popped.push({ payload: batch.payloads[index]!, dueMs: batch.dueMs[index]! });
    }
  }
  return popped;
}

Deno.test("TimingHeap.popDue() keeps insertion order among equals whatever path they took", () => {
  const heap = new TimingHeap();
  const group = heap.openGroup();
  const dueMs = 1_790_000_123_456;
  // From 2^40 ms away down to the very millisecond, the same due time is inserted at every distance.
  let payload = 0;
  for (let distanceMs = 2 ** 40; distanceMs >= 1; distanceMs /= 2) {
    popAll(heap, dueMs - distanceMs);
    for (let twice = 0; twice < 2; twice++) heap.insert(group, dueMs, payload++);
  }
  assertEquals(popAll(heap, dueMs).map((timer) => timer.payload), [...Array(payload).keys()]);
});

Deno.test("TimingHeap.popDue() sorts a million timers as a stable sort would", () => {
  const heap = new TimingHeap();
  const group = heap.openGroup();
  const random = seededNumbers(7);
  const count = 1_000_000;
  const dueMs = new Float64Array(count);
  for (let payload = 0; payload < count; payload++) {
    // A mix of magnitudes, with many equal ones.
    dueMs[payload] = 1_790_000_000_000 + Math.floor(random() * 2 ** (4 + (payload % 30)));
  }
  heap.insertMany(group, dueMs, new Uint32Array(count).map((_, payload) => payload));
  assertEquals(heap.count, count);
  const order = Uint32Array.from(dueMs.keys()).sort((a, b) => dueMs[a]! - dueMs[b]! || a - b);
  const batch = new DueBatch(512);
  let at = 0;
  while (at < count) {
    heap.popDue(Infinity, batch);
    for (let index = 0; index < batch.count; index++) {
      if (batch.payloads[index] === order[at++]) continue;
      throw new Error(`place ${at - 1} has timer ${batch.payloads[index]}`);
    }
  }
  assertEquals(heap.count, 0);
});

Deno.test("TimingHeap.insert() takes 2^53 - 1 and refuses what is no time", () => {
  const heap = new TimingHeap();
  const group = heap.openGroup();
  heap.insert(group, Number.MAX_SAFE_INTEGER, 1);
  for (const dueMs of [NaN, Infinity, -1, 2 ** 53]) {
    assertEquals(refusal(() => heap.insert(group, dueMs, 1)), failure.badDueTime);
  }
  assertEquals(heap.nextDueMs(), Number.MAX_SAFE_INTEGER);
  assertEquals(popAll(heap, Number.MAX_SAFE_INTEGER - 1), []);
  assertEquals(popAll(heap, Number.MAX_SAFE_INTEGER).length, 1);
});

Deno.test("TimingHeap.insert() rounds up and popDue() rounds down", () => {
  const heap = new TimingHeap();
  const group = heap.openGroup();
  heap.insert(group, 10.2, 1);
  assertEquals(popAll(heap, 10.9), []);
  assertEquals(popAll(heap, 11), [{ payload: 1, dueMs: 11 }]);
});

Deno.test("TimingHeap.cancel() refuses handles that fired, were cancelled, cleared or invented", () => {
  const heap = new TimingHeap();
  const group = heap.openGroup();
  const other = heap.openGroup();
  const fired = heap.insert(group, 1, 11);
  const cancelled = heap.insert(group, 1, 12);
  const cleared = heap.insert(other, 1, 13);
  assertEquals(heap.cancel(cancelled), 12);
  assertEquals(heap.clearGroup(other), 1);
  assertEquals(popAll(heap, 5).length, 1);
  // Their places are used again by others.
  for (let payload = 0; payload < 5_000; payload++) {
    heap.insert(group, 1, payload);
    popAll(heap, 1);
  }
  const live = heap.insert(group, 1, 14);
  for (
    const handle of [fired, cancelled, cleared, 0, -1, 0.5, NaN, Infinity, live + 1, live + 0.5]
  ) {
    assertEquals(heap.cancel(handle), failure.staleHandle);
  }
  assertEquals(heap.cancel(live), 14);
});

Deno.test("TimingHeap refuses the id of a closed group, also after its place is used again", () => {
  const heap = new TimingHeap();
  const closed = heap.openGroup();
  heap.closeGroup(closed);
  for (let reuse = 0; reuse < 1_000; reuse++) {
    const group = heap.openGroup();
    assert(group !== closed);
    if (reuse % 2 === 0) heap.insert(group, 1, 1);
    heap.closeGroup(group);
  }
  assertEquals(refusal(() => heap.insert(closed, 1, 1)), failure.unknownGroup);
  assertEquals(refusal(() => heap.groupCount(closed)), failure.unknownGroup);
  assertEquals(refusal(() => heap.clearGroup(closed)), failure.unknownGroup);
  assertEquals(refusal(() => heap.closeGroup(closed)), failure.unknownGroup);
  assertEquals(refusal(() => heap.list(closed, 0, 1)), failure.unknownGroup);
});

Deno.test("TimingHeap.openGroup() serves a hundred thousand groups with distinct indexes", () => {
  const heap = new TimingHeap();
  const groups = Array.from({ length: 100_000 }, () => heap.openGroup());
  assertEquals(new Set(groups.map(groupIndexOf)).size, groups.length);
  groups.forEach((group, payload) => heap.insert(group, payload, payload));
  assertEquals(groups.every((group) => heap.groupCount(group) === 1), true);
  assertLess(heap.liveMemoryBytes, 8 * mibBytes);
});

Deno.test("TimingHeap.openGroup() stops at its limit with a failure code", () => {
  const heap = new TimingHeap();
  for (let count = 0; count < 131_071; count++) heap.openGroup();
  assertEquals(refusal(() => heap.openGroup()), failure.limitReached);
});

Deno.test("TimingHeap.clearGroup() leaves the group usable and its old timers silent", () => {
  const heap = new TimingHeap();
  const group = heap.openGroup();
  for (let round = 0; round < 200_000; round++) {
    heap.insert(group, 1_000_000 + round, round);
    assertEquals(heap.clearGroup(group), 1);
  }
  heap.insert(group, 5, 1);
  assertEquals(popAll(heap, 10_000_000).map((timer) => timer.payload), [1]);
});

Deno.test("TimingHeap.popDue() bounds the work of a call, not the result", () => {
  const heap = new TimingHeap();
  const group = heap.openGroup();
  const batch = new DueBatch(512);
  heap.popDue(1_000_000, batch);
  for (let payload = 0; payload < 100_000; payload++) heap.insert(group, 2_000_000, payload);
  // 100 000 entries come down two levels, 4096 a call: none of these calls hands anything out.
  let emptyCalls = 0;
  while (heap.popDue(2_000_000, batch) === 0) {
    assertLess(heap.nextDueMs(), 2_000_001);
    emptyCalls++;
  }
  assert(emptyCalls >= 2 * Math.floor(100_000 / 4_096) - 2);
  assertEquals(batch.count, 512);
  assertEquals([batch.payloads[0], batch.payloads[511]], [0, 511]);
});

Deno.test("TimingHeap.insert() into a time that is being entered goes behind what waits there", () => {
  const heap = new TimingHeap();
  const group = heap.openGroup();
  const batch = new DueBatch(512);
  heap.popDue(1_000_000, batch);
  for (let payload = 0; payload < 10_000; payload++) heap.insert(group, 2_000_000, payload);
  heap.popDue(2_000_000, batch, 1);
  heap.insert(group, 2_000_000, 10_000);
  const order = popAll(heap, 2_000_000).map((timer) => timer.payload);
  assertEquals(order, [...Array(10_001).keys()]);
});

Deno.test("TimingHeap gives the memory of cancelled timers back for use", () => {
  const heap = new TimingHeap();
  const group = heap.openGroup();
  const fill = () => {
    const dueMs = Float64Array.from({ length: 200_000 }, (_, index) => 1e12 + index * 100);
    return heap.insertMany(group, dueMs, new Uint32Array(dueMs.length));
  };
  let handles = fill();
  const filledBytes = heap.memoryBytes;
  for (let round = 0; round < 20; round++) {
    for (const handle of handles) assertEquals(heap.cancel(handle), 0);
    handles = fill();
  }
  assertLess(heap.memoryBytes, 1.8 * filledBytes);
  for (let round = 0; round < 20; round++) {
    heap.clearGroup(group);
    fill();
  }
  assertLess(heap.memoryBytes, 2.3 * filledBytes);
});

Deno.test("TimingHeap keeps a far timer's place when near ones come and go", () => {
  const heap = new TimingHeap();
  const group = heap.openGroup();
  heap.insert(group, 1e15, 7);
  for (let nowMs = 0; nowMs < 50_000; nowMs++) {
    heap.insert(group, nowMs + 3, nowMs);
    popAll(heap, nowMs);
  }
  assertLess(heap.memoryBytes, mibBytes);
  assertEquals(heap.lastDueMs(group), 1e15);
});

Deno.test("TimingHeap stays whole when memory runs out at any point", () => {
  const random = seededNumbers(3);
  for (const pages of [3, 4, 5, 6, 8, 11, 16]) {
    const twins = new TwinHeaps(2, { maxMemoryBytes: pages * 65_536 });
    let nowMs = 0;
    for (let step = 0; step < 3; step++) {
      const refusals = twins.refusals;
      while (twins.refusals < refusals + 5) {
        const magnitude = 2 ** Math.floor(random() * (step === 0 ? 20 : 45));
        twins.insert(Math.floor(random() * 2), nowMs + Math.floor(random() * magnitude));
      }
      twins.compareTotals();
      for (let turn = 0; turn < 50; turn++) twins.cancel(Math.floor(random() * twins.insertions));
      twins.clear(step);
      for (let turn = 0; turn < 100; turn++) {
        nowMs += Math.floor(random() * 5_000);
        twins.pop(nowMs, 64);
      }
    }
    twins.list(0, 0, 10);
    twins.drain();
    twins.insert(0, nowMs + 1e9);
    assertEquals(twins.core.count, 1);
  }
});

Deno.test("TimingHeap refuses a timer without memory and tells why", () => {
  const heap = new TimingHeap({ maxMemoryBytes: 3 * 65_536 });
  const group = heap.openGroup();
  const code = refusal(() => {
    for (let payload = 0; payload < 100_000; payload++) {
      heap.insert(group, payload * 1_000, payload);
    }
  });
  assertEquals(code, failure.outOfMemory);
  const count = heap.count;
  assert(count > 100);
  assertEquals(popAll(heap, 1e12).length, count);
  assertFalse(heap.insert(group, 1, 1) <= 0);
});

Deno.test("TimingHeap.list() pages over everything and over one group alike", () => {
  const heap = new TimingHeap();
  const random = seededNumbers(11);
  const groups = [heap.openGroup(), heap.openGroup(), heap.openGroup()];
  popAll(heap, 1_000);
  const expected = Array.from({ length: 5_000 }, (_, payload) => {
    const dueMs = Math.floor(random() * 2 ** (1 + (payload % 24)));
    const group = groups[payload % 3]!;
    return { group, payload, dueMs, handle: heap.insert(group, dueMs, payload) };
  }).sort((a, b) => a.dueMs - b.dueMs || a.payload - b.payload);
  assertEquals(heap.list(0, 0, 10_000), expected);
  const second = expected.filter((timer) => timer.group === groups[1]);
  for (const offset of [0, 1, 600, second.length - 1, second.length]) {
    assertEquals(heap.list(groups[1]!, offset, 25), second.slice(offset, offset + 25));
  }
});

Deno.test("TimingHeap.clearGroup() succeeds when there is no memory for it", () => {
  const heap = new TimingHeap({ maxMemoryBytes: 4 * 65_536 });
  const groups = Array.from({ length: 200 }, () => heap.openGroup());
  const filler = heap.openGroup();
  groups.forEach((group, payload) => heap.insert(group, 1_000 + payload, payload));
  let filled = 0;
  while (heap.tryInsert(filler, 2_000 + filled * 7, filled) > 0) filled++;
  // Each cleared group holds on to a second record until its timer is met: 256 fit.
  for (const group of groups) assertEquals(heap.clearGroup(group), 1);
  for (const group of groups) assertEquals(heap.groupCount(group), 0);
  assertEquals(popAll(heap, 1e9).length, filled);
});

Deno.test("TimingHeap agrees with the reference heap while it sweeps", () => {
  const random = seededNumbers(5);
  const twins = new TwinHeaps(3);
  const pick = (below: number) => Math.floor(random() * below);
  let nowMs = 1_700_000_000_000;
  for (let phase = 0; phase < 6; phase++) {
    for (let turn = 0; turn < 15_000; turn++) {
      twins.insert(pick(3), nowMs + pick(2 ** (4 + pick(40))));
    }
    // Newest first, so that nearly all are live, with the life of a heap going on in between.
    for (let turn = 0; turn < 12_000; turn++) {
      twins.cancel(twins.insertions - 1 - pick(15_000));
      if (turn % 3 === 0) twins.insert(pick(3), nowMs + pick(100_000));
      if (turn % 10 === 0) twins.pop(nowMs += pick(20), 8);
    }
    if (phase % 2 === 1) twins.clear(phase);
    twins.compareTotals();
    twins.list(phase, 3, 20);
  }
  twins.drain();
});

Deno.test("TimingHeap.list() and insertMany() carry everything to another heap, in order", () => {
  const from = new TimingHeap();
  const random = seededNumbers(13);
  const group = from.openGroup();
  popAll(from, 1_000_000);
  const handles = Array.from({ length: 20_000 }, (_, payload) => {
    return from.insert(group, Math.floor(random() * 2 ** (1 + (payload % 40))), payload);
  });
  handles.forEach((handle, at) => at % 5 === 0 && from.cancel(handle));
  const timers = from.list(0, 0, from.count);
  const to = new TimingHeap();
  const dueMs = timers.map((timer) => timer.dueMs);
  to.insertMany(to.openGroup(), dueMs, timers.map((timer) => timer.payload));
  const [found, expected] = [popAll(to, 1e15), popAll(from, 1e15)];
  assertEquals(found, expected);
  assertEquals([from.count, to.count], [0, 0]);
});
