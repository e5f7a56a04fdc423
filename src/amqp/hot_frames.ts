// Frames that leave once per message besides deliveries, written straight into the outbox from
// ranges of the store's memory: get-ok and return with their content, publisher confirms,
// heartbeats. The session calls it; its delivery_writer.ts writes deliveries. Only the outbox may
// allocate when it grows. All other methods are in methods_gen.ts.

import type { ByteWriter } from "../lib/byte_writer.ts";
import { copyBytes, EMPTY_BYTES, putI64, putU16, putU32 } from "../lib/bytes.ts";
import { CONTENT_HEADER_FIXED_BYTES } from "./content_header.ts";
import {
  BASIC_CLASS,
  FRAME_BODY,
  FRAME_END,
  FRAME_HEADER,
  FRAME_HEADER_BYTES,
  FRAME_HEARTBEAT,
  FRAME_MAX_MIN,
  FRAME_METHOD,
  FRAME_OVERHEAD,
} from "./frame.ts";
import { DELIVERY_COUNT_KEY } from "./header_keys.ts";
import { BASIC_ACK, BASIC_GET_OK, BASIC_NACK, BASIC_RETURN } from "./methods_gen.ts";
import { RawProperties } from "./raw_properties.ts";
import { writePropertiesWithLong, writePropertiesWithout } from "./rewrite_properties.ts";

/** `deliveryCount` of a queue that does not count: the header stays as published. */
export const UNCOUNTED = -1;

/** One message on its way out. Its owner reuses the record: it sets every field, then writes. */
export class OutgoingMessage {
  /** Channel of the frames. */
  channel = 0;
  /** Delivery tag, for get-ok. */
  deliveryTag = 0;
  /** The redelivered bit, for get-ok. */
  redelivered = false;
  /**
   * The value of x-delivery-count. A count above 0 sets the header, 0 removes it (the first
   * delivery has none), {@linkcode UNCOUNTED} leaves the properties alone.
   */
  deliveryCount: number = UNCOUNTED;
  /**
   * The bytes that hold the address: exchange and routing key as two short strings, as in every
   * method.
   */
  address: Uint8Array = EMPTY_BYTES;
  /** Where the address begins in `address`. */
  addressStart = 0;
  /** Where the address ends in `address`. */
  addressEnd = 0;
  /** The bytes that hold the raw properties; often the same as `address`. */
  properties: Uint8Array = EMPTY_BYTES;
  /** Where the raw properties begin in `properties`, at their flag word. */
  propertiesStart = 0;
  /** Where the raw properties end in `properties`. */
  propertiesEnd = 0;
  /** The bytes that hold the body; often the same as `address`. */
  body: Uint8Array = EMPTY_BYTES;
  /** Where the body begins in `body`. */
  bodyStart = 0;
  /** Where the body ends in `body`. */
  bodyEnd = 0;
  /** Payload bytes of the largest frame to send: frame_max − 8. */
  framePayloadMax: number = FRAME_MAX_MIN - FRAME_OVERHEAD;
  /** Working space of the writers below. */
  readonly scratch: RawProperties = new RawProperties();
}

// The helpers below write where the caller has already made room.

function putEnvelope(
  bytes: Uint8Array,
  at: number,
  typeAndChannel: number,
  payloadByteCount: number,
): number {
  bytes[at] = typeAndChannel >>> 16;
  putU16(bytes, at + 1, typeAndChannel & 0xffff);
  putU32(bytes, at + 3, payloadByteCount);
  return at + FRAME_HEADER_BYTES;
}

function putAddress(bytes: Uint8Array, at: number, message: OutgoingMessage): number {
  const { address, addressStart, addressEnd } = message;
  copyBytes(bytes, at, address, addressStart, addressEnd);
  return at + addressEnd - addressStart;
}

/** Writes the content header frame for a body of `bodyByteCount` bytes. */
export function writeContentHeader(
  out: ByteWriter,
  message: OutgoingMessage,
  bodyByteCount: number,
): void {
  const start = out.byteCount;
  const propertyByteCount = message.propertiesEnd - message.propertiesStart;
  out.ensure(FRAME_OVERHEAD + CONTENT_HEADER_FIXED_BYTES + propertyByteCount);
  const bytes = out.bytes;
  const at = putEnvelope(bytes, start, (FRAME_HEADER << 16) | message.channel, 0);
  putU32(bytes, at, BASIC_CLASS << 16);
  putI64(bytes, at + 4, bodyByteCount);
  out.byteCount = at + CONTENT_HEADER_FIXED_BYTES;
  writeOutgoingProperties(out, message);
  putU32(out.bytes, start + 3, out.byteCount - start - FRAME_HEADER_BYTES);
  out.u8(FRAME_END);
}

