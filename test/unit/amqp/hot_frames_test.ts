// Tests of src/amqp/hot_frames.ts: the frames written by hand are those the generated encoders write,
// bodies are cut at frame_max, and x-delivery-count is set, removed or left alone. Run by every unit
// test run.

import { assert, assertEquals } from "@std/assert";
import { ContentHeader } from "../../../src/amqp/content_header.ts";
import { fieldTableFrom } from "../../../src/amqp/field_json.ts";
import {
  OutgoingMessage,
  UNCOUNTED,
  writeAck,
  writeContent,
  writeGetOk,
  writeHeartbeat,
  writeNack,
  writeReturn,
} from "../../../src/amqp/hot_frames.ts";
import {
  writeBasicAck,
  writeBasicGetOk,
  writeBasicNack,
  writeBasicReturn,
} from "../../../src/amqp/methods_gen.ts";
import type { Properties } from "../../../src/amqp/properties.ts";
import { decodeProperties, writeProperties } from "../../../src/amqp/properties.ts";
import { encodeText } from "../../../src/lib/text.ts";
import type { FrameCopy } from "./support/wire.ts";
import { framesIn, hex, written } from "./support/wire.ts";

const EXCHANGE = "événements";
const ROUTING_KEY = "a.very.long.routing.key.that.takes.the.other.way.of.copying.bytes";
const CHANNEL = 513;

function messageOf(properties: Properties, body: Uint8Array): OutgoingMessage {
  const address = written((out) => {
    out.u8(9);
    out.shortString(EXCHANGE);
    out.shortString(ROUTING_KEY);
    out.u8(9);
  });
  const raw = written((out) => {
    out.u16(0xffff);
    writeProperties(out, properties);
  });
  const message = new OutgoingMessage();
  message.channel = CHANNEL;
  message.deliveryTag = 2 ** 33 + 5;
  message.address = address;
  message.addressStart = 1;
  message.addressEnd = address.length - 1;
  message.properties = raw;
  message.propertiesStart = 2;
  message.propertiesEnd = raw.length;
  message.body = Uint8Array.from([7, ...body, 7]);
  message.bodyStart = 1;
  message.bodyEnd = 1 + body.length;
  message.framePayloadMax = 4088;
  return message;
}

function propertiesIn(frame: FrameCopy): Properties {
  const header = new ContentHeader();
  header.read(frame.payload, 0, frame.payload.length);
  return decodeProperties(frame.payload, header.propertiesStart, header.propertiesEnd);
}

Deno.test("writeGetOk() writes the get-ok frame of the generated encoder and the content", () => {
  const properties: Properties = { contentType: "text/plain", deliveryMode: 2 };
  const message = messageOf(properties, encodeText("hello"));
  message.redelivered = true;
  const frames = framesIn(written((out) => writeGetOk(out, message, 70_000)));
  const method = framesIn(written((out) =>
    writeBasicGetOk(out, CHANNEL, {
      deliveryTag: 2 ** 33 + 5,
      redelivered: true,
      exchange: EXCHANGE,
      routingKey: ROUTING_KEY,
      messageCount: 70_000,
    })
  ));
  assertEquals(frames.length, 3);
  assertEquals(frames[0], method[0]);
  assertEquals([frames[1]!.type, frames[1]!.channel], [2, CHANNEL]);
  assertEquals(propertiesIn(frames[1]!), properties);
  assertEquals(frames[2], { type: 3, channel: CHANNEL, payload: encodeText("hello") });
});

Deno.test("writeReturn() writes the return frame of the generated encoder and the content", () => {
  const message = messageOf({ priority: 1 }, new Uint8Array(0));
  const frames = framesIn(written((out) => writeReturn(out, message, 312, encodeText("NO_ROUTE"))));
  const method = framesIn(written((out) =>
    writeBasicReturn(out, CHANNEL, {
      replyCode: 312,
      replyText: "NO_ROUTE",
      exchange: EXCHANGE,
      routingKey: ROUTING_KEY,
    })
  ));
  assertEquals(frames[0], method[0]);
  assertEquals(propertiesIn(frames[1]!), { priority: 1 });
});

