// Frames without content that leave often: publisher confirms and heartbeats, written straight into
// the outbox. The session calls it; only the outbox may allocate, when it grows. Messages are written
// by content_frames.ts and the session, all other methods by methods_gen.ts.

import type { ByteWriter } from "../lib/byte_writer.ts";
import { putI64, putU32 } from "../lib/bytes.ts";
import { putEnvelope } from "./content_frames.ts";
import { FRAME_END, FRAME_HEARTBEAT, FRAME_METHOD, FRAME_OVERHEAD } from "./frame.ts";
import { BASIC_ACK, BASIC_NACK } from "./methods_gen.ts";

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
