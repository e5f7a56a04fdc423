// Deliveries as bytes, read back by an independent parser.

import { assertEquals } from "@std/assert";
import type { Properties } from "../../../src/amqp/properties.ts";
import { writeProperties } from "../../../src/amqp/properties.ts";
import type { Consumer } from "../../../src/broker/queue/consumer.ts";
import { Delivery } from "../../../src/broker/queue/delivery.ts";
import { ByteWriter } from "../../../src/lib/byte_writer.ts";
import { encodeText } from "../../../src/lib/text.ts";
import type { Channel } from "../../../src/session/channel.ts";
import { writeDelivery } from "../../../src/session/delivery_writer.ts";
import { RawProperties } from "../../../src/amqp/raw_properties.ts";
import { AmqpClient } from "../../support/amqp_client.ts";
import type { Message } from "../../support/client_channel.ts";
import { toMessage } from "../../support/client_channel.ts";
import { table } from "../../support/test_broker.ts";

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

function written(given: Given): { message: Message; bodyFrameBytes: number[] } {
  const out = new ByteWriter();
  const channel = {
    number: 259,
    deliveryTag: given.deliveryTag ?? 1,
    connection: { framePayloadMax: given.payloadMax ?? 131_064 },
    context: { properties: new RawProperties() },
  } as unknown as Channel;
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
