// Messages as bytes, read back by an independent parser and compared with the generated encoders.

import { assertEquals } from "@std/assert";
import type { Properties } from "../../../src/amqp/properties.ts";
import { decodeProperties, writeProperties } from "../../../src/amqp/properties.ts";
import { ContentHeader } from "../../../src/amqp/content_header.ts";
import { writeBasicGetOk, writeBasicReturn } from "../../../src/amqp/methods_gen.ts";
import { emptySource } from "../../../src/store/views.ts";
import type { Consumer } from "../../../src/broker/queue/consumer.ts";
import { Delivery } from "../../../src/broker/queue/delivery.ts";
import { ByteWriter } from "../../../src/lib/byte_writer.ts";
import { encodeText } from "../../../src/lib/text.ts";
import type { Channel } from "../../../src/session/channel.ts";
import { writeDelivery, writeGetOk, writeReturn } from "../../../src/session/message_writer.ts";
import { RawProperties } from "../../../src/amqp/raw_properties.ts";
import { AmqpClient } from "../../support/amqp_client.ts";
import type { Message } from "../../support/client_channel.ts";
import { toMessage } from "../../support/client_channel.ts";
import { table } from "../../support/test_broker.ts";
import type { FrameCopy } from "../amqp/support/wire.ts";
import { framesIn, rawProperties, written as bytesOf } from "../amqp/support/wire.ts";

// Long enough for the other way of copying bytes.
const LONG_KEY = "a.very.long.routing.key.that.takes.the.other.way.of.copying.bytes";

interface Given {
  body?: Uint8Array;
  properties?: Properties;
  exchange?: string;
  key?: string;
  tag?: string;
  deliveryTag?: number;
  payloadMax?: number;
  redelivered?: boolean;
  count?: number;
  strips?: boolean;
}

// A record that does not begin at 0, so that offsets matter.
function deliveryOf(given: Given): Delivery {
  const out = new ByteWriter();
  out.all(Uint8Array.of(9, 9, 9));
  const delivery = new Delivery();
  const { view } = delivery;
  view.addressStart = out.byteCount;
  out.shortString(given.exchange ?? "");
  out.shortString(given.key ?? "key");
  view.addressEnd = view.propertiesStart = out.byteCount;
  writeProperties(out, given.properties ?? {});
  view.propertiesEnd = view.bodyStart = out.byteCount;
  out.all(given.body ?? new Uint8Array(0));
  view.bodyEnd = out.byteCount;
  out.u8(7);
  view.bytes = out.copy();
  delivery.redelivered = given.redelivered ?? false;
  delivery.deliveryCount = given.count ?? 0;
  delivery.stripsDeliveryCount = given.strips ?? false;
  return delivery;
}

function channelOf(given: Given): Channel {
  return {
    number: 259,
    deliveryTag: given.deliveryTag ?? 1,
    connection: { framePayloadMax: given.payloadMax ?? 131_064 },
    context: { properties: new RawProperties() },
  } as unknown as Channel;
}

function written(given: Given): { message: Message; bodyFrameBytes: number[] } {
  const out = new ByteWriter();
  const channel = channelOf(given);
  const consumer = { tagBytes: encodeText(given.tag ?? "c") } as unknown as Consumer;
  writeDelivery(out, channel, consumer, deliveryOf(given));
  const client = new AmqpClient();
  client.received(out.copy());
  assertEquals(client.inbox.length, 1);
  assertEquals(client.inbox[0]!.channel, 259);
  return { message: toMessage(client.inbox[0]!), bodyFrameBytes: client.bodyFrameBytes };
}

Deno.test("writeDelivery() writes every part where it belongs", () => {
  const properties = { contentType: "text/plain", headers: table({ a: 1 }), appId: "app" };
  const { message } = written({
    body: encodeText("hello"),
    properties,
    exchange: "amq.topic",
    key: "a.b.c",
    tag: "amq.ctag-é",
    deliveryTag: 2 ** 40 + 3,
    redelivered: true,
  });
  assertEquals(message, {
    tag: 2 ** 40 + 3,
    consumerTag: "amq.ctag-é",
    redelivered: true,
    exchange: "amq.topic",
    routingKey: "a.b.c",
    properties,
    body: "hello",
    bytes: encodeText("hello"),
    messageCount: 0,
    replyCode: 0,
  });
});

Deno.test("writeDelivery() writes no body frame for an empty body", () => {
  const { message, bodyFrameBytes } = written({});
  assertEquals([message.body, bodyFrameBytes], ["", []]);
});

