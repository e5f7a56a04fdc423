// Fuzzing of the wire layer with random bytes and mutated valid streams: whatever comes in, the codec
// throws ConnectionError or nothing, ends, and does not depend on how the bytes were split. The seed
// of a failing round is in its message. Run by `deno task test` and CI; deterministic.

import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { ContentHeader } from "../../src/amqp/content_header.ts";
import { ConnectionError } from "../../src/amqp/errors.ts";
import { decodeFieldTable, decodeFieldValue } from "../../src/amqp/field_table.ts";
import { fieldTableFrom, fieldTableToJson } from "../../src/amqp/field_json.ts";
import { FRAME_HEADER, FRAME_METHOD } from "../../src/amqp/frame.ts";
import { FrameParser } from "../../src/amqp/frame_parser.ts";
import { PublishArguments, SettleArguments } from "../../src/amqp/hot_methods.ts";
import { METHOD_KEY_BYTES, readMethodKey } from "../../src/amqp/method_frame.ts";
import { METHODS } from "../../src/amqp/methods_gen.ts";
import * as methods from "../../src/amqp/methods_gen.ts";
import { decodeProperties, writeProperties } from "../../src/amqp/properties.ts";
import { RawProperties } from "../../src/amqp/raw_properties.ts";
import { tableKey } from "../../src/amqp/raw_table.ts";
import {
  rewriteProperties,
  writePropertiesWithLong,
  writePropertiesWithout,
} from "../../src/amqp/rewrite_properties.ts";
import { decodeAmqplain, decodePlain } from "../../src/amqp/sasl.ts";
import { ByteWriter } from "../../src/lib/byte_writer.ts";
import { Prng } from "../../src/lib/prng.ts";

const ROUNDS = 2000;
const FRAME_MAX = 4096;
const KEY = tableKey("x-delivery-count");

/** Runs `read`; a ConnectionError is an answer, anything else fails the test. */
function outcome<T>(read: () => T): T | ConnectionError {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConnectionError) return error;
    throw error;
  }
}

