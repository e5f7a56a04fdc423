// Holdings: who holds a record, found with little work however many queues do.

import { assertEquals, assertLess } from "@std/assert";
import fc from "fast-check";
import { Holdings, NO_HOLDING } from "../../../../src/store/live/holdings.ts";

function placed(...refs: number[]): Holdings {
  const holdings = new Holdings();
  for (const ref of refs) holdings.place(ref, 1, ref * 8, 8);
  return holdings;
}

const ORDERS: Record<string, (count: number) => number[]> = {
  "the order in which they got it": (count) => Array.from({ length: count }, (_, at) => at + 1),
  "the reverse order": (count) => Array.from({ length: count }, (_, at) => count - at),
  "leaps": (count) => Array.from({ length: count }, (_, at) => (at * 7919) % count + 1),
};

for (const [what, orderOf] of Object.entries(ORDERS)) {
  Deno.test(`Holdings.find() and remove() take little for 10 000 queues in ${what}`, () => {
    const count = 10_000;
    const holdings = placed(1);
    for (let queueId = 1; queueId <= count; queueId++) holdings.add(1, queueId, queueId + 5);
    let looks = 0;
    const queueOf = holdings.queueOf.bind(holdings);
    holdings.queueOf = (holding) => {
      looks++;
      return queueOf(holding);
    };
    for (const queueId of orderOf(count)) {
      assertEquals(holdings.positionOf(holdings.find(1, queueId)), queueId + 5);
    }
    for (const queueId of orderOf(count)) holdings.remove(1, queueId);
    assertEquals([holdings.count, holdings.first(1)], [0, NO_HOLDING]);
    assertLess(looks, 50 * count);
  });
}

interface Row {
  position: number;
  state: number;
  entry: number;
  dueMs: number;
}

const step = fc.record({
  kind: fc.constantFrom("add", "add", "remove", "set"),
  ref: fc.integer({ min: 1, max: 3 }),
  queueId: fc.integer({ min: 1, max: 60 }),
  value: fc.integer({ min: 1, max: 1000 }),
});

Deno.test("Holdings keep what was entered, whoever comes and goes beside it", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const holdings = placed(1, 2, 3);
      const rows = new Map<string, Row>();
      for (const { kind, ref, queueId, value } of steps) {
        const key = `${ref} ${queueId}`;
        const row = rows.get(key);
        if (kind === "add" && row === undefined) {
          holdings.add(ref, queueId, value);
          rows.set(key, { position: value, state: 0, entry: 0, dueMs: 0 });
        } else if (kind === "remove") {
          holdings.remove(ref, queueId);
          rows.delete(key);
        } else if (row !== undefined) {
          const holding = holdings.find(ref, queueId);
          holdings.setState(holding, value % 3, value);
          holdings.setDelay(holding, value + 1, value);
          Object.assign(row, { state: value % 3, entry: value, dueMs: value + 1 });
        }
      }
      assertEquals(holdings.count, rows.size);
      for (const [key, row] of rows) {
        const [ref, queueId] = key.split(" ").map(Number);
        const holding = holdings.find(ref!, queueId!);
        assertEquals(holdings.positionOf(holding), row.position);
        assertEquals(holdings.stateOf(holding), row.state);
        assertEquals(holdings.entryOf(holding), row.entry);
        if (row.dueMs > 0) assertEquals(holdings.dueMsOf(holding), row.dueMs);
      }
    }),
    { numRuns: 100 },
  );
});

Deno.test("Holdings.find() finds no queue that has left a record of many, the last to come included", () => {
  const count = 500;
  const holdings = placed(1);
  for (let queueId = 1; queueId <= count; queueId++) holdings.add(1, queueId, queueId);
  // The search makes an index.
  assertEquals(holdings.positionOf(holdings.find(1, 1)), 1);
  for (const queueId of [count, 1, 250, count - 1]) {
    holdings.remove(1, queueId);
    assertEquals(holdings.find(1, queueId), NO_HOLDING);
  }
  assertEquals(holdings.count, count - 4);
});

Deno.test("Holdings.place() takes a reference far behind all that have a place", () => {
  const holdings = new Holdings();
  holdings.place(100_000, 7, 16, 8);
  holdings.add(100_000, 1, 5);
  assertEquals([holdings.fileOf(100_000), holdings.offsetOf(100_000)], [7, 16]);
  assertEquals(holdings.positionOf(holdings.find(100_000, 1)), 5);
  for (const ref of [1, 50_000, 99_999]) assertEquals(holdings.fileOf(ref), 0);
  holdings.place(3, 8, 24, 8);
  assertEquals([holdings.fileOf(3), holdings.fileOf(100_000)], [8, 7]);
});
