// The most that any one call does, as core-wasm/README.md states it, counted in loads and stores: the
// same bound however many timers are pending, in states that make calls expensive.

import { assertEquals, assertLess, assertLessOrEqual } from "@std/assert";
import type { CoreExports } from "../../../core-wasm/instance.ts";
import { countedCore } from "./counted_core.ts";
import { seededNumbers } from "./seeded_numbers.ts";

/** Loads and stores that one entry may take, whatever happens to it. */
const perEntry = 24;
const chunk = 62;
const workMax = 4_096;
/** Free chunks that one insertion may take into reserve, and what each takes. */
const reserve = 1_540 * 5;
/** A late timer stands in a heap with four children a node: 13 levels for 33 million. */
const perLate = 13 * 24;
const lateMax = 512;
const bounds: Readonly<Record<string, number>> = {
  insert: (1 + chunk) * perEntry + reserve,
  cancel: (1 + chunk) * perEntry,
  pop_due: (512 + workMax + 8 * chunk) * perEntry + (512 + lateMax) * perLate,
  next_due: chunk * perEntry,
  group_clear: (1 + chunk) * perEntry,
  group_close: (1 + chunk) * perEntry,
  snapshot_begin: perEntry,
  snapshot_next: workMax * perEntry,
};

type Name = keyof typeof bounds;

/** Calls and remembers the most expensive call of each kind. */
class Meter {
  readonly worst: Record<string, number> = {};
  readonly #counted = countedCore();

  call(name: Name, ...args: number[]): number {
    this.#counted.reset();
    const core = this.#counted.core as unknown as Record<string, (...args: number[]) => number>;
    const result = core[name]!(...args);
    const { loads, stores } = this.#counted.counts;
    this.worst[name] = Math.max(this.worst[name] ?? 0, loads + stores);
    return result;
  }

  get core(): CoreExports {
    return this.#counted.core;
  }

  check(): void {
    for (const [name, most] of Object.entries(this.worst)) {
      assertLessOrEqual(most, bounds[name]!, `${name} made ${most} accesses`);
    }
  }

  /** Pops everything due by then, in as many calls as it takes. */
  popAll(nowMs: number): number {
    let popped = 0;
    while (this.call("next_due") <= nowMs) popped += this.call("pop_due", nowMs, 512);
    return popped;
  }
}

const startMs = 1_700_000_000_000;

Deno.test("pop_due() is bounded when all timers share one far due time", () => {
  for (const count of [10_000, 60_000]) {
    const meter = new Meter();
    const group = meter.core.group_open();
    for (let payload = 0; payload < count; payload++) {
      meter.call("insert", group, startMs + 2 ** 33, payload);
    }
    assertEquals(meter.popAll(startMs + 2 ** 34), count);

    meter.check();
  }
});

Deno.test("insert() is bounded when a timer is the first to reach far ahead", () => {
  const meter = new Meter();
  const random = seededNumbers(6);
  const group = meter.core.group_open();
  meter.call("pop_due", startMs, 1);
  for (let payload = 0; payload < 20_000; payload++) {
    meter.call("insert", group, startMs + Math.floor(random() * 60_000), payload);
  }
  const usual = meter.worst["insert"]!;
  meter.call("insert", group, Number.MAX_SAFE_INTEGER, 0);
  assertLess(usual, meter.worst["insert"]!);
  assertEquals(meter.popAll(startMs + 60_000), 20_000);
  meter.check();
});

Deno.test("every call is bounded while a cleared group is swept and popped", () => {
  for (const count of [10_000, 60_000]) {
    const meter = new Meter();
    const random = seededNumbers(9);
    const [kept, cleared] = [meter.core.group_open(), meter.core.group_open()];
    const handles: number[] = [];
    for (let payload = 0; payload < count; payload++) {
      const dueMs = startMs + Math.floor(random() * 2 ** (10 + (payload % 30)));
      handles.push(meter.call("insert", payload % 8 === 0 ? kept : cleared, dueMs, payload));
    }
    meter.call("snapshot_begin", 0);
    while (meter.core.snapshot_done() === 0) meter.call("snapshot_next", 512);
    assertEquals(meter.call("group_clear", cleared), count - Math.ceil(count / 8));
    for (let turn = 0; turn < count / 10; turn++) {
      meter.call("insert", kept, startMs + Math.floor(random() * 2 ** 20), turn);
      meter.call("cancel", handles[turn]!);
    }
    meter.call("group_close", cleared);
    meter.popAll(startMs + 2 ** 41);
    assertEquals(meter.core.count(), 0);

    meter.check();
  }
});

Deno.test("pop_due() is bounded when all timers are late, and most of them cancelled", () => {
  for (const count of [5_000, 30_000]) {
    const meter = new Meter();
    const random = seededNumbers(4);
    const group = meter.core.group_open();
    meter.call("pop_due", startMs, 1);
    const handles: number[] = [];
    for (let payload = 0; payload < count; payload++) {
      const dueMs = Math.floor(random() * startMs);
      handles.push(meter.core.insert(group, dueMs, payload));
    }
    handles.forEach((handle, at) => at % 8 === 0 || meter.call("cancel", handle));
    assertEquals(meter.popAll(startMs), Math.ceil(count / 8));
    meter.check();
  }
});

Deno.test("a call that fails writes nothing, one that answers writes only what it may", () => {
  const { core, counts, reset } = countedCore();
  const group = core.group_open();
  const handle = core.insert(group, startMs, 1);
  core.cancel(handle);
  core.insert(group, startMs, 2);
  const failing: (() => number)[] = [
    () => core.insert(group, NaN, 1),
    () => core.insert(group + 1, 1, 1),
    () => core.cancel(handle),
    () => core.cancel(2 ** 50),
    () => core.pop_due(NaN, 1),
    () => core.group_clear(77),
    () => core.group_close(-5),
    () => core.insert_many(513),
    () => core.snapshot_next(1),
  ];
  for (const call of failing) {
    reset();
    assertEquals(call() < 0, true);
    assertEquals(counts.stores, 0);
  }
  core.snapshot_begin(0);
  reset();
  assertEquals(core.snapshot_next(512), 1);
  const areaEnd = core.area_at() + core.area_capacity() * 32;
  assertEquals([counts.writtenFrom >= core.area_at(), counts.writtenTo <= areaEnd], [true, true]);
});
