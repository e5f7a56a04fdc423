// The channel class: open, flow, close. The frame switch calls it, and decides which frames a closing
// channel discards.

import { ConnectionError } from "../../amqp/errors.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";
import {
  CHANNEL_CLOSE,
  CHANNEL_CLOSE_OK,
  CHANNEL_FLOW,
  CHANNEL_OPEN,
  decodeChannelClose,
  decodeChannelFlow,
  decodeChannelOpen,
  writeChannelCloseOk,
  writeChannelFlowOk,
  writeChannelOpenOk,
} from "../../amqp/methods_gen.ts";
import { CHANNEL_ERROR, NOT_ALLOWED, NOT_IMPLEMENTED } from "../../amqp/reply_code.ts";
import { assert } from "../../lib/assert.ts";
import { Channel } from "../channel.ts";
import type { Connection } from "../connection.ts";
import { STATE_CLOSING } from "../connection_state.ts";
import { unimplemented } from "./unimplemented.ts";
import { argumentsStart } from "./arguments.ts";

/** channel.open on a number that is not in use. */
export function openChannel(connection: Connection, frame: FrameParser): void {
  decodeChannelOpen(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  const { channel: number } = frame;
  if (number > connection.channelMax) {
    const detail = `channel number ${number} is above the negotiated channel_max` +
      ` (${connection.channelMax})`;
    throw new ConnectionError(NOT_ALLOWED, detail);
  }
  assert(connection.vhost !== null, "channel opened before the connection");
  connection.channels[number] = new Channel(connection, connection.vhost, number);
  connection.channelCount++;
  connection.context.broker.metrics.channelsOpened++;
  writeChannelOpenOk(connection.writer(), number);
}

/** Handles a method of the class on an open channel. */
export function handleChannel(channel: Channel, key: number, frame: FrameParser): void {
  const { connection, number } = channel;
  const { buffer, payloadEnd } = frame;
  const start = argumentsStart(frame);
  switch (key) {
    case CHANNEL_CLOSE:
      decodeChannelClose(buffer, start, payloadEnd);
      channel.release();
      connection.removeChannel(channel);
      // A client that is told that its channel is closed must find the messages back in their queues.
      connection.context.settling.whenDone(connection, () => {
        if (connection.state < STATE_CLOSING) writeChannelCloseOk(connection.writer(), number);
      });
      return;
    case CHANNEL_FLOW:
      if (!decodeChannelFlow(buffer, start, payloadEnd).active) {
        throw new ConnectionError(NOT_IMPLEMENTED, "active=false");
      }
      writeChannelFlowOk(connection.writer(), number, true);
      return;
    case CHANNEL_OPEN:
      throw new ConnectionError(CHANNEL_ERROR, "second 'channel.open' seen");
    case CHANNEL_CLOSE_OK:
      return;
    default:
      throw unimplemented(key);
  }
}
