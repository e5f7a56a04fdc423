// The start of the arguments in a method frame, after the class and method ids. All files of this
// folder use it; it decides nothing.

import { METHOD_KEY_BYTES } from "../../amqp/method_frame.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";

/** Returns where the arguments of the method in `frame` begin. */
export function argumentsStart(frame: FrameParser): number {
  return frame.payloadStart + METHOD_KEY_BYTES;
}
