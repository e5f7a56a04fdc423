// RecoveredRows: each row keeps its own columns, and a row that was freed is used again.

import { assertEquals } from "@std/assert";
import { emptyRow, type MessageRow } from "../../../../src/store/format/message_row.ts";
import { NO_ROW, RecoveredRows } from "../../../../src/store/recovery/recovered_rows.ts";

const CHUNK_ROWS = 8192;
const COUNT = 2 * CHUNK_ROWS + 3;

/** A row whose columns all differ from each other and from those of other rows. */
function rowOf(number: number): MessageRow {
  return {
    ...emptyRow(),
    file: number + 1,
    offset: number + 2,
    recordBytes: number + 3,
    state: number % 5,
    entry: number + 4,
    dueMs: number + 0.5,
    delayNumber: number + 5,
    flags: number % 7,
    priority: number % 11,
    bodyBytes: number + 6,
    arrivalMs: number + 0.25,
    expiryMs: number + 0.75,
  };
}

function filled(): RecoveredRows {
  const rows = new RecoveredRows();
  for (let number = 1; number <= COUNT; number++) {
    assertEquals(rows.allocate(), number);
    rows.set(number, rowOf(number), number + 9);
  }
  return rows;
}

function rowAt(rows: RecoveredRows, row: number): MessageRow {
  const into = emptyRow();
  rows.get(row, into);
  return into;
}

const BESIDE_EDGES = [1, 2, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 2 * CHUNK_ROWS, COUNT];

Deno.test("RecoveredRows give back all columns, also beside the edges of a chunk", () => {
  const rows = filled();
  for (const row of BESIDE_EDGES) {
    assertEquals(rowAt(rows, row), rowOf(row));
    assertEquals([rows.sinceOf(row), rows.stateOf(row)], [row + 9, row % 5]);
  }
});

Deno.test("RecoveredRows change the columns that are set, of that row alone", () => {
  const rows = filled();
  for (const row of BESIDE_EDGES) {
    const expected = rowOf(row);
    rows.setState(row, 4, 99);
    Object.assign(expected, { state: 4, entry: 99 });
    assertEquals(rowAt(rows, row), expected);
    rows.changeState(row, 3);
    assertEquals([rows.stateOf(row), rowAt(rows, row).entry], [3, 99]);
    rows.setDelay(row, 1.5, 98);
    rows.setPlace(row, 97, 96);
    Object.assign(expected, { state: 3, dueMs: 1.5, delayNumber: 98, file: 97, offset: 96 });
    rows.setSince(row, 5);
    assertEquals([rowAt(rows, row), rows.sinceOf(row)], [expected, 5]);
  }
  assertEquals(rowAt(rows, 3), rowOf(3));
});

Deno.test("RecoveredRows use the row again that was freed last, then a new one", () => {
  const rows = filled();
  const freed = [5, CHUNK_ROWS, COUNT, 2 * CHUNK_ROWS];
  for (const row of freed) rows.free(row);
  for (const row of freed.reverse()) {
    assertEquals(rows.allocate(), row);
    rows.set(row, rowOf(row), 1);
  }
  assertEquals([rows.allocate(), NO_ROW], [COUNT + 1, 0]);
});
