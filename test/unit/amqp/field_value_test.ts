// Tests of src/amqp/field_value.ts: what equals what, and exact integers beyond 2^53. Run by every
// unit test run.

import { assert, assertEquals, assertFalse } from "@std/assert";
import fc from "fast-check";
import type { FieldValue } from "../../../src/amqp/field_value.ts";
import {
  booleanField,
  booleanOf,
  fieldsEqual,
  fieldTablesEqual,
  integerOf,
  longField,
  textField,
  textOf,
  timestampField,
  VOID,
  wholeNumber,
} from "../../../src/amqp/field_value.ts";
import { fieldTable, fieldValue } from "./support/arbitraries.ts";

const SEED = 30;

Deno.test("wholeNumber() is a number up to 2^53 - 1 and a bigint beyond", () => {
  assertEquals(wholeNumber(2n ** 53n - 1n), 2 ** 53 - 1);
  assertEquals(wholeNumber(-(2n ** 53n) + 1n), -(2 ** 53) + 1);
  assertEquals(wholeNumber(2n ** 53n), 2n ** 53n);
  assertEquals(wholeNumber(2n ** 63n - 1n), 2n ** 63n - 1n);
});

Deno.test("wholeNumber() keeps comparisons exact when one value is beyond 2^53", () => {
  const max = 2 ** 53 - 1;
  assert(wholeNumber(2n ** 53n + 1n) > max);
  assert(wholeNumber(2n ** 53n + 1n) !== wholeNumber(2n ** 53n));
  assert(wholeNumber(2n ** 53n) < wholeNumber(2n ** 53n + 1n));
  assert(wholeNumber(-(2n ** 63n)) < -max);
});

Deno.test("fieldsEqual() holds for integers of different width when their values are equal", () => {
  const tags = ["b", "B", "s", "u", "I", "i", "l", "L"] as const;
  for (const a of tags) {
    for (const b of tags) {
      assert(fieldsEqual({ tag: a, value: 100 }, { tag: b, value: 100 }));
      assertFalse(fieldsEqual({ tag: a, value: 100 }, { tag: b, value: 101 }));
    }
  }
  assertFalse(fieldsEqual(longField(2n ** 53n), longField(2n ** 53n + 1n)));
  assert(fieldsEqual(longField(2n ** 60n), { tag: "L", value: 2n ** 60n }));
});

Deno.test("fieldsEqual() fails when the classes of the types differ", () => {
  const values: FieldValue[] = [
    longField(1),
    timestampField(1),
    booleanField(true),
    textField("1"),
    { tag: "d", value: 1 },
    { tag: "D", scale: 0, value: 1 },
    { tag: "x", value: Uint8Array.of(0x31) },
    { tag: "A", value: [] },
    { tag: "F", value: new Map() },
    VOID,
  ];
  for (const [i, a] of values.entries()) {
    for (const [j, b] of values.entries()) assertEquals(fieldsEqual(a, b), i === j);
  }
});

Deno.test("fieldsEqual() treats single and double floats, and NaN, as the numbers they are", () => {
  assert(fieldsEqual({ tag: "f", value: 0.5 }, { tag: "d", value: 0.5 }));
  assert(fieldsEqual({ tag: "d", value: NaN }, { tag: "d", value: NaN }));
  assertFalse(fieldsEqual({ tag: "d", value: NaN }, { tag: "d", value: 1 }));
  const cents: FieldValue = { tag: "D", scale: 2, value: 100 };
  assertFalse(fieldsEqual(cents, { tag: "D", scale: 0, value: 100 }));
});

Deno.test("fieldsEqual() looks into bytes, arrays and long strings that are not UTF-8", () => {
  const bytes = (tag: "S" | "x", last: number): FieldValue => ({
    tag,
    value: Uint8Array.of(0xff, last),
  });
  assert(fieldsEqual(bytes("S", 1), bytes("S", 1)));
  assertFalse(fieldsEqual(bytes("S", 1), bytes("S", 2)));
  assertFalse(fieldsEqual(bytes("S", 1), textField("\ufffd\u0001")));
  assert(fieldsEqual(bytes("x", 1), bytes("x", 1)));
  const array = (...value: FieldValue[]): FieldValue => ({ tag: "A", value });
  assert(fieldsEqual(array(longField(1), VOID), array({ tag: "b", value: 1 }, VOID)));
  assertFalse(fieldsEqual(array(longField(1)), array(longField(1), VOID)));
});

Deno.test("fieldTablesEqual() ignores the order of keys and sees a missing one", () => {
  const a = new Map([["a", longField(1)], ["b", VOID]]);
  assert(fieldTablesEqual(a, new Map([["b", VOID], ["a", longField(1)]])));
  assertFalse(fieldTablesEqual(a, new Map([["a", longField(1)]])));
  assertFalse(fieldTablesEqual(a, new Map([["a", longField(1)], ["c", VOID]])));
});

Deno.test("fieldsEqual() is reflexive and symmetric for any value", () => {
  fc.assert(
    fc.property(fieldValue, fieldValue, (a, b) => {
      assert(fieldsEqual(a, a));
      assertEquals(fieldsEqual(a, b), fieldsEqual(b, a));
    }),
    { seed: SEED },
  );
  fc.assert(fc.property(fieldTable, (table) => fieldTablesEqual(table, table)), { seed: SEED });
});

Deno.test("integerOf(), textOf() and booleanOf() answer undefined when the type is another", () => {
  assertEquals(integerOf({ tag: "B", value: 7 }), 7);
  assertEquals(integerOf(textField("7")), undefined);
  assertEquals(integerOf({ tag: "d", value: 7 }), undefined);
  assertEquals(integerOf(undefined), undefined);
  assertEquals(textOf(textField("x")), "x");
  assertEquals(textOf({ tag: "S", value: Uint8Array.of(0xff) }), undefined);
  assertEquals(textOf({ tag: "x", value: Uint8Array.of(0x61) }), undefined);
  assertEquals(booleanOf(booleanField(false)), false);
  assertEquals(booleanOf(longField(1)), undefined);
});
