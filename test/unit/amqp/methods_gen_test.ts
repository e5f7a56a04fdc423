// Tests of the generated method codec: fresh, in agreement with amqplib's definitions in both
// directions, and strict about length. Run by every unit test run.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { generate, GENERATED_URL, readDefinition } from "../../../scripts/generate_amqp.ts";
import { ConnectionError } from "../../../src/amqp/errors.ts";
import { fieldTableFrom } from "../../../src/amqp/field_json.ts";
import type { FieldTable } from "../../../src/amqp/field_value.ts";
import type { MethodCodec } from "../../../src/amqp/methods_gen.ts";
import {
  BASIC_PUBLISH,
  decodeBasicNack,
  decodeChannelOpenOk,
  decodeConnectionOpen,
  decodeQueueDeclare,
  METHODS,
  QUEUE_DECLARE,
  writeBasicNack,
  writeChannelOpenOk,
  writeConnectionOpen,
  writeQueueDeclare,
} from "../../../src/amqp/methods_gen.ts";
import { Buffers, oracle } from "./support/amqplib.ts";
import { shortText } from "./support/arbitraries.ts";
import { framesIn, hex, written } from "./support/wire.ts";

const SEED = 60;
const KEY_BYTES = 4;

Deno.test("methods_gen.ts is what the generator writes", () => {
  assert(
    readFileSync(GENERATED_URL, "utf8") === generate(readDefinition()),
    "run generate_amqp.ts",
  );
});

Deno.test("METHODS holds the keys that the protocol gives to class and method", () => {
  assertEquals(QUEUE_DECLARE, 50 * 65536 + 10);
  assertEquals(METHODS.get(BASIC_PUBLISH)?.name, "basic.publish");
  assertEquals(METHODS.get(BASIC_PUBLISH)?.hasContent, true);
  assertEquals(METHODS.get(QUEUE_DECLARE)?.isSynchronous, true);
});

// amqplib cannot write fractions from 2^50 on.
const FRACTIONS = fc.double({ noInteger: true, noNaN: true, min: -1e12, max: 1e12 });

const TABLES: fc.Arbitrary<Record<string, unknown>> = fc.dictionary(
  fc.constantFrom("a", "x-message-ttl", "é"),
  fc.oneof(fc.boolean(), shortText, fc.constant(null), FRACTIONS),
);

// Values of an argument as amqplib wants them.
const ORACLE_VALUES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  bit: fc.boolean(),
  octet: fc.nat(0xff),
  short: fc.nat(0xffff),
  long: fc.integer({ min: 0, max: 0xffff_ffff }),
  longlong: fc.integer({ min: 0, max: 0x7fff_ffff }),
  shortstr: shortText,
  longstr: fc.uint8Array().map((bytes) => Buffers.from(bytes)),
  table: TABLES,
};

// A value of amqplib's as ours.
function ours(type: string, value: unknown): unknown {
  if (type === "table") return fieldTableFrom(value as Parameters<typeof fieldTableFrom>[0]);
  return type === "longstr" ? new Uint8Array(value as Uint8Array) : value;
}

const COMPARED = [...METHODS.values()];

function oracleFields(method: MethodCodec): fc.Arbitrary<Record<string, unknown>> {
  const { args } = oracle.info(method.key);
  return fc.record(Object.fromEntries(args.map(({ name, type }) => [name, ORACLE_VALUES[type]!])));
}

// What we make of the fields amqplib wrote: reserved ones are skipped.
function expected(method: MethodCodec, fields: Record<string, unknown>, got: object): object {
  const { args } = oracle.info(method.key);
  const types = new Map(args.map(({ name, type }) => [name, type]));
  const names = Object.keys(got);
  return Object.fromEntries(names.map((name) => [name, ours(types.get(name)!, fields[name])]));
}

Deno.test("decoders read what amqplib writes, for every method", () => {
  for (const method of COMPARED) {
    fc.assert(
      fc.property(oracleFields(method), fc.nat(0xffff), (fields, channel) => {
        const [frame] = framesIn(oracle.encodeMethod(method.key, channel, fields));
        assert(frame !== undefined && frame.channel === channel);
        const decoded = method.decode(frame.payload, KEY_BYTES, frame.payload.length);
        assertEquals(decoded, expected(method, fields, decoded), method.name);
      }),
      { seed: SEED, numRuns: 25 },
    );
  }
});

function plain(value: unknown): unknown {
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([key, field]) => [key, field.value ?? null]));
  }
  return value instanceof Uint8Array ? Buffers.from(value) : value;
}

