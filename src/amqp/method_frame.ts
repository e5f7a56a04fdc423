// The envelope of a method frame, written around arguments whose size is known only afterwards. Used
// by the generated encoders; hot methods write their whole frame at once (hot_methods.ts).
//
//    0      1         3      7             11
//   +------+---------+------+-------------+-----------+------+
//   | type | channel | size | method key  | arguments | 0xCE |
//   +------+---------+------+-------------+-----------+------+
//                           |<---------- size ------->|

import type { ByteWriter } from "../lib/byte_writer.ts";
import { FRAME_END, FRAME_METHOD } from "./frame.ts";

/** Begins a method frame and returns where its size belongs. */
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
