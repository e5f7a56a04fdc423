// Tests of src/amqp/field_table.ts: every type on the wire, round trips, limits and truncation at
// every byte. Run by every unit test run; fuzzing is in test/fuzz.

import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ConnectionError } from "../../../src/amqp/errors.ts";
import type { FieldValue } from "../../../src/amqp/field_value.ts";
import {
  decodeFieldTable,
  decodeFieldValue,
  writeFieldValue,
} from "../../../src/amqp/field_table.ts";
import { fieldTable } from "./support/arbitraries.ts";
import { hex, tableBytes, written } from "./support/wire.ts";

const SEED = 40;

// One example of each type: wire bytes and meaning.
const EXAMPLES: readonly (readonly [string, FieldValue])[] = [
  ["74 00", { tag: "t", value: false }],
  ["74 01", { tag: "t", value: true }],
  ["62 80", { tag: "b", value: -128 }],
  ["42 80", { tag: "B", value: 128 }],
  ["73 8000", { tag: "s", value: -32768 }],
  ["75 8000", { tag: "u", value: 32768 }],
  ["49 ffffffff", { tag: "I", value: -1 }],
  ["69 ffffffff", { tag: "i", value: 4294967295 }],
  ["6c 001fffffffffffff", { tag: "l", value: 2 ** 53 - 1 }],
  ["6c 0020000000000001", { tag: "l", value: 2n ** 53n + 1n }],
  ["6c 8000000000000000", { tag: "l", value: -(2n ** 63n) }],
  ["4c ffffffffffffffff", { tag: "L", value: -1 }],
  ["66 3fc00000", { tag: "f", value: 1.5 }],
  ["64 bfe0000000000000", { tag: "d", value: -0.5 }],
  ["44 02 0000007b", { tag: "D", scale: 2, value: 123 }],
  ["53 00000002 c3a9", { tag: "S", value: "é" }],
  ["53 00000001 ff", { tag: "S", value: Uint8Array.of(0xff) }],
  ["53 00000003 efbbbf", { tag: "S", value: "\ufeff" }],
  ["54 ffffffffffffffff", { tag: "T", value: 2n ** 64n - 1n }],
  ["54 0000000065000000", { tag: "T", value: 0x65000000 }],
  ["78 00000002 00ff", { tag: "x", value: Uint8Array.of(0, 255) }],
  ["56", { tag: "V" }],
  ["41 00000003 74 01 56", { tag: "A", value: [{ tag: "t", value: true }, { tag: "V" }] }],
  ["46 00000004 02 6162 56", { tag: "F", value: new Map([["ab", { tag: "V" }]]) }],
];

Deno.test("decodeFieldValue() and writeFieldValue() agree with the protocol for every type", () => {
  for (const [digits, value] of EXAMPLES) {
    const bytes = hex(digits);
    assertEquals(decodeFieldValue(bytes, 0, bytes.length), value);
    assertEquals(written((out) => writeFieldValue(out, value)), bytes);
  }
});

Deno.test("decodeFieldValue() is a 502 when a value is cut at any byte or has one more", () => {
  for (const [digits] of EXAMPLES) {
    const bytes = hex(digits);
    for (let end = 0; end < bytes.length; end++) {
      assertThrows(() => decodeFieldValue(bytes, 0, end), ConnectionError, "SYNTAX_ERROR - ");
    }
    const longer = Uint8Array.from([...bytes, 0]);
    assertThrows(() => decodeFieldValue(longer, 0, longer.length), ConnectionError);
  }
});

Deno.test("decodeFieldValue() reads any non-zero octet as true", () => {
  assertEquals(decodeFieldValue(hex("74 80"), 0, 2), { tag: "t", value: true });
});

Deno.test("decodeFieldTable() gives back any table that was written", () => {
  fc.assert(
    fc.property(fieldTable, (table) => {
      const bytes = tableBytes(table);
      const decoded = decodeFieldTable(bytes, 0, bytes.length);
      assertEquals(decoded, table);
      assertEquals(tableBytes(decoded), bytes);
    }),
    { seed: SEED, numRuns: 300 },
  );
});

Deno.test("decodeFieldTable() is a 502 or a shorter table when cut at any byte", () => {
  fc.assert(
    fc.property(fieldTable, (table) => {
      const bytes = tableBytes(table);
      for (let end = 0; end < bytes.length; end++) {
        try {
          const shorter = decodeFieldTable(bytes, 0, end);
          assertEquals([...shorter.keys()], [...table.keys()].slice(0, shorter.size));
        } catch (error) {
          if (!(error instanceof ConnectionError)) throw error;
        }
      }
    }),
    { seed: SEED, numRuns: 30 },
  );
});

Deno.test("decodeFieldTable() keeps the first value when a key comes twice", () => {
  const bytes = hex("01 61 42 01  01 61 42 02");
  const table = decodeFieldTable(bytes, 0, bytes.length);
  assertEquals(table, new Map([["a", { tag: "B", value: 1 }]]));
});

Deno.test("decodeFieldTable() copies what it returns when the buffer is reused", () => {
  const bytes = tableBytes(new Map([["a", { tag: "x", value: Uint8Array.of(1, 2) }]]));
  const table = decodeFieldTable(bytes, 0, bytes.length);
  bytes.fill(0);
  assertEquals(table, new Map([["a", { tag: "x", value: Uint8Array.of(1, 2) }]]));
});

Deno.test("decodeFieldTable() is a 502 when a type tag is unknown", () => {
  for (let tag = 0; tag < 256; tag++) {
    if ("tbBsuIilLfdDSATFVx".includes(String.fromCharCode(tag))) continue;
    const bytes = Uint8Array.of(1, 0x61, tag, 0, 0, 0, 0, 0, 0, 0, 0);
    assertThrows(() => decodeFieldTable(bytes, 0, bytes.length), ConnectionError, "unknown field");
  }
});

function nestedArrays(levels: number): FieldValue {
  let value: FieldValue = { tag: "V" };
  for (let i = 0; i < levels; i++) value = { tag: "A", value: [value] };
  return value;
}

Deno.test("decodeFieldTable() is a 502 when nesting passes the limit", () => {
  const allowed = tableBytes(new Map([["a", nestedArrays(31)]]));
  decodeFieldTable(allowed, 0, allowed.length);
  const tooDeep = tableBytes(new Map([["a", nestedArrays(32)]]));
  assertThrows(
    () => decodeFieldTable(tooDeep, 0, tooDeep.length),
    ConnectionError,
    "deeper than 32",
  );
  const limits = { depthMax: 2, bytesMax: 1000 };
  const three = tableBytes(new Map([["a", nestedArrays(2)]]));
  assertThrows(() => decodeFieldTable(three, 0, three.length, limits), ConnectionError);
});

Deno.test("decodeFieldTable() is a 502 when the table is larger than the limit", () => {
  const bytes = tableBytes(new Map([["a", { tag: "S", value: "x".repeat(100) }]]));
  const limits = (bytesMax: number) => ({ depthMax: 32, bytesMax });
  decodeFieldTable(bytes, 0, bytes.length, limits(bytes.length));
  const decode = () => decodeFieldTable(bytes, 0, bytes.length, limits(bytes.length - 1));
  assertThrows(decode, ConnectionError, "larger than");
});
