// Generators of field values, tables and properties for property tests, every AMQP type included, in
// the canonical form that decoding gives. Test code only.

import fc from "fast-check";
import { decodeTextStrict, encodeText } from "../../../../src/lib/text.ts";
import type { FieldTable, FieldValue, WholeNumber } from "../../../../src/amqp/field_value.ts";
import { wholeNumber } from "../../../../src/amqp/field_value.ts";
import type { Properties } from "../../../../src/amqp/properties.ts";

function fitsShortString(text: string): boolean {
  return encodeText(text).length <= 255;
}

/** Text that a short string can hold. */
export const shortText: fc.Arbitrary<string> = fc.string({ unit: "binary", maxLength: 80 })
  .filter(fitsShortString);

function wholeNumbers(min: bigint, max: bigint): fc.Arbitrary<WholeNumber> {
  const edges = fc.constantFrom(min, max, 2n ** 53n, 2n ** 53n - 1n, 0n);
  return fc.oneof(edges, fc.bigInt({ min, max })).map(wholeNumber);
}

const notUtf8 = fc.uint8Array({ maxLength: 40 })
  .filter((bytes) => decodeTextStrict(bytes, 0, bytes.length) === undefined);

function integers(tag: "b" | "B" | "s" | "u" | "I" | "i", min: number, max: number) {
  return fc.integer({ min, max }).map((value): FieldValue => ({ tag, value }));
}

const leaf: fc.Arbitrary<FieldValue> = fc.oneof(
  fc.boolean().map((value): FieldValue => ({ tag: "t", value })),
  integers("b", -0x80, 0x7f),
  integers("B", 0, 0xff),
  integers("s", -0x8000, 0x7fff),
  integers("u", 0, 0xffff),
  integers("I", -0x8000_0000, 0x7fff_ffff),
  integers("i", 0, 0xffff_ffff),
  wholeNumbers(-(2n ** 63n), 2n ** 63n - 1n).map((value): FieldValue => ({ tag: "l", value })),
  wholeNumbers(-(2n ** 63n), 2n ** 63n - 1n).map((value): FieldValue => ({ tag: "L", value })),
  fc.float().map((value): FieldValue => ({ tag: "f", value })),
  fc.double().map((value): FieldValue => ({ tag: "d", value })),
  fc.tuple(fc.nat(255), fc.integer({ min: 0, max: 0xffff_ffff }))
    .map(([scale, value]): FieldValue => ({ tag: "D", scale, value })),
  wholeNumbers(0n, 2n ** 64n - 1n).map((value): FieldValue => ({ tag: "T", value })),
  fc.string({ unit: "binary" }).map((value): FieldValue => ({ tag: "S", value })),
  notUtf8.map((value): FieldValue => ({ tag: "S", value })),
  fc.uint8Array().map((value): FieldValue => ({ tag: "x", value })),
  fc.constant<FieldValue>({ tag: "V" }),
);

function tableOf(values: fc.Arbitrary<FieldValue>): fc.Arbitrary<FieldTable> {
  return fc.array(fc.tuple(shortText, values), { maxLength: 6 }).map((entries) => new Map(entries));
}

const tied = fc.letrec<{ value: FieldValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 5 }).map((value): FieldValue => ({ tag: "A", value })),
    tableOf(tie("value")).map((value): FieldValue => ({ tag: "F", value })),
  ),
}));

/** Any field value, nested ones included. */
export const fieldValue: fc.Arbitrary<FieldValue> = tied.value;

/** Any field table. */
export const fieldTable: fc.Arbitrary<FieldTable> = tableOf(tied.value);

/** Any set of properties. */
export const properties: fc.Arbitrary<Properties> = fc.record({
  contentType: shortText,
  contentEncoding: shortText,
  headers: fieldTable,
  deliveryMode: fc.nat(255),
  priority: fc.nat(255),
  correlationId: shortText,
  replyTo: shortText,
  expiration: shortText,
  messageId: shortText,
  timestamp: wholeNumbers(0n, 2n ** 64n - 1n),
  type: shortText,
  userId: shortText,
  appId: shortText,
  clusterId: shortText,
}, { requiredKeys: [] });
