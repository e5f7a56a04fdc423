// Tests of src/amqp/hot_methods.ts and content_header.ts: the in-place readers agree with the
// generated decoders and are as strict. Run by every unit test run.

import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ContentHeader } from "../../../src/amqp/content_header.ts";
import { ConnectionError } from "../../../src/amqp/errors.ts";
import { PublishArguments, SettleArguments } from "../../../src/amqp/hot_methods.ts";
import {
  decodeBasicNack,
  writeBasicAck,
  writeBasicNack,
  writeBasicPublish,
  writeBasicReject,
} from "../../../src/amqp/methods_gen.ts";
import { decodeText } from "../../../src/lib/text.ts";
import { shortText } from "./support/arbitraries.ts";
import { framesIn, hex, written } from "./support/wire.ts";

const SEED = 70;
const KEY_BYTES = 4;

Deno.test("PublishArguments.read() finds names and bits of any publish", () => {
  const args = new PublishArguments();
  fc.assert(
    fc.property(
      shortText,
      shortText,
      fc.boolean(),
      fc.boolean(),
      (exchange, routingKey, mandatory, immediate) => {
        const fields = { exchange, routingKey, mandatory, immediate };
        const { payload } = framesIn(written((out) => writeBasicPublish(out, 1, fields)))[0]!;
        args.read(payload, KEY_BYTES, payload.length);
        assertEquals(decodeText(payload, args.exchangeStart, args.exchangeEnd), exchange);
        assertEquals(decodeText(payload, args.routingKeyStart, args.routingKeyEnd), routingKey);
        assertEquals([args.mandatory, args.immediate], [mandatory, immediate]);
      },
    ),
    { seed: SEED },
  );
});

Deno.test("PublishArguments.read() is a 502 when cut at any byte or too long", () => {
  const bytes = hex("0000 02 6162 03 636465 01");
  const args = new PublishArguments();
  args.read(bytes, 0, bytes.length);
  for (let end = 0; end < bytes.length; end++) {
    const error = assertThrows(() => args.read(bytes, 0, end), ConnectionError);
    assertEquals([error.code, error.classId, error.methodId], [502, 60, 40]);
  }
  const longer = Uint8Array.from([...bytes, 0]);
  assertThrows(() => args.read(longer, 0, longer.length), ConnectionError);
});

Deno.test("SettleArguments reads ack, nack and reject as the generated decoders do", () => {
  const args = new SettleArguments();
  const tag = 2 ** 45 + 3;
  for (const first of [false, true]) {
    const ack = framesIn(written((out) => writeBasicAck(out, 1, tag, first)))[0]!.payload;
    args.readAck(ack, KEY_BYTES, ack.length);
    assertEquals([args.deliveryTag, args.multiple, args.requeue], [tag, first, false]);
    const reject = framesIn(written((out) => writeBasicReject(out, 1, tag, first)))[0]!.payload;
    args.readReject(reject, KEY_BYTES, reject.length);
    assertEquals([args.deliveryTag, args.multiple, args.requeue], [tag, false, first]);
    for (const requeue of [false, true]) {
      const nack = framesIn(written((out) => writeBasicNack(out, 1, tag, first, requeue)))[0]!
        .payload;
      args.readNack(nack, KEY_BYTES, nack.length);
      const decoded = decodeBasicNack(nack, KEY_BYTES, nack.length);
      assertEquals(decoded, { deliveryTag: tag, multiple: first, requeue });
      assertEquals([args.deliveryTag, args.multiple, args.requeue], [tag, first, requeue]);
    }
  }
});

Deno.test("SettleArguments is a 502 that names the method when the length is wrong", () => {
  const args = new SettleArguments();
  const bytes = new Uint8Array(10);
  for (const byteCount of [0, 8, 10]) {
    const ack = assertThrows(() => args.readAck(bytes, 0, byteCount), ConnectionError);
    assertEquals([ack.code, ack.methodId], [502, 80]);
    const nack = assertThrows(() => args.readNack(bytes, 0, byteCount), ConnectionError);
    assertEquals(nack.methodId, 120);
    const reject = assertThrows(() => args.readReject(bytes, 0, byteCount), ConnectionError);
    assertEquals(reject.methodId, 90);
  }
});

Deno.test("ContentHeader.read() finds size and properties", () => {
  const header = new ContentHeader();
  const bytes = hex("ff 003c 0000 0000000100000002 9000 01 61 02");
  header.read(bytes, 1, bytes.length);
  assertEquals(header.classId, 60);
  assertEquals(header.bodyByteCount, 2 ** 32 + 2);
  assertEquals([header.propertiesStart, header.propertiesEnd], [13, bytes.length]);
});

Deno.test("ContentHeader.read() is a 502 when the payload is too short for its flags", () => {
  const header = new ContentHeader();
  const bytes = new Uint8Array(14);
  header.read(bytes, 0, 14);
  for (let end = 0; end < 14; end++) {
    const error = assertThrows(() => header.read(bytes, 0, end), ConnectionError);
    assertEquals(error.code, 502);
  }
});
