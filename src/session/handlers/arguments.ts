// What all handlers share about a method frame: where its arguments begin behind class and method id.
// Used by every file of this folder. Decides nothing.

import { METHOD_KEY_BYTES } from "../../amqp/method_frame.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";

/** Where the arguments of the method begin that `frame` shows, after class and method id. */
export function argumentsStart(frame: FrameParser): number {
  return frame.payloadStart + METHOD_KEY_BYTES;
}
