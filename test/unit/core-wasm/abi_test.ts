// The bare exports under wrong and random arguments: a failure code, memory as it was, and a heap
// that still works. Also that the checked-in module is one that any host can load.

import { readFile } from "node:fs/promises";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { coreWasmBase64 } from "../../../core-wasm/core_wasm_gen.ts";
import { abiVersion, type CoreExports, instantiateCore } from "../../../core-wasm/instance.ts";

const failureNames = [-1, -2, -3, -4, -5, -6, -7, -8];

function snapshot(core: CoreExports): Uint8Array {
  return new Uint8Array(core.memory.buffer.slice(0));
}

/** Whether two memories differ anywhere. */
function differ(before: Uint8Array, core: CoreExports): boolean {
  const after = new Uint8Array(core.memory.buffer);
  return before.length !== after.length || before.some((byte, at) => byte !== after[at]);
}

/** A core with timers of two groups. */
function filledCore(): { core: CoreExports; group: number; handles: number[] } {
  const core = instantiateCore();
  const group = core.group_open();
  const other = core.group_open();
  const handles: number[] = [];
  for (let payload = 0; payload < 300; payload++) {
    const dueMs = 1_700_000_000_000 + payload ** 4;
    handles.push(core.insert(payload % 2 === 0 ? group : other, dueMs, payload));
  }
  return { core, group, handles };
}

const anyNumber = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(NaN, Infinity, -Infinity, -0, 2 ** 25, 2 ** 39, 2 ** 53, -(2 ** 31), 2 ** 32),
);

Deno.test("reprise_core.wasm has no imports and holds the inlined bytes", async () => {
  const bytes = await readFile(new URL("../../../core-wasm/reprise_core.wasm", import.meta.url));
  assertEquals(bytes.toString("base64"), coreWasmBase64);
  assertEquals(WebAssembly.Module.imports(new WebAssembly.Module(new Uint8Array(bytes))), []);
  assertEquals(instantiateCore().abi_version(), abiVersion);
});

Deno.test("abi: calls that fail change no byte of memory", () => {
  const { core, group, handles } = filledCore();
  const fired = handles[0]!;
  core.cancel(fired);
  const closed = core.group_open();
  core.group_close(closed);
  const before = snapshot(core);
  const calls: [() => number, number][] = [
    [() => core.insert(0, 1, 1), -2],
    [() => core.insert(closed, 1, 1), -2],
    [() => core.insert(-1, 1, 1), -2],
    [() => core.insert(group + 2 ** 18, 1, 1), -2],
    [() => core.insert(group, NaN, 1), -3],
    [() => core.insert(group, -1, 1), -3],
    [() => core.insert(group, 2 ** 53, 1), -3],
    [() => core.insert(group, Infinity, 1), -3],
    [() => core.cancel(fired), -4],
    [() => core.cancel(0), -4],
    [() => core.cancel(NaN), -4],
    [() => core.cancel(handles[1]! + 2 ** 25), -4],
    [() => core.cancel(handles[1]! + 0.5), -4],
    [() => core.cancel(2 ** 60), -4],
    [() => core.insert_many(-1), -6],
    [() => core.insert_many(core.area_capacity() + 1), -6],
    [() => core.insert_many(2 ** 31), -6],
    [() => core.pop_due(NaN, 1), -6],
    [() => core.pop_due(1, NaN), -6],
    [() => core.pop_due(1, -1), -6],
    [() => core.group_clear(closed), -2],
    [() => core.group_close(closed), -2],
    [() => core.group_count(closed), -2],
    [() => core.group_first_due(closed), -2],
    [() => core.group_last_due(0), -2],
    [() => core.snapshot_begin(closed), -2],
    [() => core.snapshot_next(1), -7],
    [() => core.snapshot_next(NaN), -6],
  ];
  calls.forEach(([call, code], at) => assertEquals([at, call()], [at, code]));
  assertEquals(differ(before, core), false);
});

