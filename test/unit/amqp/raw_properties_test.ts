// Tests of src/amqp/raw_properties.ts and raw_table.ts: lazy access agrees with decoding everything,
// nested tables do not confuse it, and it is as strict. Run by every unit test run.

import { assert, assertEquals, assertFalse, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ConnectionError } from "../../../src/amqp/errors.ts";
import { decodeFieldTable } from "../../../src/amqp/field_table.ts";
import type { FieldTable, FieldValue } from "../../../src/amqp/field_value.ts";
import type { Properties } from "../../../src/amqp/properties.ts";
import {
  PROPERTY_CLUSTER_ID,
  PROPERTY_CONTENT_TYPE,
  PROPERTY_DELIVERY_MODE,
  PROPERTY_EXPIRATION,
  PROPERTY_HEADERS,
  PROPERTY_PRIORITY,
  PROPERTY_REPLY_TO,
  PROPERTY_TIMESTAMP,
  PROPERTY_USER_ID,
} from "../../../src/amqp/properties.ts";
import { checkTable, findEntry, skipFieldValue, tableKey } from "../../../src/amqp/raw_table.ts";
import { encodeText } from "../../../src/lib/text.ts";
import { fieldTable, properties } from "./support/arbitraries.ts";
import { hex, rawOf, rawProperties, tableBytes } from "./support/wire.ts";

const SEED = 100;

const TEXTS = [
  [PROPERTY_CONTENT_TYPE, "contentType"],
  [PROPERTY_REPLY_TO, "replyTo"],
  [PROPERTY_EXPIRATION, "expiration"],
  [0x0080, "messageId"],
  [PROPERTY_USER_ID, "userId"],
  [PROPERTY_CLUSTER_ID, "clusterId"],
] as const;

Deno.test("RawProperties finds every value that decoding finds", () => {
  fc.assert(
    fc.property(properties, (given) => {
      const raw = rawProperties(given);
      raw.check();
      for (const [flag, name] of TEXTS) {
        assertEquals(raw.has(flag), given[name] !== undefined);
        assertEquals(raw.text(flag), given[name]);
      }
      assertEquals(raw.headers(), given.headers);
      assertEquals(raw.priority(), given.priority ?? 0);
      assertEquals(raw.isPersistent(), given.deliveryMode === 2);
      assertEquals(raw.find(PROPERTY_TIMESTAMP), given.timestamp !== undefined);
      if (given.timestamp !== undefined) assertEquals(raw.valueEnd - raw.valueStart, 8);
    }),
    { seed: SEED, numRuns: 300 },
  );
});

Deno.test("RawProperties.header() finds every header that decoding finds, and no other", () => {
  fc.assert(
    fc.property(fieldTable, fc.string(), (headers, other) => {
      const raw = rawProperties({ contentType: "x", headers, appId: "y" });
      for (const [key, value] of headers) assertEquals(raw.header(tableKey(key)), value);
      assertEquals(raw.header(tableKey(other)), headers.get(other));
    }),
    { seed: SEED, numRuns: 200 },
  );
});

Deno.test("RawProperties.findHeader() does not look into nested tables and strings", () => {
  const key = tableKey("CC");
  const inner: FieldTable = new Map([["CC", { tag: "V" }]]);
  const fake: FieldValue = { tag: "x", value: tableBytes(inner) };
  const hidden: FieldTable = new Map<string, FieldValue>([
    ["table", { tag: "F", value: inner }],
    ["array", { tag: "A", value: [{ tag: "F", value: inner }] }],
    ["bytes", fake],
    ["CCC", { tag: "V" }],
    ["C", { tag: "V" }],
    ["cc", { tag: "V" }],
  ]);
  assertFalse(rawProperties({ headers: hidden }).findHeader(key));
  const shown = new Map([...hidden, ["CC", { tag: "t", value: true }] as const]);
  const raw = rawProperties({ headers: shown });
  assert(raw.findHeader(key));
  assertEquals(raw.bytes.slice(raw.valueStart, raw.valueEnd), hex("74 01"));
});

Deno.test("RawProperties.findHeader() finds the first when a key comes twice", () => {
  const raw = rawOf(hex("2000 00000008 01 61 42 01 01 61 42 02"));
  assertEquals(raw.header(tableKey("a")), { tag: "B", value: 1 });
});