Deno.test("writeDelivery() cuts bodies around the largest payload", () => {
  for (const size of [1, 99, 100, 101, 199, 200, 201, 1000]) {
    const body = Uint8Array.from({ length: size }, (_, i) => i & 0xff);
    const { message, bodyFrameBytes } = written({ body, payloadMax: 100 });
    assertEquals(message.bytes, body);
    assertEquals(bodyFrameBytes.length, Math.ceil(size / 100));
    assertEquals(Math.max(...bodyFrameBytes), Math.min(size, 100));
  }
});

Deno.test("writeDelivery() takes names of 255 bytes", () => {
  const long = "k".repeat(255);
  const { message } = written({ exchange: long, key: long, tag: long });
  assertEquals([message.exchange, message.routingKey, message.consumerTag], [long, long, long]);
});

Deno.test("writeDelivery() sets x-delivery-count in place of any other", () => {
  const body = new Uint8Array(500);
  const forged = { headers: table({ x: "y", "x-delivery-count": 77 }), type: "t" };
  const counted = { headers: table({ x: "y", "x-delivery-count": 3 }), type: "t" };
  assertEquals(written({ body, properties: forged, count: 3 }).message.properties, counted);
  const none = { type: "t" };
  const added = { headers: table({ "x-delivery-count": 1 }), type: "t" };
  assertEquals(written({ body, properties: none, count: 1 }).message.properties, added);
});

Deno.test("writeDelivery() removes a forged x-delivery-count from a first delivery", () => {
  const forged = { headers: table({ x: "y", "x-delivery-count": 77 }), type: "t" };
  const stripped = { headers: table({ x: "y" }), type: "t" };
  assertEquals(written({ properties: forged, strips: true }).message.properties, stripped);
  assertEquals(written({ properties: forged }).message.properties, forged);
});

function getOk(given: Given, messageCount = 0): FrameCopy[] {
  const out = new ByteWriter();
  writeGetOk(out, channelOf(given), deliveryOf(given), messageCount);
  return framesIn(out.copy());
}

Deno.test("writeGetOk() writes the get-ok of the generated encoder and the content of a delivery", () => {
  for (const key of ["k", LONG_KEY]) {
    const given = { exchange: "événements", key, deliveryTag: 2 ** 33 + 5, redelivered: true };
    const generated = bytesOf((out) =>
      writeBasicGetOk(out, 259, {
        deliveryTag: 2 ** 33 + 5,
        redelivered: true,
        exchange: "événements",
        routingKey: key,
        messageCount: 70_000,
      })
    );
    const body = encodeText("hello");
    const frames = getOk({ ...given, body, count: 2 }, 70_000);
    assertEquals(frames[0], framesIn(generated)[0]);
    const delivery = new ByteWriter();
    const consumer = { tagBytes: encodeText("c") } as unknown as Consumer;
    const delivered = { ...given, body, count: 2 };
    writeDelivery(delivery, channelOf(given), consumer, deliveryOf(delivered));
    assertEquals(frames.slice(1), framesIn(delivery.copy()).slice(1));
  }
});

Deno.test("writeGetOk() appends whole frames when the writer is full of others", () => {
  const given = { body: encodeText("body"), properties: { contentType: "x" } };
  const one = bytesOf((out) => writeGetOk(out, channelOf(given), deliveryOf(given), 1));
  const many = bytesOf((out) => {
    for (let i = 0; i < 50; i++) writeGetOk(out, channelOf(given), deliveryOf(given), 1);
  });
  assertEquals(many.length, 50 * one.length);
  assertEquals(many.slice(49 * one.length), one);
});

Deno.test("writeReturn() writes the return of the generated encoder, the properties and the body", () => {
  const { view } = deliveryOf({ exchange: "events", key: LONG_KEY, body: encodeText("body") });
  const source = {
    ...emptySource(),
    address: view.bytes,
    addressStart: view.addressStart,
    addressEnd: view.addressEnd,
    body: view.bytes,
    bodyStart: view.bodyStart,
    bodyEnd: view.bodyEnd,
  };
  const properties = rawProperties({ priority: 1 });
  const frames = framesIn(bytesOf((out) => writeReturn(out, channelOf({}), source, properties)));
  const generated = bytesOf((out) =>
    writeBasicReturn(out, 259, {
      replyCode: 312,
      replyText: "NO_ROUTE",
      exchange: "events",
      routingKey: LONG_KEY,
    })
  );
  assertEquals(frames.map(({ type }) => type), [1, 2, 3]);
  assertEquals(frames[0], framesIn(generated)[0]);
  const header = new ContentHeader();
  const { payload } = frames[1]!;
  header.read(payload, 0, payload.length);
  assertEquals(header.bodyByteCount, 4);
  const { propertiesStart, propertiesEnd } = header;
  assertEquals(decodeProperties(payload, propertiesStart, propertiesEnd), { priority: 1 });
  assertEquals(frames[2]!.payload, encodeText("body"));
});
