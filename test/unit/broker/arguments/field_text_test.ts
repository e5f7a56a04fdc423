// Tests of how errors print field values: as RabbitMQ does.

import { assertEquals } from "@std/assert";
import type { FieldValue } from "../../../../src/amqp/field_value.ts";
import {
  fieldTypeName,
  fieldValueTerm,
  fieldValueText,
} from "../../../../src/broker/arguments/field_text.ts";

// Each value with its type name and its term.
const VALUES: readonly (readonly [FieldValue, string, string])[] = [
  [{ tag: "t", value: true }, "bool", "true"],
  [{ tag: "b", value: -1 }, "byte", "-1"],
  [{ tag: "B", value: 1 }, "unsignedbyte", "1"],
  [{ tag: "s", value: 1 }, "short", "1"],
  [{ tag: "u", value: 1 }, "unsignedshort", "1"],
  [{ tag: "I", value: 1 }, "signedint", "1"],
  [{ tag: "i", value: 1 }, "unsignedint", "1"],
  [{ tag: "l", value: 2n ** 60n }, "long", "1152921504606846976"],
  [{ tag: "L", value: 1 }, "long", "1"],
  [{ tag: "f", value: 0.5 }, "float", "0.5"],
  [{ tag: "d", value: 1 }, "double", "1.0"],
  [{ tag: "d", value: 1.5e25 }, "double", "1.5e25"],
  [{ tag: "d", value: 1e25 }, "double", "1.0e25"],
  [{ tag: "d", value: 1e-9 }, "double", "1.0e-9"],
  [{ tag: "d", value: NaN }, "double", "NaN"],
  [{ tag: "D", scale: 2, value: 314 }, "decimal", "{2,314}"],
  [{ tag: "T", value: 5 }, "timestamp", "5"],
  [{ tag: "S", value: 'a"b' }, "longstr", '<<"a\\"b">>'],
  [{ tag: "S", value: "日" }, "longstr", '<<"日"/utf8>>'],
  [{ tag: "S", value: new Uint8Array([255, 0]) }, "longstr", "<<255,0>>"],
  [{ tag: "x", value: new Uint8Array([1]) }, "binary", "<<1>>"],
  [{ tag: "A", value: [{ tag: "b", value: 1 }] }, "array", "[{byte,1}]"],
  [{ tag: "F", value: new Map([["k", { tag: "V" }]]) }, "table", '[{<<"k">>,void,undefined}]'],
  [{ tag: "V" }, "void", "undefined"],
];

Deno.test("fieldTypeName() and fieldValueTerm() print every type", () => {
  for (const [field, type, term] of VALUES) {
    assertEquals(fieldTypeName(field), type);
    assertEquals(fieldValueTerm(field), term);
  }
});

Deno.test("fieldValueText() prints text as it is and the rest as terms", () => {
  assertEquals(fieldValueText({ tag: "S", value: 'a"b' }), 'a"b');
  assertEquals(fieldValueText({ tag: "S", value: new Uint8Array([255]) }), "<<255>>");
  assertEquals(fieldValueText({ tag: "l", value: 5 }), "5");
});
