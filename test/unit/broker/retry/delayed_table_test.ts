// What the table of delayed messages says of its own memory, how its rows are used again, and which row it
// finds by name.

import { assertEquals } from "@std/assert";
import { compareRetries } from "../../../../src/broker/retry/name.ts";
import { type DelayedMessage, DelayedTable } from "../../../../src/broker/retry/delayed_table.ts";

const CHUNK_ROWS = 8192;
// Six numbers of 32 bits and four of 64: ref, entry, body, owner, two neighbours; position, due time,
// number, timer.
const ROW_BYTES = 6 * 4 + 4 * 8;

function message(number: number): DelayedMessage {
  return { ref: number, position: number, entry: 0, bodyBytes: 1, dueMs: 1000, number };
}

Deno.test("DelayedTable counts the bytes of its arrays and of the rows in use", () => {
  const table = new DelayedTable();
  assertEquals([table.memoryBytes, table.usedBytes], [0, 0]);
  for (let number = 1; number <= CHUNK_ROWS; number++) table.add(message(number), 1);
  assertEquals(table.memoryBytes, CHUNK_ROWS * ROW_BYTES);
  assertEquals(table.usedBytes, CHUNK_ROWS * ROW_BYTES);
  const row = table.add(message(CHUNK_ROWS + 1), 1);
  assertEquals(table.memoryBytes, 2 * CHUNK_ROWS * ROW_BYTES);
  table.remove(row);
  assertEquals(table.usedBytes, CHUNK_ROWS * ROW_BYTES);
});

Deno.test("DelayedTable gives rows out again, and keeps one chunk when it is empty", () => {
  const table = new DelayedTable();
  const rows = Array.from(
    { length: CHUNK_ROWS + 1 },
    (_, index) => table.add(message(index + 1), 1),
  );
  table.remove(rows[5]!);
  assertEquals([table.ownerAt(rows[5]!), table.numberAt(rows[5]!)], [0, 0]);
  assertEquals(table.add(message(9), 1), rows[5]);
  for (const row of rows) table.remove(row);
  assertEquals([table.rowEnd, table.usedBytes], [0, 0]);
  assertEquals(table.memoryBytes, CHUNK_ROWS * ROW_BYTES);
});

Deno.test("DelayedTable.findRow() finds each row of an owner in a range of names, across chunks", () => {
  const table = new DelayedTable();
  const rows = Array.from({ length: 2 * CHUNK_ROWS + 10 }, (_, row) => {
    const number = 1 + (row * 7919) % 20_011;
    return table.add({ ...message(number), dueMs: 1000 + row % 5 }, 1 + row % 2);
  });
  table.remove(rows[CHUNK_ROWS]!);
  const nameOf = (row: number) => ({ dueMs: table.dueMsAt(row), number: table.numberAt(row) });
  const range = { after: nameOf(5006), until: nameOf(5008) };
  const isWanted = (row: number) =>
    table.ownerAt(row) === 1 && compareRetries(nameOf(row), range.after) > 0 &&
    compareRetries(nameOf(row), range.until) <= 0;
  const end = rows.length - 3;
  const found: number[] = [];
  for (let row = 3; (row = table.findRow(1, row, end, range)) < end; row++) found.push(row);
  assertEquals(found, rows.filter((row) => row >= 3 && row < end && isWanted(row)));
  assertEquals([found.includes(5006), found.includes(5008)], [false, true]);
});