Deno.test("RawProperties answers no when there are no headers", () => {
  const raw = rawProperties({ deliveryMode: 1 });
  assertFalse(raw.findHeader(tableKey("a")));
  assertFalse(raw.isPersistent());
  assertEquals(raw.headers(), undefined);
  assertEquals(raw.text(PROPERTY_EXPIRATION), undefined);
  assertFalse(raw.find(PROPERTY_HEADERS));
  assert(raw.find(PROPERTY_DELIVERY_MODE));
  assertFalse(raw.find(PROPERTY_PRIORITY));
});

Deno.test("RawProperties.offsetOf() says where an absent property would stand", () => {
  const raw = rawProperties({ contentType: "abc", expiration: "1" });
  assertEquals(raw.offsetOf(PROPERTY_CONTENT_TYPE), raw.start + 2);
  assertEquals(raw.offsetOf(PROPERTY_HEADERS), raw.start + 6);
  assertEquals(raw.offsetOf(PROPERTY_CLUSTER_ID), raw.end);
});

Deno.test("RawProperties.check() is a 502 when cut at any byte or too long", () => {
  const given: Properties = {
    contentType: "a",
    headers: new Map([["k", { tag: "A", value: [{ tag: "S", value: "v" }] }]]),
    deliveryMode: 2,
    timestamp: 5,
    clusterId: "x",
  };
  const full = rawProperties(given);
  const bytes = full.bytes.slice(full.start, full.end);
  rawOf(bytes).check();
  for (let end = 0; end < bytes.length; end++) {
    assertThrows(() => rawOf(bytes.slice(0, end)).check(), ConnectionError);
  }
  assertThrows(() => rawOf(Uint8Array.from([...bytes, 0])).check(), ConnectionError, "surplus");
});

// What a table's bytes are to both readers: accepted or refused.
function verdicts(bytes: Uint8Array): [boolean, boolean] {
  const accepts = (read: () => unknown): boolean => {
    try {
      read();
      return true;
    } catch (error) {
      if (error instanceof ConnectionError) return false;
      throw error;
    }
  };
  return [
    accepts(() => decodeFieldTable(bytes, 0, bytes.length)),
    accepts(() => checkTable(bytes, 0, bytes.length)),
  ];
}

Deno.test("checkTable() accepts exactly what decodeFieldTable() accepts when bytes are changed", () => {
  const change = fc.tuple(fc.nat(), fc.nat(255));
  fc.assert(
    fc.property(fieldTable, fc.array(change, { maxLength: 3 }), (table, changes) => {
      const bytes = tableBytes(table);
      for (const [at, byte] of changes) bytes[at % Math.max(bytes.length, 1)] = byte;
      const [decoded, checked] = verdicts(bytes);
      assertEquals(checked, decoded);
    }),
    { seed: SEED, numRuns: 500 },
  );
});

function nestedTable(levels: number): FieldTable {
  let table: FieldTable = new Map();
  for (let i = 1; i < levels; i++) table = new Map([["a", { tag: "F", value: table }]]);
  return table;
}

Deno.test("checkTable() has the depth limit of decodeFieldTable()", () => {
  assertEquals(verdicts(tableBytes(nestedTable(32))), [true, true]);
  assertEquals(verdicts(tableBytes(nestedTable(33))), [false, false]);
  const raw = rawProperties({ headers: nestedTable(3) });
  raw.check(3);
  assertThrows(() => raw.check(2), ConnectionError, "nested too deep");
});

Deno.test("skipFieldValue() and findEntry() are a 502 when a length points beyond the end", () => {
  const bytes = hex("01 61 53 ffffffff 62");
  assertThrows(() => skipFieldValue(bytes, 2, bytes.length), ConnectionError, "truncated");
  assertThrows(() => findEntry(bytes, 0, bytes.length, tableKey("b")), ConnectionError);
  assertThrows(() => findEntry(hex("05 61"), 0, 2, tableKey("b")), ConnectionError);
});

Deno.test("tableKey() is a length octet and UTF-8", () => {
  assertEquals(tableKey("é"), Uint8Array.from([2, ...encodeText("é")]));
});
