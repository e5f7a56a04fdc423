// The envelope of a method frame, written around arguments whose size is known only afterwards. The
// generated encoders and the session's dispatch use it. Hot methods write their whole frame at once
// (hot_frames.ts, and the session for messages).
//
//    0      1         3      7             11
//   +------+---------+------+-------------+-----------+------+
//   | type | channel | size | method key  | arguments | 0xCE |
//   +------+---------+------+-------------+-----------+------+
//                           |<---------- size ------->|

import type { ByteWriter } from "../lib/byte_writer.ts";
import { readU32 } from "../lib/bytes.ts";
import { ConnectionError } from "./errors.ts";
import { FRAME_END, FRAME_METHOD, payloadSnippet } from "./frame.ts";
import { FRAME_ERROR } from "./reply_code.ts";

/** Bytes of a method's payload before its arguments: class and method id. */
export const METHOD_KEY_BYTES = 4;

/**
 * Returns the key of the method whose frame's payload is `bytes[start, end)`; 501 if it has none.
 */
export function readMethodKey(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < METHOD_KEY_BYTES) {
    const snippet = payloadSnippet(bytes, start, end);
    throw new ConnectionError(FRAME_ERROR, `type ${FRAME_METHOD}, ${snippet}: unknown_frame`);
  }
  return readU32(bytes, start);
}

/** Begins a method frame and returns the offset of its size. */
export function beginMethod(out: ByteWriter, channel: number, methodKey: number): number {
  out.u8(FRAME_METHOD);
  out.u16(channel);
  const at = out.reserve(4);
  out.u32(methodKey);
  return at;
}

/** Ends the frame that {@linkcode beginMethod} began at `at`. */
export function endMethod(out: ByteWriter, at: number): void {
  out.patchU32(at, out.byteCount - at - 4);
  out.u8(FRAME_END);
}
