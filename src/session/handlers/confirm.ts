// The confirm class: confirm.select. The frame switch calls it. It sends no confirms: confirms.ts does,
// at the end of a turn.

import { ChannelError } from "../../amqp/errors.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";
import {
  CONFIRM_SELECT,
  decodeConfirmSelect,
  writeConfirmSelectOk,
} from "../../amqp/methods_gen.ts";
import { PRECONDITION_FAILED } from "../../amqp/reply_code.ts";
import type { Channel } from "../channel.ts";
import { unimplemented } from "./unimplemented.ts";
import { argumentsStart } from "./arguments.ts";

/** Handles a method of the class. */
export function handleConfirm(channel: Channel, key: number, frame: FrameParser): void {
  if (key !== CONFIRM_SELECT) throw unimplemented(key);
  const args = decodeConfirmSelect(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  if (channel.tx !== null) {
    throw new ChannelError(PRECONDITION_FAILED, "cannot switch from tx to confirm mode");
  }
  channel.confirms.isOn = true;
  if (!args.nowait) writeConfirmSelectOk(channel.connection.writer(), channel.number);
}
