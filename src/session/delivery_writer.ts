// Writes one delivery into an outbox: basic.deliver, content header, body frames. It is a hot path: the
// usual delivery reserves room once, copies its parts straight from the store's memory and allocates
// nothing. Answers to basic.get and returned messages are written by hot_frames.ts.
//
//   method  | 1 ch size | 60 60 | tag | delivery tag 64 | redelivered | exchange key | CE |
//   header  | 2 ch size | 60  0 | body size 64 | properties | CE |
//   body    | 3 ch size | at most frame_max - 8 bytes | CE |  as often as needed

import { CONTENT_HEADER_FIXED_BYTES } from "../amqp/content_header.ts";
import {
  BASIC_CLASS,
  FRAME_BODY,
  FRAME_END,
  FRAME_HEADER,
  FRAME_HEADER_BYTES,
  FRAME_METHOD,
  FRAME_OVERHEAD,
} from "../amqp/frame.ts";
import { DELIVERY_COUNT_KEY } from "../amqp/header_keys.ts";
import { BASIC_DELIVER } from "../amqp/methods_gen.ts";
import { writePropertiesWithLong, writePropertiesWithout } from "../amqp/rewrite_properties.ts";
import type { Consumer } from "../broker/queue/consumer.ts";
import type { Delivery } from "../broker/queue/delivery.ts";
import { assert } from "../lib/assert.ts";
import type { ByteWriter } from "../lib/byte_writer.ts";
import { copyBytes, putI64, putU16, putU32 } from "../lib/bytes.ts";
import type { Channel } from "./channel.ts";

// Class and method, length of the consumer tag, delivery tag, redelivered.
const DELIVER_FIXED_BYTES = 4 + 1 + 8 + 1;

/** Writes the delivery that `channel` has just numbered. */
export function writeDelivery(
  out: ByteWriter,
  channel: Channel,
  consumer: Consumer,
  delivery: Delivery,
): void {
  const { view } = delivery;
  const bodyBytes = view.bodyEnd - view.bodyStart;
  const frames = 2 + Math.ceil(bodyBytes / channel.connection.framePayloadMax);
  out.ensure(
    frames * FRAME_OVERHEAD + DELIVER_FIXED_BYTES + consumer.tagBytes.length + view.addressEnd -
      view.addressStart + CONTENT_HEADER_FIXED_BYTES + view.propertiesEnd - view.propertiesStart +
      bodyBytes,
  );
  putDeliver(out, channel, consumer, delivery);
  if (delivery.deliveryCount === 0 && !delivery.stripsDeliveryCount) {
    putHeader(out, channel, delivery);
  } else {
    writeCountedHeader(out, channel, delivery);
  }
  writeBody(out, channel, delivery);
}

function putEnvelope(
  bytes: Uint8Array,
  at: number,
  typeAndChannel: number,
  payloadBytes: number,
): number {
  bytes[at] = typeAndChannel >>> 16;
  putU16(bytes, at + 1, typeAndChannel & 0xffff);
  putU32(bytes, at + 3, payloadBytes);
  return at + FRAME_HEADER_BYTES;
}

// Functions that begin with "put" write where room has already been reserved.

function putDeliver(
  out: ByteWriter,
  channel: Channel,
  consumer: Consumer,
  delivery: Delivery,
): void {
  const { bytes } = out;
  const { view } = delivery;
  const tag = consumer.tagBytes;
  const payload = DELIVER_FIXED_BYTES + tag.length + view.addressEnd - view.addressStart;
  let at = putEnvelope(bytes, out.byteCount, (FRAME_METHOD << 16) | channel.number, payload);
  putU32(bytes, at, BASIC_DELIVER);
  bytes[at + 4] = tag.length;
  at += 5;
  for (let i = 0; i < tag.length; i++) bytes[at++] = tag[i]!;
  putI64(bytes, at, channel.deliveryTag);
  bytes[at + 8] = delivery.redelivered ? 1 : 0;
  at += 9;
  copyBytes(bytes, at, view.bytes, view.addressStart, view.addressEnd);
  at += view.addressEnd - view.addressStart;
  bytes[at] = FRAME_END;
  out.byteCount = at + 1;
}

function putHeader(out: ByteWriter, channel: Channel, delivery: Delivery): void {
  const { bytes } = out;
  const { view } = delivery;
  const propertyBytes = view.propertiesEnd - view.propertiesStart;
  const payload = CONTENT_HEADER_FIXED_BYTES + propertyBytes;
  assertFits(payload, channel);
  let at = putEnvelope(bytes, out.byteCount, (FRAME_HEADER << 16) | channel.number, payload);
  putU32(bytes, at, BASIC_CLASS << 16);
  putI64(bytes, at + 4, view.bodyEnd - view.bodyStart);
  at += CONTENT_HEADER_FIXED_BYTES;
  copyBytes(bytes, at, view.bytes, view.propertiesStart, view.propertiesEnd);
  at += propertyBytes;
  bytes[at] = FRAME_END;
  out.byteCount = at + 1;
}

// The broker's own x-delivery-count replaces or removes the one in the headers.
function writeCountedHeader(out: ByteWriter, channel: Channel, delivery: Delivery): void {
  const { view, deliveryCount } = delivery;
  const start = out.byteCount;
  const at = putEnvelope(out.bytes, start, (FRAME_HEADER << 16) | channel.number, 0);
  putU32(out.bytes, at, BASIC_CLASS << 16);
  putI64(out.bytes, at + 4, view.bodyEnd - view.bodyStart);
  out.byteCount = at + CONTENT_HEADER_FIXED_BYTES;
  const { properties } = channel.context;
  properties.set(view.bytes, view.propertiesStart, view.propertiesEnd);
  if (deliveryCount === 0) writePropertiesWithout(out, properties, DELIVERY_COUNT_KEY);
  else writePropertiesWithLong(out, properties, DELIVERY_COUNT_KEY, deliveryCount);
  const payload = out.byteCount - start - FRAME_HEADER_BYTES;
  assertFits(payload, channel);
  putU32(out.bytes, start + 3, payload);
  out.u8(FRAME_END);
}

// Dispatch has chosen a consumer that takes a header of this size.
function assertFits(payloadBytes: number, { connection }: Channel): void {
  assert(payloadBytes <= connection.framePayloadMax, "a content header larger than frame_max");
}

function writeBody(out: ByteWriter, channel: Channel, delivery: Delivery): void {
  const { view } = delivery;
  const typeAndChannel = (FRAME_BODY << 16) | channel.number;
  const bodyMax = channel.connection.framePayloadMax;
  let from = view.bodyStart;
  while (from < view.bodyEnd) {
    const payload = Math.min(view.bodyEnd - from, bodyMax);
    out.ensure(payload + FRAME_OVERHEAD);
    const at = putEnvelope(out.bytes, out.byteCount, typeAndChannel, payload);
    copyBytes(out.bytes, at, view.bytes, from, from + payload);
    out.bytes[at + payload] = FRAME_END;
    out.byteCount = at + payload + 1;
    from += payload;
  }
}