function writeOutgoingProperties(out: ByteWriter, message: OutgoingMessage): void {
  const { properties, propertiesStart, propertiesEnd, deliveryCount, scratch } = message;
  if (deliveryCount === UNCOUNTED) {
    out.range(properties, propertiesStart, propertiesEnd);
    return;
  }
  scratch.set(properties, propertiesStart, propertiesEnd);
  if (deliveryCount === 0) writePropertiesWithout(out, scratch, DELIVERY_COUNT_KEY);
  else writePropertiesWithLong(out, scratch, DELIVERY_COUNT_KEY, deliveryCount);
}

/** Writes the bytes from `bodyStart` to `bodyEnd` as body frames; no frame for no bytes. */
function writeBodyFrames(out: ByteWriter, message: OutgoingMessage): void {
  const { body, bodyEnd, framePayloadMax } = message;
  const typeAndChannel = (FRAME_BODY << 16) | message.channel;
  let from = message.bodyStart;
  while (from < bodyEnd) {
    const payload = Math.min(bodyEnd - from, framePayloadMax);
    out.ensure(payload + FRAME_OVERHEAD);
    const bytes = out.bytes;
    const at = putEnvelope(bytes, out.byteCount, typeAndChannel, payload);
    copyBytes(bytes, at, body, from, from + payload);
    bytes[at + payload] = FRAME_END;
    out.byteCount = at + payload + 1;
    from += payload;
  }
}

/** Writes content header and whole body. */
export function writeContent(out: ByteWriter, message: OutgoingMessage): void {
  writeContentHeader(out, message, message.bodyEnd - message.bodyStart);
  writeBodyFrames(out, message);
}

/** Writes the answer to basic.get: get-ok, header and whole body. */
export function writeGetOk(out: ByteWriter, message: OutgoingMessage, messageCount: number): void {
  const payload = 4 + 8 + 1 + message.addressEnd - message.addressStart + 4;
  out.ensure(payload + FRAME_OVERHEAD);
  const bytes = out.bytes;
  let at = putEnvelope(bytes, out.byteCount, (FRAME_METHOD << 16) | message.channel, payload);
  putU32(bytes, at, BASIC_GET_OK);
  putI64(bytes, at + 4, message.deliveryTag);
  bytes[at + 12] = message.redelivered ? 1 : 0;
  at = putAddress(bytes, at + 13, message);
  putU32(bytes, at, messageCount);
  bytes[at + 4] = FRAME_END;
  out.byteCount = at + 5;
  writeContent(out, message);
}

/** Writes a returned message: basic.return with code and text, header and whole body. */
export function writeReturn(
  out: ByteWriter,
  message: OutgoingMessage,
  replyCode: number,
  replyText: Uint8Array,
): void {
  const payload = 4 + 2 + 1 + replyText.length + message.addressEnd - message.addressStart;
  out.ensure(payload + FRAME_OVERHEAD);
  const bytes = out.bytes;
  let at = putEnvelope(bytes, out.byteCount, (FRAME_METHOD << 16) | message.channel, payload);
  putU32(bytes, at, BASIC_RETURN);
  putU16(bytes, at + 4, replyCode);
  bytes[at + 6] = replyText.length;
  copyBytes(bytes, at + 7, replyText, 0, replyText.length);
  at = putAddress(bytes, at + 7 + replyText.length, message);
  bytes[at] = FRAME_END;
  out.byteCount = at + 1;
  writeContent(out, message);
}

// basic.ack and basic.nack have the same layout.
function writeSettle(out: ByteWriter, typeAndChannel: number, key: number, tag: number): void {
  const payload = 4 + 8 + 1;
  out.ensure(payload + FRAME_OVERHEAD);
  const bytes = out.bytes;
  const at = putEnvelope(bytes, out.byteCount, typeAndChannel, payload);
  putU32(bytes, at, key);
  putI64(bytes, at + 4, tag);
  bytes[at + 12] = 0;
  bytes[at + 13] = FRAME_END;
  out.byteCount = at + 14;
}

/** Writes basic.ack as a publisher confirm. */
export function writeAck(
  out: ByteWriter,
  channel: number,
  deliveryTag: number,
  multiple: boolean,
): void {
  writeSettle(out, (FRAME_METHOD << 16) | channel, BASIC_ACK, deliveryTag);
  if (multiple) out.bytes[out.byteCount - 2] = 1;
}

/** Writes basic.nack as a publisher confirm. Its requeue bit means nothing there and is clear. */
export function writeNack(
  out: ByteWriter,
  channel: number,
  deliveryTag: number,
  multiple: boolean,
): void {
  writeSettle(out, (FRAME_METHOD << 16) | channel, BASIC_NACK, deliveryTag);
  if (multiple) out.bytes[out.byteCount - 2] = 1;
}

/** Writes a heartbeat frame. */
export function writeHeartbeat(out: ByteWriter): void {
  out.ensure(FRAME_OVERHEAD);
  const at = putEnvelope(out.bytes, out.byteCount, FRAME_HEARTBEAT << 16, 0);
  out.bytes[at] = FRAME_END;
  out.byteCount = at + 1;
}
