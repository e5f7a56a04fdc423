// Chooses the handler of a frame by the connection's state, the channel, and the frame's type and
// method. It is one switch over numbers: the six frames that come per message are read in place, and
// every other method goes to the handler of its class. The connection calls it for each frame; it keeps
// no state.

import { ConnectionError } from "../../amqp/errors.ts";
import { FRAME_BODY, FRAME_HEADER, FRAME_HEARTBEAT, FRAME_METHOD } from "../../amqp/frame.ts";
import { payloadSnippet } from "../../amqp/frame.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";
import { readMethodKey } from "../../amqp/method_frame.ts";
import {
  BASIC_ACK,
  BASIC_NACK,
  BASIC_PUBLISH,
  BASIC_REJECT,
  CHANNEL_CLOSE,
  CHANNEL_CLOSE_OK,
  CHANNEL_OPEN,
  writeChannelCloseOk,
} from "../../amqp/methods_gen.ts";
import { CHANNEL_ERROR, COMMAND_INVALID, UNEXPECTED_FRAME } from "../../amqp/reply_code.ts";
import type { Channel } from "../channel.ts";
import type { Connection } from "../connection.ts";
import { STATE_RUNNING } from "../connection_state.ts";
import { handleAccess } from "./access.ts";
import { handleBasic } from "./basic.ts";
import { handleAck, handleNack, handleReject } from "./basic_settle.ts";
import { handleChannel, openChannel } from "./channel.ts";
import { handleConfirm } from "./confirm.ts";
import { handleConnection } from "./connection.ts";
import { handleExchange } from "./exchange.ts";
import { handleQueue } from "./queue.ts";
import { handleTx } from "./tx.ts";
import { ASSEMBLY_BODY, ASSEMBLY_HEADER, ASSEMBLY_IDLE } from "../publish_assembly.ts";
import { beginPublish, receiveBody, receiveHeader } from "../publishing.ts";
import { unimplemented } from "./unimplemented.ts";

const CLASS_ACCESS = 30;
const CLASS_BASIC = 60;
const CLASS_CHANNEL = 20;
const CLASS_CONFIRM = 85;
const CLASS_CONNECTION = 10;
const CLASS_EXCHANGE = 40;
const CLASS_QUEUE = 50;
const CLASS_TX = 90;

/** Handles the frame that `frame` shows. */
export function handleFrame(connection: Connection, frame: FrameParser): void {
  const channel = connection.channels[frame.channel];
  if (channel === undefined || connection.state !== STATE_RUNNING) {
    handleWithoutChannel(connection, frame);
    return;
  }
  switch (frame.type) {
    case FRAME_METHOD: {
      const key = methodKey(frame);
      connection.methodKey = key;
      if (channel.isClosing) return handleClosing(channel, key);
      if (channel.assembly.state !== ASSEMBLY_IDLE) throw expectedContent(channel);
      switch (key) {
        case BASIC_PUBLISH:
          return beginPublish(channel, frame);
        case BASIC_ACK:
          return handleAck(channel, frame);
        case BASIC_REJECT:
          return handleReject(channel, frame);
        case BASIC_NACK:
          return handleNack(channel, frame);
        default:
          return handleMethod(channel, key, frame);
      }
    }
    case FRAME_BODY:
      if (channel.isClosing) return;
      if (channel.assembly.state !== ASSEMBLY_BODY) throw expectedContent(channel);
      return receiveBody(channel, frame);
    case FRAME_HEADER:
      if (channel.isClosing) return;
      if (channel.assembly.state !== ASSEMBLY_HEADER) throw expectedContent(channel);
      return receiveHeader(channel, frame);
    default:
      throw unexpectedFrame(frame);
  }
}

function methodKey(frame: FrameParser): number {
  return readMethodKey(frame.buffer, frame.payloadStart, frame.payloadEnd);
}

function handleMethod(channel: Channel, key: number, frame: FrameParser): void {
  switch (key >>> 16) {
    case CLASS_BASIC:
      return handleBasic(channel, key, frame);
    case CLASS_QUEUE:
      return handleQueue(channel, key, frame);
    case CLASS_EXCHANGE:
      return handleExchange(channel, key, frame);
    case CLASS_CHANNEL:
      return handleChannel(channel, key, frame);
    case CLASS_CONFIRM:
      return handleConfirm(channel, key, frame);
    case CLASS_TX:
      return handleTx(channel, key, frame);
    case CLASS_ACCESS:
      return handleAccess(channel, key, frame);
    case CLASS_CONNECTION:
      throw new ConnectionError(COMMAND_INVALID, "connection method on a channel other than 0");
    default:
      throw unimplemented(key);
  }
}

// After we have sent channel.close, everything except the end of the channel is discarded.
function handleClosing(channel: Channel, key: number): void {
  const { connection } = channel;
  if (key === CHANNEL_CLOSE) writeChannelCloseOk(connection.writer(), channel.number);
  if (key === CHANNEL_CLOSE_OK) connection.removeChannel(channel);
}

function handleWithoutChannel(connection: Connection, frame: FrameParser): void {
  if (frame.channel === 0) {
    handleZero(connection, frame);
    return;
  }
  // There are no channels before the handshake is over or while the connection is closing.
  if (connection.state > STATE_RUNNING) return;
  if (frame.type === FRAME_HEARTBEAT || connection.state < STATE_RUNNING) {
    throw unexpectedFrame(frame);
  }
  const key = frame.type === FRAME_METHOD ? methodKey(frame) : 0;
  connection.methodKey = key;
  if (key === CHANNEL_OPEN) openChannel(connection, frame);
  // A close-ok may answer a close that crossed with one of ours; RabbitMQ's clients send it for closed
  // channels.
  else if (key !== CHANNEL_CLOSE_OK) {
    throw new ConnectionError(CHANNEL_ERROR, "expected 'channel.open'");
  }
}

function handleZero(connection: Connection, frame: FrameParser): void {
  if (frame.type === FRAME_HEARTBEAT) return;
  if (frame.type === FRAME_METHOD) {
    const key = methodKey(frame);
    connection.methodKey = key;
    handleConnection(connection, key, frame);
  } else if (connection.state <= STATE_RUNNING) throw unexpectedFrame(frame);
}

function unexpectedFrame(frame: FrameParser): ConnectionError {
  const snippet = payloadSnippet(frame.buffer, frame.payloadStart, frame.payloadEnd);
  return new ConnectionError(UNEXPECTED_FRAME, `type ${frame.type}, ${snippet}`);
}

function expectedContent(channel: Channel): ConnectionError {
  const { state } = channel.assembly;
  channel.connection.methodKey = state === ASSEMBLY_IDLE ? 0 : BASIC_PUBLISH;
  let detail = "expected method frame, got non method frame instead";
  if (state === ASSEMBLY_HEADER) {
    detail = "expected content header for class 60, got non content header frame instead";
  } else if (state === ASSEMBLY_BODY) {
    detail = "expected content body, got non content body frame instead";
  }
  return new ConnectionError(UNEXPECTED_FRAME, detail);
}
