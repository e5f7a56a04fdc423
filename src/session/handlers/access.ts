// The access class, which 0-9-1 has given up: clients of its predecessors ask for a ticket before they do
// anything. Called by the frame switch. Any ticket opens everything, as in RabbitMQ.

import type { FrameParser } from "../../amqp/frame_parser.ts";
import {
  ACCESS_REQUEST,
  decodeAccessRequest,
  writeAccessRequestOk,
} from "../../amqp/methods_gen.ts";
import type { Channel } from "../channel.ts";
import { unimplemented } from "../unimplemented.ts";
import { argumentsStart } from "./arguments.ts";

const TICKET = 1;

/** Acts on a method of the class. */
export function handleAccess(channel: Channel, key: number, frame: FrameParser): void {
  if (key !== ACCESS_REQUEST) throw unimplemented(key);
  decodeAccessRequest(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  writeAccessRequestOk(channel.connection.writer(), channel.number, TICKET);
}
