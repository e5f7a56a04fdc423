// Tests of src/amqp/rewrite_properties.ts: rewriting raw bytes agrees with changing decoded
// properties, and what is not changed stays the same byte for byte. Run by every unit test run.

import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { FieldTable, FieldValue } from "../../../src/amqp/field_value.ts";
import type { Properties } from "../../../src/amqp/properties.ts";
import {
  decodeProperties,
  PROPERTY_EXPIRATION,
  PROPERTY_HEADERS,
  PROPERTY_USER_ID,
} from "../../../src/amqp/properties.ts";
import { tableKey } from "../../../src/amqp/raw_table.ts";
import {
  rewriteProperties,
  writePropertiesWithLong,
  writePropertiesWithout,
} from "../../../src/amqp/rewrite_properties.ts";
import { fieldTable, properties, shortText } from "./support/arbitraries.ts";
import { hex, rawOf, rawProperties, written } from "./support/wire.ts";

const SEED = 110;
const COUNT = "x-delivery-count";
const COUNT_KEY = tableKey(COUNT);

function decoded(bytes: Uint8Array): Properties {
  return decodeProperties(bytes, 0, bytes.length);
}

function without(table: FieldTable, keys: readonly string[]): Map<string, FieldValue> {
  return new Map([...table].filter(([key]) => !keys.includes(key)));
}

// Properties in which the header may be there already, at any place.
const WITH_COUNT = fc.tuple(properties, fc.option(fieldTable), fc.boolean()).map(
  ([given, after, isThere]): Properties => {
    if (after === null || !isThere) return given;
    const count: FieldValue = { tag: "I", value: 1 };
    return { ...given, headers: new Map([...given.headers ?? [], [COUNT, count], ...after]) };
  },
);

Deno.test("writePropertiesWithLong() sets one header and nothing else", () => {
  fc.assert(
    fc.property(WITH_COUNT, fc.maxSafeInteger(), (given, value) => {
      const raw = rawProperties(given);
      const bytes = written((out) => writePropertiesWithLong(out, raw, COUNT_KEY, value));
      const headers = without(given.headers ?? new Map(), [COUNT]).set(COUNT, { tag: "l", value });
      assertEquals(decoded(bytes), { ...given, headers });
    }),
    { seed: SEED, numRuns: 300 },
  );
});

Deno.test("writePropertiesWithLong() inserts the table at its place when there are no headers", () => {
  const raw = rawOf(hex("9004 01 61 02 01 62"));
  assertEquals(
    written((out) => writePropertiesWithLong(out, raw, tableKey("k"), 3)),
    hex("b004 01 61 0000000b 01 6b 6c 0000000000000003 02 01 62"),
  );
});

Deno.test("writePropertiesWithLong() replaces every copy when a key comes twice", () => {
  const raw = rawOf(hex("2000 0000000d 01 6b 56 01 61 56 01 6b 42 09 01 62 56"));
  assertEquals(
    written((out) => writePropertiesWithLong(out, raw, tableKey("k"), 1)),
    hex("2000 00000011 01 61 56 01 62 56 01 6b 6c 0000000000000001"),
  );
});

Deno.test("writePropertiesWithout() removes one header and nothing else", () => {
  fc.assert(
    fc.property(WITH_COUNT, (given) => {
      const raw = rawProperties(given);
      const bytes = written((out) => writePropertiesWithout(out, raw, COUNT_KEY));
      const { headers } = given;
      const expected = headers ? { ...given, headers: without(headers, [COUNT]) } : given;
      assertEquals(decoded(bytes), expected);
    }),
    { seed: SEED, numRuns: 300 },
  );
});

Deno.test("rewriteProperties() changes nothing when there is nothing to change", () => {
  fc.assert(
    fc.property(properties, (given) => {
      const raw = rawProperties(given);
      const bytes = written((out) => rewriteProperties(out, raw, {}));
      assertEquals(bytes, raw.bytes.slice(raw.start, raw.end));
    }),
    { seed: SEED },
  );
});

Deno.test("rewriteProperties() sets, removes and drops as changing decoded properties would", () => {
  fc.assert(
    fc.property(properties, fieldTable, fc.array(shortText), (given, setHeaders, others) => {
      const doomed = [...(given.headers ?? new Map()).keys()].filter((_, i) => i % 2 === 0);
      const removed = [...doomed, ...others];
      const bytes = written((out) =>
        rewriteProperties(out, rawProperties(given), {
          setHeaders,
          removeHeaders: removed.map(tableKey),
          dropFlags: PROPERTY_EXPIRATION | PROPERTY_USER_ID,
        })
      );
      const expected: Properties = { ...given };
      delete expected.expiration;
      delete expected.userId;
      const unwanted = [...removed, ...setHeaders.keys()];
      const kept = without(given.headers ?? new Map(), unwanted);
      if (given.headers !== undefined || setHeaders.size > 0) {
        expected.headers = new Map([...kept, ...setHeaders]);
      }
      assertEquals(decoded(bytes), expected);
    }),
    { seed: SEED, numRuns: 300 },
  );
});

Deno.test("rewriteProperties() drops all headers when asked, and keeps those it sets", () => {
  const raw = rawProperties({ headers: new Map([["a", { tag: "V" }]]), appId: "x" });
  const dropped = written((out) => rewriteProperties(out, raw, { dropFlags: PROPERTY_HEADERS }));
  assertEquals(decoded(dropped), { appId: "x" });
});

Deno.test("rewriteProperties() keeps bytes that decoding would not keep", () => {
  // A key and a value that are not UTF-8, and a signalling NaN.
  const entries = "01 ff 53 00000001 ff  01 6e 64 7ff0000000000001";
  const raw = rawOf(hex(`2000 00000016 ${entries} 01 62 56`));
  assertEquals(
    written((out) => rewriteProperties(out, raw, { removeHeaders: [tableKey("b")] })),
    hex(`2000 00000013 ${entries}`),
  );
});

Deno.test("rewriteProperties() leaves an empty table when the last header goes", () => {
  const raw = rawOf(hex("2000 00000003 01 62 56"));
  const changes = { removeHeaders: [tableKey("b")] };
  assertEquals(written((out) => rewriteProperties(out, raw, changes)), hex("2000 00000000"));
});
