// The frames of a message's content, header and body, written straight into an outbox from ranges of
// bytes. The session writes the method frame before them (message_writer.ts). It is a hot path: only
// the outbox may allocate, when it grows.
//
//   header  | 2 ch size | 60  0 | body size 64 | properties | CE |
//   body    | 3 ch size | at most frame_max - 8 bytes | CE |  as often as needed

// A range has three operands, and an object to hold them would be allocated per message.
// deno-lint-ignore-file reprise-shape/function-shape

import type { ByteWriter } from "../lib/byte_writer.ts";
import { copyBytes, putI64, putU16, putU32 } from "../lib/bytes.ts";
import { CONTENT_HEADER_FIXED_BYTES } from "./content_header.ts";
import {
  BASIC_CLASS,
  FRAME_BODY,
  FRAME_END,
  FRAME_HEADER,
  FRAME_HEADER_BYTES,
  FRAME_OVERHEAD,
} from "./frame.ts";
import { DELIVERY_COUNT_KEY } from "./header_keys.ts";
import type { RawProperties } from "./raw_properties.ts";
import { writePropertiesWithLong, writePropertiesWithout } from "./rewrite_properties.ts";

/**
 * Writes what comes before the payload of a frame, where room has been reserved, and returns where the
 * payload begins. `typeAndChannel` has the type above 16 bits for the channel.
 */
export function putEnvelope(
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

/** Writes a content header frame with the raw properties `bytes[start, end)`. */
export function writeHeaderFrame(
  out: ByteWriter,
  channel: number,
  bodyByteCount: number,
  properties: Uint8Array,
  start: number,
  end: number,
): void {
  const payload = CONTENT_HEADER_FIXED_BYTES + end - start;
  out.ensure(payload + FRAME_OVERHEAD);
  const { bytes } = out;
  let at = putEnvelope(bytes, out.byteCount, (FRAME_HEADER << 16) | channel, payload);
  putU32(bytes, at, BASIC_CLASS << 16);
  putI64(bytes, at + 4, bodyByteCount);
  at += CONTENT_HEADER_FIXED_BYTES;
  at = copyBytes(bytes, at, properties, start, end);
  bytes[at] = FRAME_END;
  out.byteCount = at + 1;
}

/**
 * Writes a content header frame with an x-delivery-count of the broker's own in place of any other. A
 * count of 0 leaves the header out.
 */
export function writeCountedHeaderFrame(
  out: ByteWriter,
  channel: number,
  bodyByteCount: number,
  properties: RawProperties,
  deliveryCount: number,
): void {
  const start = out.byteCount;
  out.ensure(FRAME_HEADER_BYTES + CONTENT_HEADER_FIXED_BYTES);
  const at = putEnvelope(out.bytes, start, (FRAME_HEADER << 16) | channel, 0);
  putU32(out.bytes, at, BASIC_CLASS << 16);
  putI64(out.bytes, at + 4, bodyByteCount);
  out.byteCount = at + CONTENT_HEADER_FIXED_BYTES;
  if (deliveryCount === 0) writePropertiesWithout(out, properties, DELIVERY_COUNT_KEY);
  else writePropertiesWithLong(out, properties, DELIVERY_COUNT_KEY, deliveryCount);
  putU32(out.bytes, start + 3, out.byteCount - start - FRAME_HEADER_BYTES);
  out.u8(FRAME_END);
}

/** Writes `body[start, end)` as frames with payloads of at most `payloadMax`; no frame for no bytes. */
export function writeBodyFrames(
  out: ByteWriter,
  channel: number,
  payloadMax: number,
  body: Uint8Array,
  start: number,
  end: number,
): void {
  const typeAndChannel = (FRAME_BODY << 16) | channel;
  let from = start;
  while (from < end) {
    const payload = Math.min(end - from, payloadMax);
    out.ensure(payload + FRAME_OVERHEAD);
    const { bytes } = out;
    const at = putEnvelope(bytes, out.byteCount, typeAndChannel, payload);
    copyBytes(bytes, at, body, from, from + payload);
    bytes[at + payload] = FRAME_END;
    out.byteCount = at + payload + 1;
    from += payload;
  }
}