Deno.test("writeContent() writes no body frame when the body is empty", () => {
  const frames = framesIn(written((out) => writeContent(out, messageOf({}, new Uint8Array(0)))));
  assertEquals(frames.map((frame) => frame.type), [2]);
});

Deno.test("writeContent() cuts the body at the largest payload", () => {
  for (const byteCount of [1, 4087, 4088, 4089, 8176, 8177, 20_000]) {
    const body = Uint8Array.from({ length: byteCount }, (_, i) => i * 31);
    const frames = framesIn(written((out) => writeContent(out, messageOf({}, body))));
    const header = new ContentHeader();
    header.read(frames[0]!.payload, 0, frames[0]!.payload.length);
    assertEquals(header.bodyByteCount, byteCount);
    const payloads = frames.slice(1).map((frame) => frame.payload);
    assertEquals(payloads.length, Math.ceil(byteCount / 4088));
    assert(payloads.every((payload) => payload.length <= 4088));
    assertEquals(Uint8Array.from(payloads.flatMap((payload) => [...payload])), body);
  }
});

function writtenProperties(properties: Properties, deliveryCount: number): Properties {
  const message = messageOf(properties, encodeText("x"));
  message.deliveryCount = deliveryCount;
  const frames = framesIn(written((out) => writeContent(out, message)));
  assertEquals(frames.length, 2);
  return propertiesIn(frames[0]!);
}

Deno.test("writeContent() sets x-delivery-count when the message was delivered before", () => {
  const headers = fieldTableFrom({ "x-delivery-count": 3 });
  assertEquals(writtenProperties({}, 3), { headers });
  assertEquals(writtenProperties({ appId: "a" }, 3), { appId: "a", headers });
  const published = fieldTableFrom({ "x-delivery-count": "forged", other: 1 });
  const expected = fieldTableFrom({ other: 1, "x-delivery-count": 3 });
  assertEquals(writtenProperties({ headers: published }, 3), { headers: expected });
});

Deno.test("writeContent() removes x-delivery-count when it is the first delivery", () => {
  const published = fieldTableFrom({ "x-delivery-count": 9, other: 1 });
  const expected = fieldTableFrom({ other: 1 });
  assertEquals(writtenProperties({ headers: published }, 0), { headers: expected });
  assertEquals(writtenProperties({ appId: "a" }, 0), { appId: "a" });
});

Deno.test("writeContent() leaves x-delivery-count alone when the queue does not count", () => {
  const headers = fieldTableFrom({ "x-delivery-count": 9 });
  assertEquals(writtenProperties({ headers }, UNCOUNTED), { headers });
});

Deno.test("writeGetOk() appends whole frames when the writer is full of others", () => {
  const message = messageOf({ contentType: "x" }, encodeText("body"));
  const one = written((out) => writeGetOk(out, message, 1));
  const many = written((out) => {
    for (let i = 0; i < 50; i++) writeGetOk(out, message, 1);
  });
  assertEquals(many.length, 50 * one.length);
  assertEquals(many.slice(49 * one.length), one);
});

Deno.test("writeAck() and writeNack() write the frames of the generated encoders", () => {
  for (const multiple of [false, true]) {
    assertEquals(
      written((out) => writeAck(out, CHANNEL, 2 ** 40, multiple)),
      written((out) => writeBasicAck(out, CHANNEL, 2 ** 40, multiple)),
    );
    assertEquals(
      written((out) => writeNack(out, CHANNEL, 2 ** 40, multiple)),
      written((out) => writeBasicNack(out, CHANNEL, 2 ** 40, multiple, false)),
    );
  }
});

Deno.test("writeHeartbeat() writes an empty frame of type 8 on channel 0", () => {
  assertEquals(written(writeHeartbeat), hex("08 0000 00000000 ce"));
});
