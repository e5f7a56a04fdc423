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

const CHUNK_ROWS = 16_384;

Deno.test("Holdings.relocate() changes the places in the range of that file and no others", () => {
  const holdings = new Holdings();
  const far = 3 * CHUNK_ROWS + 1;
  const places: [number, number, number, number][] = [
    [1, 7, 99, 10],
    [2, 7, 100, 20],
    [3, 8, 150, 30],
    [CHUNK_ROWS - 1, 7, 150, 40],
    [CHUNK_ROWS, 7, 160, 50],
    [far, 7, 199, 60],
    [far + 1, 7, 200, 70],
  ];
  for (const place of places) holdings.place(...place);
  const from = { file: 7, offset: 100, byteCount: 100 };
  const moved = holdings.relocate(from, { file: 9, offset: 5000 });
  assertEquals(moved, { records: 4, bytes: 20 + 40 + 50 + 60 });
  const found = places.map(([ref]) => [holdings.fileOf(ref), holdings.offsetOf(ref)]);
  assertEquals(found, [
    [7, 99],
    [9, 5000],
    [8, 150],
    [9, 5050],
    [9, 5060],
    [9, 5099],
    [7, 200],
  ]);
  for (const [ref, , , bytes] of places) assertEquals(holdings.recordBytesOf(ref), bytes);
});

Deno.test("Holdings own one chunk for rows of records in use, and one to spare", () => {
  const holdings = new Holdings();
  const chunks = () => (holdings.memoryBytes - CHUNK_ROWS * 21) / (CHUNK_ROWS * 16);
  const seen = [chunks()];
  for (const ref of [1, 2, CHUNK_ROWS, 2 * CHUNK_ROWS]) {
    holdings.place(ref, 1, ref, 8);
    seen.push(chunks());
  }
  assertEquals(seen, [1, 1, 1, 2, 3]);
  assertEquals(holdings.refEnd, 3 * CHUNK_ROWS);
  // Placed again, as after a move, it counts once.
  holdings.place(1, 2, 1, 8);
  const left = [1, 2, CHUNK_ROWS, 2 * CHUNK_ROWS].map((ref) => {
    holdings.forget(ref);
    assertEquals([holdings.fileOf(ref), holdings.first(ref)], [0, NO_HOLDING]);
    return chunks();
  });
  assertEquals(left, [3, 3, 2, 1]);
  holdings.place(5, 3, 40, 8);
  assertEquals([chunks(), holdings.fileOf(5), holdings.fileOf(CHUNK_ROWS + 5)], [1, 3, 0]);
});

Deno.test("Holdings grow by chunks, keep delays apart, and are small again with the last one", () => {
  const holdings = placed(1, 2);
  const { memoryBytes } = holdings;
  const rowBytes = CHUNK_ROWS * 21;
  const delayBytes = CHUNK_ROWS * 16;
  for (let queueId = 1; queueId < CHUNK_ROWS; queueId++) holdings.add(1, queueId, queueId);
  assertEquals(holdings.memoryBytes - memoryBytes, 0);
  const beyond = holdings.add(1, CHUNK_ROWS, 77);
  assertEquals(holdings.memoryBytes - memoryBytes, rowBytes);
  assertEquals([holdings.dueMsOf(beyond), holdings.delayNumberOf(beyond)], [0, 0]);
  for (let times = 1; times <= 2; times++) {
    holdings.setDelay(beyond, 500 * times, 9 * times);
    assertEquals(holdings.memoryBytes - memoryBytes, rowBytes + delayBytes);
    const delay = [holdings.dueMsOf(beyond), holdings.delayNumberOf(beyond)];
    assertEquals(delay, [500 * times, 9 * times]);
  }
  assertEquals([holdings.dueMsOf(1), holdings.count], [0, CHUNK_ROWS]);
  for (let queueId = 1; queueId <= CHUNK_ROWS; queueId++) holdings.remove(1, queueId);
  holdings.remove(1, 5);
  // The last one may have been copied into the first chunk, with its delay.
  assertEquals([holdings.count, holdings.first(1)], [0, NO_HOLDING]);
  const keptBytes = holdings.memoryBytes - memoryBytes;
  assertEquals(keptBytes === 0 || keptBytes === delayBytes, true);
  assertEquals(holdings.add(2, 1, 6), 1);
  assertEquals([holdings.stateOf(1), holdings.entryOf(1), holdings.next(1)], [0, 0, NO_HOLDING]);
});
