// Field tables against amqplib's codec as an independent oracle, every type that amqplib has, both
// directions. Run by every unit test run.

import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { decodeFieldTable } from "../../../src/amqp/field_table.ts";
import type { FieldTable, FieldValue } from "../../../src/amqp/field_value.ts";
import { Buffers, oracleTables } from "./support/amqplib.ts";
import { fieldTable } from "./support/arbitraries.ts";
import { tableBytes } from "./support/wire.ts";

const SEED = 80;

const ORACLE_TYPES: Readonly<Record<string, string>> = {
  b: "int8",
  B: "uint8",
  s: "int16",
  u: "uint16",
  I: "int32",
  i: "uint32",
  l: "int64",
  f: "float",
  d: "double",
  T: "timestamp",
};

// A value as amqplib takes it. It has no `L`, and no long string that is not text.
function oracleValue(field: FieldValue): unknown {
  switch (field.tag) {
    case "V":
      return null;
    case "D":
      return { "!": "decimal", value: { places: field.scale, digits: field.value } };
    case "t":
      return field.value;
    case "S":
      return field.value;
    case "x":
      return Buffers.from(field.value);
    case "A":
      return field.value.map(oracleValue);
    case "F":
      return oracleTable(field.value);
    default:
      return { "!": ORACLE_TYPES[field.tag], value: field.value };
  }
}

function oracleTable(table: FieldTable): Record<string, unknown> {
  const entries = [...table].map(([key, field]) => [key, oracleValue(field)] as const);
  return Object.fromEntries(entries);
}

function isKnown(field: FieldValue): boolean {
  if (field.tag === "L" || (field.tag === "S" && typeof field.value !== "string")) return false;
  if (field.tag === "A") return field.value.every(isKnown);
  return field.tag !== "F" || isKnownTable(field.value);
}

// JavaScript objects reorder keys that look like numbers, and give __proto__ a meaning.
function isKnownTable(table: FieldTable): boolean {
  return [...table].every(([key, field]) => !/^\d+$|^__proto__$/.test(key) && isKnown(field));
}

const TABLES = fieldTable.filter(isKnownTable);

Deno.test("writeFieldTable() writes the bytes that amqplib writes", () => {
  fc.assert(
    fc.property(TABLES, (table) => {
      const buffer = Buffers.alloc(65536);
      const byteCount = oracleTables.encodeTable(buffer, oracleTable(table), 0);
      assertEquals(tableBytes(table), new Uint8Array(buffer.subarray(4, byteCount)));
    }),
    { seed: SEED, numRuns: 200 },
  );
});

Deno.test("decodeFieldTable() reads what amqplib writes", () => {
  fc.assert(
    fc.property(TABLES, (table) => {
      const buffer = Buffers.alloc(65536);
      const byteCount = oracleTables.encodeTable(buffer, oracleTable(table), 0);
      assertEquals(decodeFieldTable(buffer, 4, byteCount), table);
    }),
    { seed: SEED, numRuns: 200 },
  );
});

// A value as amqplib gives it back.
function readByOracle(field: FieldValue): unknown {
  if (field.tag === "V") return null;
  if (field.tag === "D") {
    return { "!": "decimal", value: { places: field.scale, digits: field.value } };
  }
  if (field.tag === "A") return field.value.map(readByOracle);
  if (field.tag === "F") return readTableByOracle(field.value);
  if (field.tag === "x") return Buffers.from(field.value);
  if (field.tag === "T") return { "!": "timestamp", value: Number(field.value) };
  return typeof field.value === "bigint" ? Number(field.value) : field.value;
}

function readTableByOracle(table: FieldTable): Record<string, unknown> {
  return Object.fromEntries([...table].map(([key, field]) => [key, readByOracle(field)]));
}

Deno.test("writeFieldTable() writes what amqplib reads", () => {
  fc.assert(
    fc.property(TABLES, (table) => {
      const read = oracleTables.decodeFields(Buffers.from(tableBytes(table)));
      assertEquals(read, readTableByOracle(table));
    }),
    { seed: SEED, numRuns: 200 },
  );
});
