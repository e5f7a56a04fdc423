// Tests of src/amqp/field_json.ts: what management shows of a table and what it makes of JSON. Run by
// every unit test run.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { AssertionError } from "../../../src/lib/assert.ts";
import type { FieldTable } from "../../../src/amqp/field_value.ts";
import { fieldTablesEqual, VOID } from "../../../src/amqp/field_value.ts";
import { fieldTableFrom, fieldTableToJson } from "../../../src/amqp/field_json.ts";
import { fieldTable } from "./support/arbitraries.ts";

const SEED = 50;

Deno.test("fieldTableToJson() shows numbers, text and nested values as JSON", () => {
  const table: FieldTable = new Map([
    ["ttl", { tag: "I", value: 5 }],
    ["big", { tag: "l", value: 2n ** 60n }],
    ["price", { tag: "D", scale: 2, value: 150 }],
    ["bytes", { tag: "x", value: Uint8Array.of(0xff, 0) }],
    ["text", { tag: "x", value: Uint8Array.of(0x61) }],
    ["nan", { tag: "d", value: NaN }],
    ["nothing", VOID],
    ["list", { tag: "A", value: [{ tag: "t", value: true }, { tag: "F", value: new Map() }] }],
  ]);
  assertEquals(fieldTableToJson(table), {
    ttl: 5,
    big: 2 ** 60,
    price: 1.5,
    bytes: "/wA=",
    text: "a",
    nan: null,
    nothing: null,
    list: [true, {}],
  });
});

Deno.test("fieldTableToJson() keeps a key that is special in JavaScript", () => {
  const json = fieldTableToJson(new Map([["__proto__", { tag: "t", value: true }]]));
  assertEquals(JSON.stringify(json), '{"__proto__":true}');
});

Deno.test("fieldTableToJson() can always be stringified", () => {
  fc.assert(
    fc.property(fieldTable, (table) => {
      assertEquals(typeof JSON.stringify(fieldTableToJson(table)), "string");
    }),
    { seed: SEED },
  );
});

Deno.test("fieldTableFrom() gives JSON the types RabbitMQ gives it", () => {
  assertEquals(
    fieldTableFrom({ i: 5, d: 0.5, s: "x", t: true, n: null, a: [1], o: { k: "v" } }),
    new Map<string, unknown>([
      ["i", { tag: "l", value: 5 }],
      ["d", { tag: "d", value: 0.5 }],
      ["s", { tag: "S", value: "x" }],
      ["t", { tag: "t", value: true }],
      ["n", { tag: "V" }],
      ["a", { tag: "A", value: [{ tag: "l", value: 1 }] }],
      ["o", { tag: "F", value: new Map([["k", { tag: "S", value: "v" }]]) }],
    ]) as FieldTable,
  );
});

Deno.test("fieldTableFrom() takes what JSON cannot say", () => {
  const table = fieldTableFrom({
    big: 2n ** 60n,
    small: 3n,
    bytes: Uint8Array.of(1),
    date: new Date(1_700_000_000_999),
    huge: 1e300,
  });
  assertEquals(table.get("big"), { tag: "l", value: 2n ** 60n });
  assertEquals(table.get("small"), { tag: "l", value: 3 });
  assertEquals(table.get("bytes"), { tag: "x", value: Uint8Array.of(1) });
  assertEquals(table.get("date"), { tag: "T", value: 1_700_000_000 });
  assertEquals(table.get("huge"), { tag: "d", value: 1e300 });
  assertThrows(() => fieldTableFrom({ a: 2n ** 63n }), AssertionError);
});

Deno.test("fieldTableFrom() brings back a table whose types JSON can tell apart", () => {
  const json = JSON.parse('{"a":[1,"x",{"b":null}],"c":true,"d":0.25}');
  const table = fieldTableFrom(json);
  assert(fieldTablesEqual(table, fieldTableFrom(fieldTableToJson(table))));
  assertEquals(fieldTableToJson(table), json);
});
