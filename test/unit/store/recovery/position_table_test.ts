// PositionTable against a Map, over dense and sparse positions.

import { assertEquals } from "@std/assert";
import { Prng } from "../../../../src/lib/prng.ts";
import { PositionTable } from "../../../../src/store/recovery/position_table.ts";
import { emptyRow } from "../../../../src/store/format/message_row.ts";
import { NO_ROW, RecoveredRows } from "../../../../src/store/recovery/recovered_rows.ts";

Deno.test("PositionTable finds what a Map of the same changes holds", () => {
  const prng = new Prng(7);
  const below = (end: number): number => Math.floor(prng.nextFloat() * end);
  const rows = new RecoveredRows();
  const tables = [new PositionTable(rows), new PositionTable(rows)];
  const expected = tables.map(() => new Map<number, number>());
  const row = emptyRow();
  for (let step = 0; step < 60_000; step++) {
    const which = below(2);
    const table = tables[which]!;
    const map = expected[which]!;
    const position = below(3) === 0 ? below(2 ** 45) : 1 + below(9000);
    const action = below(4);
    if (action === 0 && map.has(position)) {
      table.remove(position);
      map.delete(position);
    } else if (action === 1 && map.has(position)) {
      const to = 2 ** 46 + step;
      table.move(position, to);
      map.set(to, map.get(position)!);
      map.delete(position);
    } else {
      row.offset = step;
      rows.set(table.put(position), row, 0);
      map.set(position, step);
    }
  }
  for (const [which, table] of tables.entries()) {
    const found: [number, number][] = [];
    table.each((position, index) => {
      rows.get(index, row);
      found.push([position, row.offset]);
    });
    assertEquals(found, [...expected[which]!].sort((a, b) => a[0] - b[0]));
    assertEquals(table.count, found.length);
    assertEquals(table.find(9500), NO_ROW);
  }
});

Deno.test("PositionTable.each() lets the visited position be removed", () => {
  const table = new PositionTable(new RecoveredRows());
  for (let position = 1; position <= 1000; position++) table.put(position);
  table.each((position) => {
    if (position % 3 !== 0) table.remove(position);
  });
  const left: number[] = [];
  table.each((position) => left.push(position));
  assertEquals(left, Array.from({ length: 333 }, (_, index) => (index + 1) * 3));
});