Deno.test("encoders write what amqplib reads, for every method", () => {
  for (const method of COMPARED) {
    fc.assert(
      fc.property(oracleFields(method), (fields) => {
        const wire = framesIn(oracle.encodeMethod(method.key, 7, fields))[0]!.payload;
        const args = method.decode(wire, KEY_BYTES, wire.length);
        const [frame] = framesIn(written((out) => method.write(out, 7, args)));
        const read = oracle.decode(method.key, Buffers.from(frame!.payload.subarray(KEY_BYTES)));
        for (const [name, value] of Object.entries(args)) {
          assertEquals(read[name], plain(value), `${method.name} ${name}`);
        }
      }),
      { seed: SEED, numRuns: 25 },
    );
  }
});

Deno.test("decoders give back what encoders write, for every method", () => {
  for (const method of COMPARED) {
    fc.assert(
      fc.property(oracleFields(method), (fields) => {
        const wire = framesIn(oracle.encodeMethod(method.key, 7, fields))[0]!.payload;
        const args = method.decode(wire, KEY_BYTES, wire.length);
        const again = framesIn(written((out) => method.write(out, 7, args)))[0]!.payload;
        assertEquals(method.decode(again, KEY_BYTES, again.length), args, method.name);
      }),
      { seed: SEED, numRuns: 10 },
    );
  }
});

Deno.test("decoders are a 502 that names the method when cut at any byte or too long", () => {
  for (const method of COMPARED) {
    const fields = fc.sample(oracleFields(method), { seed: SEED, numRuns: 1 })[0]!;
    const payload = framesIn(oracle.encodeMethod(method.key, 1, fields))[0]!.payload;
    for (let end = KEY_BYTES; end < payload.length; end++) {
      const error = assertThrows(() => method.decode(payload, KEY_BYTES, end), ConnectionError);
      assertEquals(error.code, 502, method.name);
      assertEquals(error.classId * 65536 + error.methodId, method.key);
    }
    const longer = Uint8Array.from([...payload, 0]);
    assertThrows(() => method.decode(longer, KEY_BYTES, longer.length), ConnectionError, "surplus");
  }
});

Deno.test("decodeQueueDeclare() is a 501 when the name is not UTF-8, as in RabbitMQ", () => {
  const bytes = hex("0000 01 ff 00 00000000");
  const error = assertThrows(() => decodeQueueDeclare(bytes, 0, bytes.length), ConnectionError);
  assertEquals(error.replyText, "FRAME_ERROR - Malformed UTF-8 in shortstr");
  assertEquals([error.classId, error.methodId], [50, 10]);
});

Deno.test("decodeQueueDeclare() blames the method when its table is beyond the limits", () => {
  const bytes = hex("0000 00 00 00000003 01 61 56");
  const limits = { depthMax: 32, bytesMax: 2 };
  const error = assertThrows(
    () => decodeQueueDeclare(bytes, 0, bytes.length, limits),
    ConnectionError,
  );
  assertEquals([error.code, error.classId, error.methodId], [502, 50, 10]);
});

Deno.test("decodeConnectionOpen() ignores what the protocol reserves", () => {
  const bytes = hex("01 2f  03 616263  01");
  assertEquals(decodeConnectionOpen(bytes, 0, bytes.length), { virtualHost: "/" });
  const channelOpenOk = hex("00000002 ffff");
  assertEquals(decodeChannelOpenOk(channelOpenOk, 0, channelOpenOk.length), {});
});

Deno.test("encoders use the protocol's defaults when arguments are left out", () => {
  const declare = framesIn(written((out) => writeQueueDeclare(out, 1, {})))[0]!.payload;
  assertEquals(declare, hex("0032 000a 0000 00 00 00000000"));
  const open = framesIn(written((out) => writeConnectionOpen(out, 0, "/")))[0]!.payload;
  assertEquals(open, hex("000a 0028 01 2f 00 00"));
  const openOk = framesIn(written((out) => writeChannelOpenOk(out, 1)))[0]!.payload;
  assertEquals(openOk, hex("0014 000b 00000000"));
});

Deno.test("writeBasicNack() packs its bits into one octet", () => {
  const payload =
    framesIn(written((out) => writeBasicNack(out, 1, 2 ** 40, false, true)))[0]!.payload;
  assertEquals(payload, hex("003c 0078 0000010000000000 02"));
  const args = { deliveryTag: 2 ** 40, multiple: false, requeue: true };
  assertEquals(decodeBasicNack(payload, KEY_BYTES, payload.length), args);
});

Deno.test("writeQueueDeclare() writes arguments that decode to the same table", () => {
  const args: FieldTable = fieldTableFrom({ "x-delayed-retry-min": 500, "x-list": [1, "a", null] });
  const payload = framesIn(written((out) => writeQueueDeclare(out, 1, { arguments: args })))[0]!
    .payload;
  assertEquals(decodeQueueDeclare(payload, KEY_BYTES, payload.length).arguments, args);
});
