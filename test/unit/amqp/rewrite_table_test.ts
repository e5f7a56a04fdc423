// Rewriting part of a raw table: values in their places, everything else as it was.

import { assertEquals } from "@std/assert";
import { decodeFieldTable } from "../../../src/amqp/field_table.ts";
import type { FieldValue } from "../../../src/amqp/field_value.ts";
import { rewriteTable } from "../../../src/amqp/rewrite_table.ts";
import { hex } from "./support/wire.ts";

const ONE: FieldValue = { tag: "b", value: 1 };

Deno.test("rewriteTable() replaces a value where it stands, and its repetitions", () => {
  const table = hex("016156 01626200 0163 74 02 0162 56");
  const rewritten = rewriteTable(table, new Map([["b", ONE]]));
  assertEquals(rewritten, hex("016156 01626201 0163 74 02"));
});

Deno.test("rewriteTable() appends what was not there", () => {
  const rewritten = rewriteTable(hex("016156"), new Map([["new", ONE]]));
  assertEquals(rewritten, hex("016156 036e6577 6201"));
  assertEquals(decodeFieldTable(rewritten, 0, rewritten.length).get("new"), ONE);
});

Deno.test("rewriteTable() keeps bytes that decoding would not keep", () => {
  const table = hex("0166 66 ffa01234 01ff 64 7ff400000000000b");
  assertEquals(rewriteTable(table, new Map()), table);
});
