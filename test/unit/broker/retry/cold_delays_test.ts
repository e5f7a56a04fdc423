// Which delayed messages are given to the pager, and what becomes of them when they leave meanwhile.

import { assert, assertEquals, assertFalse } from "@std/assert";
import { ColdDelays } from "../../../../src/broker/retry/cold_delays.ts";
import { DelayedTable } from "../../../../src/broker/retry/delayed_table.ts";
import type { Page, PagedMessage, PageSource, Stretch } from "../../../../src/store/page.ts";

const OWNER = 7;
const NOW_MS = 1000;

/** A list of delayed messages, none of whose timers fires. */
class Scene {
  readonly table = new DelayedTable();
  readonly rows: number[] = [];
  readonly pagedOut: number[][] = [];
  nowMs = NOW_MS;
  unsafeNumber = Infinity;
  readonly cold = new ColdDelays({
    table: this.table,
    source: {} as PageSource,
    messagesMax: 4,
    bodyBytesMax: 100,
    leadMs: 10,
    nowMs: () => this.nowMs,
    unsafeNumber: () => this.unsafeNumber,
    endMsOf: () => Infinity,
    holds: (row) => this.table.ownerAt(row) === OWNER,
    pagedOut: (rows: Uint32Array, _pages: readonly Page[]) => this.pagedOut.push([...rows]),
  });

  /** One message for each delay, numbered from 1. */
  add(delaysMs: readonly number[], bodyBytes = 1): void {
    for (const delayMs of delaysMs) {
      const number = this.rows.length + 1;
      const about = { ref: number * 10, position: 1000 - number, entry: 1, bodyBytes };
      const row = this.table.add({ ...about, dueMs: NOW_MS + delayMs, number }, OWNER);
      this.rows.push(row);
      this.cold.add(row);
    }
  }

  remove(number: number): void {
    const row = this.rows[number - 1]!;
    this.cold.remove(row);
    this.table.remove(row);
  }
}

function numbersOf(stretch: Stretch | null): number[] {
  const messages: PagedMessage[] = [];
  stretch?.each((message) => messages.push({ ...message }));
  const positions = messages.map(({ position }) => position);
  assertEquals(positions, positions.toSorted((a, b) => a - b));
  return messages.map(({ delayNumber }) => delayNumber).toSorted((a, b) => a - b);
}

function allOf(stretches: readonly Stretch[]): number[][] {
  return stretches.map(numbersOf);
}

Deno.test("ColdDelays.coldStretches() gives whole pages by time, what wakes last first", () => {
  const scene = new Scene();
  scene.add([500, 900, 600, 800, 550, 700, 950, 650, 400, 450]);
  const stretches = scene.cold.coldStretches(16);
  assertEquals(allOf(stretches), [[2, 4, 6, 7], [1, 3, 5, 8]]);
  for (const stretch of stretches) assert(stretch.begin());
  // Two are left: too few for a page unless there is nothing else.
  assertEquals(allOf(scene.cold.coldStretches(16)), []);
  assertEquals(numbersOf(scene.cold.spareStretch(3)), []);
  assertEquals(numbersOf(scene.cold.spareStretch(2)), [9, 10]);
});

Deno.test("ColdDelays.coldStretches() leaves what wakes soon, is not safe or too large", () => {
  const scene = new Scene();
  scene.add([100, 101, 200, 300, 99, 400]);
  scene.add([500], 101);
  scene.add([390, 395]);
  scene.unsafeNumber = 9;
  assertEquals(allOf(scene.cold.coldStretches(16)), [[3, 4, 6, 8]]);
});

Deno.test("ColdDelays.spareStretch() puts nothing into a page with what wakes much later", () => {
  const scene = new Scene();
  scene.add([900, 200, 190, 950]);
  const late = scene.cold.spareStretch(1);
  assertEquals(numbersOf(late), [1, 4]);
  assert(late!.begin());
  assertEquals(numbersOf(scene.cold.spareStretch(1)), [2, 3]);
});

Deno.test("ColdDelays.coldStretches() ends a page at its bytes", () => {
  const scene = new Scene();
  scene.add([500, 600, 700, 800, 900], 40);
  assertEquals(allOf(scene.cold.coldStretches(16)), [[4, 5], [2, 3]]);
});

Deno.test("a stretch of delayed messages is not whole when one has left or come anew", () => {
  const scene = new Scene();
  scene.add([500, 600, 700, 800]);
  const [stretch] = scene.cold.coldStretches(1);
  assert(stretch!.begin());
  assertFalse(stretch!.begin());
  assert(stretch!.isWhole());
  scene.remove(2);
  assertFalse(stretch!.isWhole());
  // Its row is used again.
  scene.add([650]);
  assertFalse(stretch!.isWhole());
  stretch!.abandon();
  assertEquals(allOf(scene.cold.coldStretches(16)), [[1, 3, 4, 5]]);
});

Deno.test("a stretch of delayed messages that has waited too long is not begun", () => {
  const scene = new Scene();
  scene.add([500, 700, 750, 800]);
  const [stretch] = scene.cold.coldStretches(1);
  scene.nowMs += 450;
  assertFalse(stretch!.begin());
  assertEquals(numbersOf(scene.cold.spareStretch(1)), [2, 3, 4]);
});

Deno.test("a stretch of delayed messages leaves the one out that cannot be written", () => {
  const scene = new Scene();
  scene.add([500, 600, 700, 800]);
  const [stretch] = scene.cold.coldStretches(1);
  stretch!.refuse(30, 997);
  assertEquals(numbersOf(scene.cold.spareStretch(1)), [1, 2, 4]);
});

Deno.test("a message that was delayed anew is not left out for what its earlier delay could not be", () => {
  const scene = new Scene();
  scene.add([500, 600, 700, 800]);
  const [stretch] = scene.cold.coldStretches(1);
  const row = scene.rows[2]!;
  const { table } = scene;
  const message = {
    ref: table.refAt(row),
    position: table.positionAt(row),
    entry: 2,
    bodyBytes: 1,
  };
  scene.remove(3);
  // The same message has its row again.
  assertEquals(table.add({ ...message, dueMs: NOW_MS + 900, number: 5 }, OWNER), row);
  scene.cold.add(row);
  stretch!.refuse(message.ref, message.position);
  assertEquals(numbersOf(scene.cold.spareStretch(1)), [1, 2, 4, 5]);
});

Deno.test("ColdDelays forgets everything when it is cleared", () => {
  const scene = new Scene();
  scene.add([500, 600, 700, 800, 900]);
  const [stretch] = scene.cold.coldStretches(1);
  assert(stretch!.begin());
  scene.cold.clear();
  for (let number = 1; number <= 5; number++) scene.table.remove(scene.rows[number - 1]!);
  assertFalse(stretch!.isWhole());
  stretch!.abandon();
  assertEquals([allOf(scene.cold.coldStretches(1)), scene.cold.chunkCount], [[], 0]);
});