Deno.test("abi: a snapshot writes the transfer area and nothing else", () => {
  const { core } = filledCore();
  const before = snapshot(core);
  core.snapshot_begin(0);
  let found = 0;
  while (core.snapshot_done() === 0) found += core.snapshot_next(7);
  assertEquals(found, 300);
  const after = new Uint8Array(core.memory.buffer);
  const from = core.area_at();
  const to = from + core.area_capacity() * 32;
  const outside = before.findIndex((byte, at) => (at < from || at >= to) && byte !== after[at]);
  assertEquals(outside, -1);
  assertEquals([...after.subarray(from + 7 * 32, to)].every((byte) => byte === 0), true);
});

Deno.test("abi: pop_due() writes no more entries than asked for", () => {
  const { core } = filledCore();
  const words = new Uint32Array(core.memory.buffer, core.area_at(), core.area_capacity() * 8);
  words.fill(0xdeadbeef);
  assertEquals(core.pop_due(Infinity, 5), 5);
  assert(words.subarray(5 * 8).every((word) => word === 0xdeadbeef));
  assertEquals(core.pop_due(Infinity, 0), 0);
});

Deno.test("abi: insert_many() stops at the first refusal and says which", () => {
  const { core, group } = filledCore();
  const words = new Uint32Array(core.memory.buffer, core.area_at(), core.area_capacity() * 8);
  const doubles = new Float64Array(core.memory.buffer, core.area_at(), core.area_capacity() * 4);
  for (let at = 0; at < 4; at++) {
    words.set([at, at === 2 ? 77 : group], at * 8);
    doubles[at * 4 + 1] = 5;
  }
  assertEquals(core.insert_many(4), 2);
  assertEquals(doubles[2 * 4 + 2], -2);
  assertEquals(core.count(), 302);
});

Deno.test("abi: random calls never trap, and the timers stay in order", () => {
  const call = fc.tuple(fc.nat(15), anyNumber, anyNumber, anyNumber);
  fc.assert(
    fc.property(fc.array(call, { maxLength: 200, size: "max" }), (calls) => {
      const { core } = filledCore();
      for (const [which, first, second, third] of calls) {
        const result = callOf(core, which)(first, second, third);
        assert(Number.isNaN(result) === false);
        assert(result >= 0 || result === -Infinity || failureNames.includes(result));
      }
      const left = core.count();
      let popped = 0;
      let lastMs = 0;
      while (popped < left) {
        const count = core.pop_due(Infinity, 512);
        const doubles = new Float64Array(core.memory.buffer, core.area_at(), count * 4);
        for (let at = 0; at < count; at++) {
          assert(doubles[at * 4 + 1]! >= lastMs);
          lastMs = doubles[at * 4 + 1]!;
        }
        popped += count;
      }
      assertEquals([core.count(), core.next_due()], [0, Infinity]);
    }),
    { numRuns: 300 },
  );
});

/** One of the exports, taking three numbers whatever it needs. */
function callOf(core: CoreExports, which: number): (...numbers: number[]) => number {
  const done = (_: void) => 0;
  const calls: ((a: number, b: number, c: number) => number)[] = [
    (a, b, c) => core.insert(a, b, c),
    (a, b) => core.insert((1 << 18) | 1, Math.abs(a), b),
    (a) => core.insert_many(a),
    (a) => core.insert_many(Math.abs(a) % 513),
    (a) => core.cancel(a),
    (a) => core.cancel(2 ** 25 + (Math.abs(Math.trunc(a)) % 400)),
    (a, b) => core.pop_due(a, b),
    (a) => core.pop_due(1_700_000_000_000 + (Math.abs(a) % 1e10), 3),
    (a) => core.group_clear(a),
    (a) => core.group_close(a),
    (a) => core.group_count(a),
    (a) => core.group_first_due(a),
    (a) => core.group_last_due(a),
    (a) => core.snapshot_begin(a),
    (a) => core.snapshot_next(a),
    () => done(core.bounds_refresh()),
  ];
  return calls[which] as (...numbers: number[]) => number;
}
