// The scheduler's contract as its owners see it: groups, order, cancel, callbacks that insert,
// cancel, close or throw. The heap below has tests of its own.

import { assert, assertEquals, assertFalse, assertThrows } from "@std/assert";
import { Scheduler, SchedulerFullError } from "../../../src/schedule/scheduler.ts";

/** A group that writes what fires into `log`. */
function logged(scheduler: Scheduler, log: [number, number][]): number {
  return scheduler.openGroup((payload, dueMs) => log.push([payload, dueMs]));
}

Deno.test("Scheduler.runDue() fires in due order and equal times in insertion order", () => {
  const scheduler = new Scheduler();
  const log: [number, number][] = [];
  const first = logged(scheduler, log);
  const second = logged(scheduler, log);
  scheduler.insert(first, 30, 1);
  scheduler.insert(second, 10, 2);
  scheduler.insert(first, 20, 3);
  scheduler.insert(second, 20, 4);
  scheduler.insert(first, 20, 5);
  assertEquals(scheduler.runDue(9, 100), 0);
  assertEquals(scheduler.runDue(20, 100), 4);
  assertEquals(log, [[2, 10], [3, 20], [4, 20], [5, 20]]);
  assertEquals(scheduler.pendingCount, 1);
  assertEquals(scheduler.runDue(1_000, 100), 1);
  assertEquals(scheduler.nextDueMs(), Infinity);
});

Deno.test("Scheduler.insert() rounds up and runDue() rounds down, so nothing fires early", () => {
  const scheduler = new Scheduler();
  const log: [number, number][] = [];
  const group = logged(scheduler, log);
  scheduler.insert(group, 10.001, 1);
  assertEquals(scheduler.runDue(10.999, 10), 0);
  assertEquals(scheduler.runDue(11, 10), 1);
  assertEquals(log, [[1, 11]]);
});

Deno.test("Scheduler.insert() takes due times in the past and up to 2^53 - 1", () => {
  const scheduler = new Scheduler();
  const log: [number, number][] = [];
  const group = logged(scheduler, log);
  scheduler.runDue(1_000_000, 10);
  scheduler.insert(group, Infinity, 1);
  scheduler.insert(group, 500, 2);
  scheduler.insert(group, -7, 3);
  assertEquals(scheduler.runDue(1_000_000, 10), 2);
  assertEquals(log, [[3, 0], [2, 500]]);
  assertEquals(scheduler.lastDueMs(group), Number.MAX_SAFE_INTEGER);
  assertThrows(() => scheduler.insert(group, NaN, 4));
});

Deno.test("Scheduler.runDue() stops at max and goes on where it stopped", () => {
  const scheduler = new Scheduler();
  const log: [number, number][] = [];
  const group = logged(scheduler, log);
  for (let payload = 0; payload < 1_000; payload++) scheduler.insert(group, 5, payload);
  assertEquals(scheduler.runDue(5, 300), 300);
  assert(scheduler.nextDueMs() <= 5);
  assertEquals(scheduler.runDue(5, 10_000), 700);
  assertEquals(log.map(([payload]) => payload), Array.from({ length: 1_000 }, (_, index) => index));
});

Deno.test("Scheduler.cancel() is true once and never for what fired", () => {
  const scheduler = new Scheduler();
  const log: [number, number][] = [];
  const group = logged(scheduler, log);
  const kept = scheduler.insert(group, 10, 1);
  const cancelled = scheduler.insert(group, 10, 2);
  assert(kept > 0 && cancelled > 0);
  assert(scheduler.cancel(cancelled));
  assertFalse(scheduler.cancel(cancelled));
  assertEquals(scheduler.runDue(10, 10), 1);
  assertFalse(scheduler.cancel(kept));
  assertEquals(log, [[1, 10]]);
});

Deno.test("Scheduler.clearGroup() and closeGroup() leave other groups alone", () => {
  const scheduler = new Scheduler();
  const log: [number, number][] = [];
  const first = logged(scheduler, log);
  const second = logged(scheduler, log);
  for (let payload = 0; payload < 10; payload++) {
    scheduler.insert(payload % 2 === 0 ? first : second, payload, payload);
  }
  scheduler.clearGroup(first);
  assertEquals([scheduler.groupCount(first), scheduler.groupCount(second)], [0, 5]);
  scheduler.insert(first, 100, 77);
  scheduler.closeGroup(second);
  assertThrows(() => scheduler.insert(second, 1, 1));
  assertEquals(scheduler.runDue(1_000, 100), 1);
  assertEquals(log, [[77, 100]]);
});

