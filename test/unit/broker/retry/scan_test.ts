// The look for the earliest delayed messages beside sorting all of them, with messages that come and go
// between its steps.

import { assert, assertEquals } from "@std/assert";
import { DelayedTable } from "../../../../src/broker/retry/delayed_table.ts";
import type { RetryQueue } from "../../../../src/broker/retry/retry_queue.ts";
import { compareRetries, type RetryRange } from "../../../../src/broker/retry/name.ts";
import { RetryScan, type RetryScanOptions, SCAN_DONE } from "../../../../src/broker/retry/scan.ts";
import { Prng } from "../../../../src/lib/prng.ts";

const OWNER = 7;

function table(count: number, seed: number) {
  const random = new Prng(seed);
  const all = new DelayedTable();
  const dues = new Map<number, number>();
  const add = (number: number) => {
    const dueMs = random.nextU32() % 50;
    const isOurs = random.nextU32() % 3 > 0;
    const message = { ref: 1, position: 1, entry: 0, bodyBytes: 1, dueMs, number };
    const row = all.add(message, isOurs ? OWNER : 8);
    if (isOurs) dues.set(row, dueMs);
    return row;
  };
  for (let number = 1; number <= count; number++) add(number);
  return { all, dues, delayed: retryQueueOver(all), random, add };
}

function retryQueueOver(all: DelayedTable): RetryQueue {
  return {
    table: all,
    scans: new Set(),
    findRow: (start: number, end: number, range: RetryRange) =>
      all.findRow(OWNER, start, end, range),
    pageBetween: () => null,
  } as unknown as RetryQueue;
}

Deno.test("step() keeps the earliest messages of its queue, of equal times the first delayed", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const { all, dues, delayed, random } = table(random300(seed), seed);
    const countMax = random.nextU32() % 60;
    const after = seed % 2 === 0 ? undefined : { dueMs: 20, number: 100 };
    const until = seed % 3 === 0 ? { dueMs: 40, number: 100 } : undefined;
    const scan = new RetryScan(delayed, { countMax, after, until });
    while (scan.step(1 + random.nextU32() % 40, () => {}) !== SCAN_DONE);
    const expected = [...dues.keys()]
      .map((row) => ({ row, page: null, dueMs: all.dueMsAt(row), number: all.numberAt(row) }))
      .sort(compareRetries)
      .filter((one) => after === undefined || compareRetries(one, after) > 0)
      .filter((one) => until === undefined || compareRetries(one, until) <= 0)
      .slice(0, countMax);
    assertEquals([...scan.found].sort(compareRetries), expected, `seed ${seed}`);
  }
});

function random300(seed: number): number {
  return new Prng(seed).nextU32() % 300;
}

Deno.test("step() ends although messages come and go between its steps", () => {
  const { all, delayed, add, dues } = table(200, 1);
  const scan = new RetryScan(delayed, { countMax: 1000 });
  let steps = 0;
  for (; scan.step(50 * 64, () => {}) !== SCAN_DONE; steps++) {
    const [row] = dues.keys();
    all.remove(row!);
    dues.delete(row!);
    add(1000 + steps);
  }
  assert(steps < 10);
  const rows = scan.found.map(({ row }) => row);
  assertEquals(new Set(rows).size, rows.length);
});

Deno.test("step() passes over what does not count many times faster than it keeps messages", () => {
  const { all, delayed } = table(6400, 3);
  const stepsOf = (options: RetryScanOptions) => {
    const scan = new RetryScan(delayed, options);
    let steps = 1;
    while (scan.step(640, () => {}) !== SCAN_DONE) steps++;
    return steps;
  };
  assertEquals(all.rowEnd, 6400);
  const none = { dueMs: 50, number: 0 };
  assertEquals(stepsOf({ countMax: 10_000, after: none }), 10);
  assertEquals(stepsOf({ countMax: 10_000, until: { dueMs: -1, number: 0 } }), 10);
  assertEquals(stepsOf({ countMax: 0 }), 10);
  // A step keeps at most ten messages.
  assert(stepsOf({ countMax: 10_000 }) >= 400);
  assert(stepsOf({ countMax: 10 }) <= 25);
});

Deno.test("step() keeps what is due first among many that are due at the same time", () => {
  const all = new DelayedTable();
  for (let number = 1000; number > 0; number--) {
    all.add({ ref: 1, position: 1, entry: 0, bodyBytes: 1, dueMs: 7, number }, OWNER);
  }
  const after = { dueMs: 7, number: 400 };
  const scan = new RetryScan(retryQueueOver(all), { countMax: 3, after });
  while (scan.step(100, () => {}) !== SCAN_DONE);
  assertEquals(scan.found.map(({ number }) => number).sort(), [401, 402, 403]);
});
