// Tests that canonical texts are equal exactly when tables mean the same.

import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { FieldTable } from "../../../../src/amqp/field_value.ts";
import { fieldTablesEqual } from "../../../../src/amqp/field_value.ts";
import { canonicalTable } from "../../../../src/broker/arguments/canonical.ts";
import { fieldTable } from "../../amqp/support/arbitraries.ts";
import { args } from "../support/topology.ts";

Deno.test("canonicalTable() of the empty table is the empty text", () => {
  assertEquals(canonicalTable(args()), "");
});

Deno.test("canonicalTable() is the same for shuffled keys", () => {
  fc.assert(
    fc.property(fieldTable, (table: FieldTable) => {
      assertEquals(canonicalTable(new Map([...table].reverse())), canonicalTable(table));
    }),
    { seed: 11 },
  );
});

Deno.test("canonicalTable() is equal exactly for tables that are equal", () => {
  fc.assert(
    fc.property(fieldTable, fieldTable, (a: FieldTable, b: FieldTable) => {
      assertEquals(canonicalTable(a) === canonicalTable(b), fieldTablesEqual(a, b));
    }),
    { seed: 11 },
  );
});

Deno.test("canonicalTable() keeps values of different types apart", () => {
  const tables: FieldTable[] = [
    args({ a: 1 }),
    args({ a: "1" }),
    args({ a: true }),
    args({ a: null }),
    args({ a: 1.5 }),
    args({ a: new Date(1000) }),
    args({ a: new Uint8Array([1]) }),
    args({ a: [1] }),
    args({ a: [[1]] }),
    args({ a: { b: 1 } }),
    args({ a: { b: 1, c: 2 } }),
    args({ a: 1, b: 1 }),
  ];
  assertEquals(new Set(tables.map(canonicalTable)).size, tables.length);
});
