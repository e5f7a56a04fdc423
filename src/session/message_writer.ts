// Writes one message into an outbox: a delivery, the answer to basic.get, or a message that goes back to
// its publisher. It is a hot path: the usual delivery reserves room once, copies its parts straight from
// the store's memory and allocates nothing. The content is written by amqp/content_frames.ts.
//
//   deliver | 1 ch size | 60 60 | tag | delivery tag 64 | redelivered | exchange key | CE |
//   get-ok  | 1 ch size | 60 71 | delivery tag 64 | redelivered | exchange key | count 32 | CE |
//   return  | 1 ch size | 60 50 | code 16 | text | exchange key | CE |

import {
  putEnvelope,
  writeBodyFrames,
  writeCountedHeaderFrame,
  writeHeaderFrame,
} from "../amqp/content_frames.ts";
import { CONTENT_HEADER_FIXED_BYTES } from "../amqp/content_header.ts";
import { FRAME_END, FRAME_METHOD, FRAME_OVERHEAD } from "../amqp/frame.ts";
import { BASIC_DELIVER, BASIC_GET_OK, BASIC_RETURN } from "../amqp/methods_gen.ts";
import type { RawProperties } from "../amqp/raw_properties.ts";
import { NO_ROUTE, replyCodeName } from "../amqp/reply_code.ts";
import type { MessageSource } from "../broker/publish/publisher.ts";
import type { Consumer } from "../broker/queue/consumer.ts";
import type { Delivery } from "../broker/queue/delivery.ts";
import { assert } from "../lib/assert.ts";
import type { ByteWriter } from "../lib/byte_writer.ts";
import { copyBytes, putI64, putU16, putU32 } from "../lib/bytes.ts";
import { encodeText } from "../lib/text.ts";
import type { Channel } from "./channel.ts";

// Class and method, length of the consumer tag, delivery tag, redelivered.
const DELIVER_FIXED_BYTES = 4 + 1 + 8 + 1;
// Class and method, delivery tag, redelivered, message count.
const GET_OK_FIXED_BYTES = 4 + 8 + 1 + 4;
// Class and method, reply code, length of the reply text.
const RETURN_FIXED_BYTES = 4 + 2 + 1;
const NO_ROUTE_TEXT = encodeText(replyCodeName(NO_ROUTE));

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
  writeContent(out, channel, delivery);
}

// Room has already been reserved.
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
  at = copyBytes(bytes, at, view.bytes, view.addressStart, view.addressEnd);
  bytes[at] = FRAME_END;
  out.byteCount = at + 1;
}

/** Writes the answer to basic.get that `channel` has just numbered; `readyCount` is what is left. */
export function writeGetOk(
  out: ByteWriter,
  channel: Channel,
  delivery: Delivery,
  readyCount: number,
): void {
  const { view } = delivery;
  const payload = GET_OK_FIXED_BYTES + view.addressEnd - view.addressStart;
  out.ensure(payload + FRAME_OVERHEAD);
  const { bytes } = out;
  let at = putEnvelope(bytes, out.byteCount, (FRAME_METHOD << 16) | channel.number, payload);
  putU32(bytes, at, BASIC_GET_OK);
  putI64(bytes, at + 4, channel.deliveryTag);
  bytes[at + 12] = delivery.redelivered ? 1 : 0;
  at += 13;
  at = copyBytes(bytes, at, view.bytes, view.addressStart, view.addressEnd);
  putU32(bytes, at, readyCount);
  bytes[at + 4] = FRAME_END;
  out.byteCount = at + 5;
  writeContent(out, channel, delivery);
}

// The broker's own x-delivery-count replaces or removes the one in the headers.
function writeContent(out: ByteWriter, channel: Channel, delivery: Delivery): void {
  const { view, deliveryCount } = delivery;
  const { number, connection } = channel;
  const bodyBytes = view.bodyEnd - view.bodyStart;
  const start = out.byteCount;
  if (deliveryCount === 0 && !delivery.stripsDeliveryCount) {
    writeHeaderFrame(out, number, bodyBytes, view.bytes, view.propertiesStart, view.propertiesEnd);
  } else {
    const { properties } = channel.context;
    properties.set(view.bytes, view.propertiesStart, view.propertiesEnd);
    writeCountedHeaderFrame(out, number, bodyBytes, properties, deliveryCount);
  }
  // Dispatch has chosen a consumer that takes a header of this size.
  const payload = out.byteCount - start - FRAME_OVERHEAD;
  assert(payload <= connection.framePayloadMax, "a content header larger than frame_max");
  const { framePayloadMax } = connection;
  writeBodyFrames(out, number, framePayloadMax, view.bytes, view.bodyStart, view.bodyEnd);
}

/** Writes a message that no queue has taken, with the properties that its publisher may see. */
export function writeReturn(
  out: ByteWriter,
  channel: Channel,
  source: MessageSource,
  properties: RawProperties,
): void {
  const { number, connection } = channel;
  const { address, addressStart, addressEnd, body, bodyStart, bodyEnd } = source;
  const payload = RETURN_FIXED_BYTES + NO_ROUTE_TEXT.length + addressEnd - addressStart;
  out.ensure(payload + FRAME_OVERHEAD);
  const { bytes } = out;
  let at = putEnvelope(bytes, out.byteCount, (FRAME_METHOD << 16) | number, payload);
  putU32(bytes, at, BASIC_RETURN);
  putU16(bytes, at + 4, NO_ROUTE);
  bytes[at + 6] = NO_ROUTE_TEXT.length;
  at = copyBytes(bytes, at + 7, NO_ROUTE_TEXT, 0, NO_ROUTE_TEXT.length);
  at = copyBytes(bytes, at, address, addressStart, addressEnd);
  bytes[at] = FRAME_END;
  out.byteCount = at + 1;
  const { start, end } = properties;
  writeHeaderFrame(out, number, bodyEnd - bodyStart, properties.bytes, start, end);
  writeBodyFrames(out, number, connection.framePayloadMax, body, bodyStart, bodyEnd);
}
