// The access class, which 0-9-1 has removed: clients of its predecessors request a ticket before
// anything else. The frame switch calls it. As in RabbitMQ, any ticket gives access to everything.

import type { FrameParser } from "../../amqp/frame_parser.ts";
import {
  ACCESS_REQUEST,
  decodeAccessRequest,
  writeAccessRequestOk,
} from "../../amqp/methods_gen.ts";
import type { Channel } from "../channel.ts";
import { unimplemented } from "./unimplemented.ts";
import { argumentsStart } from "./arguments.ts";

const TICKET = 1;

/** Handles a method of the class. */
export function handleAccess(channel: Channel, key: number, frame: FrameParser): void {
  if (key !== ACCESS_REQUEST) throw unimplemented(key);
  decodeAccessRequest(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  writeAccessRequestOk(channel.connection.writer(), channel.number, TICKET);
}
