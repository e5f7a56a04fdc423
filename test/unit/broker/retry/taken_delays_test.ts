// What is let go of when a retry queue is purged, and how much of the table is looked at for it.

import { assert, assertEquals, assertFalse } from "@std/assert";
import { DelayedTable } from "../../../../src/broker/retry/delayed_table.ts";
import { TakenDelays } from "../../../../src/broker/retry/taken_delays.ts";

const MESSAGE = { position: 1, entry: 1, bodyBytes: 1, dueMs: 1, number: 1 };

function add(table: DelayedTable, owner: number, refs: readonly number[]): void {
  for (const ref of refs) table.add({ ...MESSAGE, ref }, owner);
}

Deno.test("TakenDelays.releaseSome() releases the messages of its owner piece by piece", () => {
  const table = new DelayedTable();
  add(table, 1, [10, 11]);
  add(table, 2, [20]);
  add(table, 1, [12]);
  const taken = new TakenDelays(table, 1, { count: 3, pagedCount: 0 });
  const released: number[] = [];
  assert(taken.releaseSome(2, (ref) => released.push(ref)));
  assertFalse(taken.releaseSome(2, (ref) => released.push(ref)));
  assertEquals([taken.messageCount, released], [3, [10, 11, 12]]);
  assertEquals([table.ownerAt(0), table.ownerAt(2)], [0, 2]);
});

Deno.test("TakenDelays.releaseSome() does not look through the table for messages in pages", () => {
  const table = new DelayedTable();
  add(table, 1, [10]);
  add(table, 2, Array.from({ length: 1000 }, (_, index) => 100 + index));
  const released: number[] = [];
  const some = new TakenDelays(table, 1, { count: 5000, pagedCount: 4999 });
  assertFalse(some.releaseSome(10, (ref) => released.push(ref)));
  assertEquals([some.messageCount, released], [5000, [10]]);
  const none = new TakenDelays(table, 3, { count: 5000, pagedCount: 5000 });
  assertFalse(none.releaseSome(10, (ref) => released.push(ref)));
  assertEquals([none.messageCount, released], [5000, [10]]);
});
