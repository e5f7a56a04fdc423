// Tests of src/amqp/sasl.ts: responses as clients send them and malformed ones. Run by every unit
// test run.

import { assertEquals, assertThrows } from "@std/assert";
import { ConnectionError } from "../../../src/amqp/errors.ts";
import { fieldTableFrom } from "../../../src/amqp/field_json.ts";
import { decodeAmqplain, decodePlain } from "../../../src/amqp/sasl.ts";
import { encodeText } from "../../../src/lib/text.ts";
import { hex, tableBytes } from "./support/wire.ts";

Deno.test("decodePlain() finds user and password", () => {
  const { user, password } = decodePlain(encodeText("\0gu\u00e9st\0p:w"));
  assertEquals(user, "gu\u00e9st");
  assertEquals(password, encodeText("p:w"));
  assertEquals(decodePlain(encodeText("\0u\0")).password, new Uint8Array(0));
});

Deno.test("decodePlain() accepts an authorization identity only when it is the user", () => {
  assertEquals(decodePlain(encodeText("u\0u\0p")).user, "u");
  assertThrows(() => decodePlain(encodeText("admin\0u\0p")), ConnectionError, "identity");
});

Deno.test("decodePlain() is a 502 that shows nothing of the response when it is malformed", () => {
  for (const response of ["", "\0", "\0secret", "secret", "\0u\0p\0more"]) {
    const error = assertThrows(() => decodePlain(encodeText(response)), ConnectionError);
    assertEquals(error.replyText, "SYNTAX_ERROR - PLAIN response is malformed");
  }
  assertThrows(() => decodePlain(hex("00 ff 00 61")), ConnectionError, "not UTF-8");
});

Deno.test("decodeAmqplain() finds LOGIN and PASSWORD in any order", () => {
  const table = fieldTableFrom({ PASSWORD: "secret", LOGIN: "guest", LOCALE: "en_US" });
  const { user, password } = decodeAmqplain(tableBytes(table));
  assertEquals(user, "guest");
  assertEquals(password, encodeText("secret"));
});

Deno.test("decodeAmqplain() keeps a password that is not UTF-8", () => {
  const login = "05 4c4f47494e 53 00000001 75";
  const password = "08 50415353574f5244 53 00000001 ff";
  assertEquals(decodeAmqplain(hex(login + password)).password, hex("ff"));
});

Deno.test("decodeAmqplain() is a 502 when a field is missing, of another type, or cut", () => {
  const responses = [{ LOGIN: "u" }, { PASSWORD: "p" }, { LOGIN: 1, PASSWORD: "p" }];
  for (const response of responses) {
    const bytes = tableBytes(fieldTableFrom(response));
    assertThrows(() => decodeAmqplain(bytes), ConnectionError, "missing LOGIN or PASSWORD");
  }
  assertThrows(() => decodeAmqplain(hex("05 4c4f")), ConnectionError, "truncated");
});
