// Tests of src/amqp/properties.ts: round trips, truncation at every byte, and amqplib as an
// independent oracle in both directions. Run by every unit test run.

import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ContentHeader } from "../../../src/amqp/content_header.ts";
import { ConnectionError } from "../../../src/amqp/errors.ts";
import { writeHeaderFrame } from "../../../src/amqp/content_frames.ts";
import type { Properties } from "../../../src/amqp/properties.ts";
import { decodeProperties, writeProperties } from "../../../src/amqp/properties.ts";
import { Buffers, oracle } from "./support/amqplib.ts";
import { properties, shortText } from "./support/arbitraries.ts";
import { framesIn, hex, written } from "./support/wire.ts";

const SEED = 90;

Deno.test("decodeProperties() gives back any properties that were written", () => {
  fc.assert(
    fc.property(properties, (given) => {
      const bytes = written((out) => writeProperties(out, given));
      assertEquals(decodeProperties(bytes, 0, bytes.length), given);
    }),
    { seed: SEED, numRuns: 300 },
  );
});

Deno.test("writeProperties() sets the flags of the protocol in its order", () => {
  const wire = (given: Properties) => written((out) => writeProperties(out, given));
  assertEquals(wire({}), hex("0000"));
  assertEquals(wire({ contentType: "a", clusterId: "b" }), hex("8004 01 61 01 62"));
  assertEquals(wire({ priority: 9, deliveryMode: 2 }), hex("1800 02 09"));
  assertEquals(wire({ headers: new Map() }), hex("2000 00000000"));
  assertEquals(wire({ timestamp: 2n ** 64n - 1n }), hex("0040 ffffffffffffffff"));
});

Deno.test("decodeProperties() is a 502 when cut at any byte or too long", () => {
  const full: Properties = {
    contentType: "text/plain",
    contentEncoding: "utf-8",
    headers: new Map([["k", { tag: "S", value: "v" }]]),
    deliveryMode: 2,
    priority: 1,
    correlationId: "c",
    replyTo: "r",
    expiration: "100",
    messageId: "m",
    timestamp: 1,
    type: "t",
    userId: "u",
    appId: "a",
    clusterId: "x",
  };
  const bytes = written((out) => writeProperties(out, full));
  assertEquals(decodeProperties(bytes, 0, bytes.length), full);
  for (let end = 0; end < bytes.length; end++) {
    const error = assertThrows(() => decodeProperties(bytes, 0, end), ConnectionError);
    assertEquals(error.code, 502);
  }
  const longer = Uint8Array.from([...bytes, 0]);
  assertThrows(() => decodeProperties(longer, 0, longer.length), ConnectionError, "surplus");
});

Deno.test("decodeProperties() is a 502 when a flag without a property is set", () => {
  for (const digits of ["0001 0000", "0002 00"]) {
    const bytes = hex(digits);
    assertThrows(() => decodeProperties(bytes, 0, bytes.length), ConnectionError, "flags");
  }
});

const ORACLE_PROPERTIES = fc.record({
  contentType: shortText,
  contentEncoding: shortText,
  headers: fc.dictionary(fc.constantFrom("a", "b"), fc.boolean()),
  deliveryMode: fc.nat(255),
  priority: fc.nat(255),
  correlationId: shortText,
  replyTo: shortText,
  expiration: shortText,
  messageId: shortText,
  timestamp: fc.nat(),
  type: shortText,
  userId: shortText,
  appId: shortText,
  clusterId: shortText,
}, { requiredKeys: [] });

function toOurs(fields: Record<string, unknown>): Properties {
  const { headers, ...rest } = fields;
  if (headers === undefined || headers === null) return rest as Properties;
  const entries = Object.entries(headers).map(([key, value]) =>
    [key, { tag: "t", value }] as const
  );
  return { ...rest, headers: new Map(entries) } as Properties;
}

Deno.test("ContentHeader and decodeProperties() read what amqplib writes", () => {
  const header = new ContentHeader();
  fc.assert(
    fc.property(ORACLE_PROPERTIES, fc.nat(), (fields, bodySize) => {
      const wire = oracle.encodeProperties(oracle.BasicProperties, 5, bodySize, fields);
      const [frame] = framesIn(wire);
      header.read(frame!.payload, 0, frame!.payload.length);
      assertEquals([frame!.type, frame!.channel, header.bodyByteCount], [2, 5, bodySize]);
      const { propertiesStart, propertiesEnd } = header;
      const decoded = decodeProperties(frame!.payload, propertiesStart, propertiesEnd);
      assertEquals(decoded, toOurs(fields));
    }),
    { seed: SEED, numRuns: 200 },
  );
});

Deno.test("writeHeaderFrame() writes what amqplib writes", () => {
  fc.assert(
    fc.property(ORACLE_PROPERTIES, fc.nat(), (fields, bodySize) => {
      const raw = written((out) => writeProperties(out, toOurs(fields)));
      const ours = written((out) => writeHeaderFrame(out, 5, bodySize, raw, 0, raw.length));
      const wire = oracle.encodeProperties(oracle.BasicProperties, 5, bodySize, fields);
      assertEquals(ours, new Uint8Array(wire));
    }),
    { seed: SEED, numRuns: 200 },
  );
});

Deno.test("amqplib reads the properties that writeProperties() writes", () => {
  fc.assert(
    fc.property(ORACLE_PROPERTIES, (fields) => {
      const ours = toOurs(fields);
      // amqplib's decoder begins at the body size, four bytes into the content header.
      const bytes = written((out) => {
        out.u64(0);
        writeProperties(out, ours);
      });
      const read = oracle.decode(oracle.BasicProperties, Buffers.from(bytes.subarray(8)));
      for (const [name, value] of Object.entries(fields)) assertEquals(read[name], value, name);
    }),
    { seed: SEED, numRuns: 200 },
  );
});