Deno.test("Scheduler.firstDueMs() and lastDueMs() are those of a group", () => {
  const scheduler = new Scheduler();
  const group = scheduler.openGroup(() => {});
  const other = scheduler.openGroup(() => {});
  [40, 10, 30, 10].forEach((dueMs, payload) => scheduler.insert(group, dueMs, payload));
  for (const dueMs of [5, 50]) scheduler.insert(other, dueMs, 9);
  assertEquals([scheduler.firstDueMs(group), scheduler.lastDueMs(group)], [10, 40]);
  scheduler.clearGroup(group);
  assertEquals([scheduler.firstDueMs(group), scheduler.lastDueMs(group)], [Infinity, -Infinity]);
});

Deno.test("Scheduler.runDue() fires what a callback inserts after what was popped with it", () => {
  const scheduler = new Scheduler();
  const log: [number, number][] = [];
  const group = scheduler.openGroup((payload, dueMs) => {
    log.push([payload, dueMs]);
    if (payload === 1) {
      scheduler.insert(group, 15, 10);
      scheduler.insert(group, 5, 11);
      scheduler.insert(group, 20, 12);
      scheduler.insert(group, 99, 13);
    }
    if (payload === 11) scheduler.insert(group, 12, 14);
  });
  scheduler.insert(group, 10, 1);
  scheduler.insert(group, 20, 2);
  assertEquals(scheduler.runDue(20, 100), 6);
  assertEquals(log, [[1, 10], [2, 20], [11, 5], [10, 15], [12, 20], [14, 12]]);
  assertEquals(scheduler.pendingCount, 1);
});

Deno.test("Scheduler.cancel() inside a callback reaches timers popped with it", () => {
  const scheduler = new Scheduler();
  const log: number[] = [];
  let second = 0;
  const group = scheduler.openGroup((payload) => {
    log.push(payload);
    if (payload === 1) {
      assertEquals(scheduler.pendingCount, 3);
      assertEquals(scheduler.groupCount(group), 2);
      assert(scheduler.cancel(second));
      assertFalse(scheduler.cancel(second));
      scheduler.clearGroup(doomed);
    }
  });
  const doomed = scheduler.openGroup(() => log.push(-1));
  scheduler.insert(group, 1, 1);
  second = scheduler.insert(group, 1, 2);
  scheduler.insert(doomed, 1, 3);
  scheduler.insert(group, 1, 4);
  assertEquals(scheduler.runDue(1, 100), 2);
  assertEquals(log, [1, 4]);
  assertEquals(scheduler.pendingCount, 0);
});

Deno.test("Scheduler.runDue() delivers the rest after a callback threw", () => {
  const scheduler = new Scheduler();
  const log: number[] = [];
  const group = scheduler.openGroup((payload) => {
    if (payload === 1) throw new Error("owner failed");
    log.push(payload);
  });
  for (const payload of [0, 1, 2]) scheduler.insert(group, 7, payload);
  assertThrows(() => scheduler.runDue(7, 10), Error, "owner failed");
  assertEquals(scheduler.nextDueMs(), 7);
  assertEquals(scheduler.groupCount(group), 1);
  assertEquals(scheduler.runDue(7, 10), 1);
  assertEquals(log, [0, 2]);
});

Deno.test("Scheduler.runDue() may be called from a callback", () => {
  const scheduler = new Scheduler();
  const log: number[] = [];
  const group = scheduler.openGroup((payload) => {
    log.push(payload);
    if (payload === 0) scheduler.runDue(9, 10);
  });
  for (const payload of [0, 1, 2]) scheduler.insert(group, 9, payload);
  assertEquals(scheduler.runDue(9, 10), 1);
  assertEquals(log, [0, 1, 2]);
});

Deno.test("SchedulerFullError names what happened", () => {
  assertEquals(new SchedulerFullError().message, "the scheduler can hold no more timers");
});