function inRound(seed: number, check: (prng: Prng) => void): void {
  try {
    check(new Prng(seed));
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.stack : error}`);
  }
}

function randomBytes(prng: Prng, byteCountMax: number): Uint8Array {
  return Uint8Array.from({ length: prng.nextBelow(byteCountMax + 1) }, () => prng.nextBelow(256));
}

// Bytes that look like AMQP: small lengths, known tags and ASCII come more often.
function plausibleBytes(prng: Prng, byteCountMax: number): Uint8Array {
  const likely = [
    0,
    0,
    0,
    1,
    2,
    3,
    4,
    8,
    0x61,
    0xce,
    ...new TextEncoder().encode("tbBsuIilLfdDSATFVx"),
  ];
  const pick = () =>
    prng.nextBelow(5) === 0 ? prng.nextBelow(256) : likely[prng.nextBelow(likely.length)]!;
  return Uint8Array.from({ length: prng.nextBelow(byteCountMax + 1) }, pick);
}

function checkTables(bytes: Uint8Array): void {
  const table = outcome(() => decodeFieldTable(bytes, 0, bytes.length));
  if (!(table instanceof ConnectionError)) JSON.stringify(fieldTableToJson(table));
  outcome(() => decodeFieldValue(bytes, 0, bytes.length));
  outcome(() => decodePlain(bytes));
  outcome(() => decodeAmqplain(bytes));
}

function checkMethods(bytes: Uint8Array): void {
  for (const method of METHODS.values()) outcome(() => method.decode(bytes, 0, bytes.length));
  const publish = new PublishArguments();
  const settle = new SettleArguments();
  outcome(() => publish.read(bytes, 0, bytes.length));
  assertLessOrEqual(publish.exchangeEnd, bytes.length);
  assertLessOrEqual(publish.routingKeyEnd, bytes.length);
  outcome(() => settle.readAck(bytes, 0, bytes.length));
  outcome(() => settle.readNack(bytes, 0, bytes.length));
  outcome(() => settle.readReject(bytes, 0, bytes.length));
}

// Properties that pass the check must survive everything that is done to them later.
function checkAccepted(raw: RawProperties): void {
  const decoded = decodeProperties(raw.bytes, raw.start, raw.end);
  const out = new ByteWriter();
  writePropertiesWithLong(out, raw, KEY, 5);
  const again = new RawProperties();
  again.set(out.bytes, 0, out.byteCount);
  again.check();
  assertEquals(again.header(KEY), { tag: "l", value: 5 });
  out.reset();
  writePropertiesWithout(out, raw, KEY);
  again.set(out.bytes, 0, out.byteCount);
  again.check();
  assert(!again.findHeader(KEY));
  out.reset();
  rewriteProperties(out, raw, {});
  assertEquals(out.copy(), new Uint8Array(raw.bytes.subarray(raw.start, raw.end)));
  out.reset();
  writeProperties(
    out,
    decoded.headers === undefined ? decoded : { ...decoded, headers: new Map() },
  );
}

function checkProperties(bytes: Uint8Array): void {
  const raw = new RawProperties();
  const isAccepted = outcome(() => {
    raw.set(bytes, 0, bytes.length);
    raw.check();
    return true;
  }) === true;
  const decoded = outcome(() => decodeProperties(bytes, 0, bytes.length));
  assertEquals(isAccepted, !(decoded instanceof ConnectionError));
  if (isAccepted) {
    checkAccepted(raw);
    return;
  }
  outcome(() => raw.findHeader(KEY));
  outcome(() => raw.header(KEY));
  outcome(() => raw.priority());
  outcome(() => writePropertiesWithLong(new ByteWriter(), raw, KEY, 1));
  outcome(() => writePropertiesWithout(new ByteWriter(), raw, KEY));
  outcome(() => rewriteProperties(new ByteWriter(), raw, { removeHeaders: [KEY] }));
}

Deno.test("decoders throw nothing but ConnectionError when bytes are random", () => {
  for (let seed = 0; seed < ROUNDS; seed++) {
    inRound(seed, (prng) => {
      const bytes = seed % 2 === 0 ? randomBytes(prng, 80) : plausibleBytes(prng, 80);
      checkTables(bytes);
      checkMethods(bytes);
      checkProperties(bytes);
    });
  }
});

// A valid stream: methods of every kind with what follows them.
function validStream(): Uint8Array {
  const out = new ByteWriter();
  const args = fieldTableFrom({ "x-delayed-retry-min": 500, list: [1, "two", { three: null }] });
  methods.writeConnectionStartOk(out, 0, { clientProperties: args, mechanism: "PLAIN" });
  methods.writeConnectionTuneOk(out, 0, 2047, FRAME_MAX, 60);
  methods.writeChannelOpen(out, 1);
  methods.writeQueueDeclare(out, 1, { queue: "jobs", durable: true, arguments: args });
  methods.writeBasicConsume(out, 1, { queue: "jobs", consumerTag: "c", arguments: args });
  for (let i = 1; i < 4; i++) {
    methods.writeBasicPublish(out, 1, { exchange: "amq.topic", routingKey: "a.b" });
    writeContent(out, i * 20);
    methods.writeBasicNack(out, 1, i, false, true);
  }
  methods.writeConnectionClose(out, 0, { replyCode: 200, replyText: "bye" });
  return out.copy();
}

function writeContent(out: ByteWriter, bodyByteCount: number): void {
  const headers = fieldTableFrom({ "x-delivery-count": 1, CC: ["a", "b"] });
  const properties = new ByteWriter();
  writeProperties(properties, {
    contentType: "text/plain",
    headers,
    deliveryMode: 2,
    timestamp: 1,
  });
  out.u8(2);
  out.u16(1);
  out.u32(12 + properties.byteCount);
  out.u32(60 << 16);
  out.u64(bodyByteCount);
  out.range(properties.bytes, 0, properties.byteCount);
  out.u8(0xce);
  out.u8(3);
  out.u16(1);
  out.u32(bodyByteCount);
  out.all(new Uint8Array(bodyByteCount).fill(0xce));
  out.u8(0xce);
}

const VALID = validStream();

// A few bytes changed, removed, doubled or inserted.
function mutated(prng: Prng): Uint8Array {
  let bytes = [...VALID];
  for (let i = prng.nextBelow(4); i >= 0; i--) {
    const at = prng.nextBelow(bytes.length);
    const length = prng.nextBelow(9);
    switch (prng.nextBelow(4)) {
      case 0:
        bytes[at] = prng.nextBelow(256);
        break;
      case 1:
        bytes.splice(at, length);
        break;
      case 2:
        bytes.splice(at, 0, ...bytes.slice(at, at + length));
        break;
      default:
        bytes = bytes.slice(0, at).concat([...randomBytes(prng, 8)], bytes.slice(at));
    }
  }
  return Uint8Array.from(bytes);
}

function handle(parser: FrameParser): string {
  const { type, channel, buffer, payloadStart, payloadEnd } = parser;
  const payload = buffer.subarray(payloadStart, payloadEnd);
  if (type === FRAME_METHOD) {
    const key = readMethodKey(buffer, payloadStart, payloadEnd);
    METHODS.get(key)?.decode(buffer, payloadStart + METHOD_KEY_BYTES, payloadEnd);
  } else if (type === FRAME_HEADER) {
    const header = new ContentHeader();
    header.read(buffer, payloadStart, payloadEnd);
    const raw = new RawProperties();
    raw.set(buffer, header.propertiesStart, header.propertiesEnd);
    raw.check();
    checkAccepted(raw);
  }
  return `${type} ${channel} ${payload.join()}`;
}

// What a session would see: the frames, then the error that ends the connection, if any.
function session(stream: Uint8Array, nextByteCount: () => number): string[] {
  const parser = new FrameParser();
  parser.frameMax = FRAME_MAX;
  const seen: string[] = [];
  for (let at = 0; at < stream.length;) {
    const end = Math.min(at + nextByteCount(), stream.length);
    const chunk = new Uint8Array(stream.subarray(at, end));
    at = end;
    const error = outcome(() => {
      parser.push(chunk, 0, chunk.length);
      while (parser.next()) seen.push(handle(parser));
    });
    chunk.fill(0xaa);
    assertLessOrEqual(parser.storageByteCount, 2 * (FRAME_MAX + 8));
    if (error instanceof ConnectionError) return [...seen, error.replyText];
  }
  return seen;
}

Deno.test("FrameParser and decoders see the same when a mutated stream is split differently", () => {
  for (let seed = 0; seed < ROUNDS / 2; seed++) {
    inRound(seed, (prng) => {
      const stream = seed === 0 ? VALID : mutated(prng);
      const whole = session(stream, () => stream.length);
      assertEquals(session(stream, () => 1 + prng.nextBelow(40)), whole);
      assertEquals(session(stream, () => 1), whole);
    });
  }
});

Deno.test("FrameParser throws nothing but ConnectionError when the stream is random", () => {
  for (let seed = 0; seed < ROUNDS; seed++) {
    inRound(seed, (prng) => {
      const stream = seed % 2 === 0 ? randomBytes(prng, 200) : plausibleBytes(prng, 200);
      const whole = session(stream, () => 200);
      assertEquals(session(stream, () => 1 + prng.nextBelow(20)), whole);
    });
  }
});
