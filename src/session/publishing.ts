// The way of a publish through a channel: its three kinds of frames, then the broker, then the answers
// to the client (return, confirm). It is a hot path: the usual publish is not copied here and allocates
// nothing. The broker stores and routes.

import { ChannelError, ConnectionError } from "../amqp/errors.ts";
import { CONTENT_HEADER_FIXED_BYTES } from "../amqp/content_header.ts";
import { BASIC_CLASS, FRAME_OVERHEAD } from "../amqp/frame.ts";
import type { FrameParser } from "../amqp/frame_parser.ts";
import { BCC_KEY } from "../amqp/header_keys.ts";
import { METHOD_KEY_BYTES } from "../amqp/method_frame.ts";
import { BASIC_PUBLISH } from "../amqp/methods_gen.ts";
import { PROPERTY_REPLY_TO, PROPERTY_USER_ID, readPropertyFlags } from "../amqp/properties.ts";
import type { RawProperties } from "../amqp/raw_properties.ts";
import {
  NOT_IMPLEMENTED,
  PRECONDITION_FAILED,
  RESOURCE_ERROR,
  UNEXPECTED_FRAME,
} from "../amqp/reply_code.ts";
import { writePropertiesWithout } from "../amqp/rewrite_properties.ts";
import { publishHeaderBytesMax } from "../broker/queue/header_size.ts";
import type { MessageSource } from "../broker/publish/publisher.ts";
import {
  PUBLISH_LOGGED,
  PUBLISH_OVERFLOWED,
  PUBLISH_REFUSED,
  PUBLISH_ROUTED,
} from "../broker/publish/publisher.ts";
import { REPLY_QUEUE } from "../broker/names.ts";
import { mayClaim } from "../broker/access/users.ts";
import { ByteWriter } from "../lib/byte_writer.ts";
import { rangeEquals } from "../lib/bytes.ts";
import { encodeText } from "../lib/text.ts";
import type { Channel } from "./channel.ts";
import type { SessionContext } from "./context.ts";
import { SAFE_AT_TURN_END } from "./confirms.ts";
import { block } from "./blocking.ts";
import { writeReturn } from "./message_writer.ts";
import type { Transaction } from "./tx.ts";

// What a queue that takes a message costs of a turn's input: a small message to many is a lot of work.
const BYTES_PER_QUEUE = 64;
const REPLY_QUEUE_BYTES = encodeText(REPLY_QUEUE);

/** Handles basic.publish. */
export function beginPublish(channel: Channel, frame: FrameParser): void {
  const { context, connection, assembly } = channel;
  const args = context.publishArguments;
  args.read(frame.buffer, frame.payloadStart + METHOD_KEY_BYTES, frame.payloadEnd);
  if (args.immediate) throw new ConnectionError(NOT_IMPLEMENTED, "immediate=true");
  assembly.mandatory = args.mandatory;
  assembly.begin(frame.buffer, args.exchangeStart - 1, args.routingKeyEnd);
  attach(channel);
  if (context.blockReason !== null) block(connection, context.blockReason);
}

// At most one unfinished publish points into the input. A frame that spans chunks cannot be pointed at.
function attach(channel: Channel): void {
  const { connection } = channel;
  if (!connection.input.isFrameInChunk) {
    channel.detach();
    return;
  }
  if (connection.attached !== channel) {
    connection.attached?.detach();
    connection.attached = channel;
  }
}

/** Handles a content header that was expected. */
export function receiveHeader(channel: Channel, frame: FrameParser): void {
  const { context, connection, assembly } = channel;
  const header = context.contentHeader;
  connection.methodKey = BASIC_PUBLISH;
  header.read(frame.buffer, frame.payloadStart, frame.payloadEnd);
  if (header.classId !== BASIC_CLASS) {
    const detail = `expected content header for class 60, got one for class ${header.classId}` +
      " instead";
    throw new ConnectionError(UNEXPECTED_FRAME, detail);
  }
  checkHeaderSize(context, frame.payloadEnd - frame.payloadStart);
  const flags = readPropertyFlags(frame.buffer, header.propertiesStart, header.propertiesEnd);
  const limit = context.limits.messageBytesMax;
  if (header.bodyByteCount > limit) {
    const detail = `message size ${header.bodyByteCount} is larger than configured max size` +
      ` ${limit}`;
    throw new ChannelError(PRECONDITION_FAILED, detail);
  }
  if ((flags & PROPERTY_USER_ID) !== 0) checkUserId(channel, frame.buffer);
  if ((flags & PROPERTY_REPLY_TO) !== 0) checkReplyTo(channel, frame.buffer);
  assembly.header(frame.buffer, header);
  if (assembly.expectBody(header.bodyByteCount)) return publish(channel);
  attach(channel);
  // A body that fits into one frame is complete when it arrives, so it is never held.
  if (header.bodyByteCount > connection.frameMax) context.unfinished.begins(connection);
}

// Refuses a message that no client could be given.
function checkHeaderSize({ limits }: SessionContext, headerBytes: number): void {
  const headerBytesMax = publishHeaderBytesMax(limits);
  if (headerBytes <= headerBytesMax) return;
  const detail =
    `message header of ${headerBytes} bytes is larger than the ${headerBytesMax} bytes` +
    ` that a frame_max of ${limits.frameBytesMax} leaves room for`;
  throw new ChannelError(PRECONDITION_FAILED, detail);
}

// The property must name the login that the broker has checked. A user with the tag impersonator may
// use any name.
function checkUserId(channel: Channel, bytes: Uint8Array): void {
  const { properties, contentHeader } = channel.context;
  properties.set(bytes, contentHeader.propertiesStart, contentHeader.propertiesEnd);
  const claimed = properties.text(PROPERTY_USER_ID);
  const user = channel.connection.user!;
  if (mayClaim(user, claimed)) return;
  checkExchange(channel);
  const detail = `user_id property set to '${claimed}' but authenticated user was '${user.name}'`;
  throw new ChannelError(PRECONDITION_FAILED, detail);
}

// As in RabbitMQ, errors of the exchange come first.
function checkExchange({ context, publisher, assembly }: Channel): void {
  context.zone.run(() => publisher.checkExchange(assembly.source));
}

// Direct reply-to is not supported, so this request would wait for ever. The text is RabbitMQ's.
function checkReplyTo(channel: Channel, bytes: Uint8Array): void {
  const { properties, contentHeader } = channel.context;
  properties.set(bytes, contentHeader.propertiesStart, contentHeader.propertiesEnd);
  if (!properties.find(PROPERTY_REPLY_TO)) return;
  if (!rangeEquals(bytes, properties.valueStart, properties.valueEnd, REPLY_QUEUE_BYTES)) return;
  checkExchange(channel);
  throw new ChannelError(PRECONDITION_FAILED, "fast reply consumer does not exist");
}

/** Handles a body frame that was expected. */
export function receiveBody(channel: Channel, frame: FrameParser): void {
  const { context, connection, assembly } = channel;
  connection.methodKey = BASIC_PUBLISH;
  const before = assembly.heldBytes;
  const isComplete = assembly.body(frame.buffer, frame.payloadStart, frame.payloadEnd);
  if (assembly.heldBytes !== before) {
    connection.memory.changeContent(assembly.heldBytes - before);
    // A body that has begun is blocked like a new publish, because it takes as much memory again until
    // it is complete.
    if (context.blockReason !== null && !isComplete) block(connection, context.blockReason);
  }
  if (isComplete) publish(channel);
}

function publish(channel: Channel): void {
  const { assembly, tx, confirms } = channel;
  const { source, mandatory } = assembly;
  if (tx !== null) hold(channel, tx);
  else publishNow(channel, source, mandatory, confirms.isOn ? confirms.nextTag() : 0);
  if (assembly.heldBytes > 0) channel.endPublish();
  else assembly.release();
}

function hold(channel: Channel, tx: Transaction): void {
  const { assembly, publisher, context } = channel;
  context.zone.run(() => publisher.check(assembly.source));
  tx.publish(assembly.source, assembly.mandatory);
}

/** Gives a message to the broker. `tag` is its confirm tag, 0 without confirms. */
export function publishNow(
  channel: Channel,
  source: MessageSource,
  mandatory: boolean,
  tag: number,
): number {
  const { context, connection } = channel;
  connection.publishedCount++;
  connection.publisher = channel.publisher;
  context.zone.isBroker = true;
  const outcome = channel.publisher.publish(source);
  context.zone.isBroker = false;
  const { routeCount } = channel.publisher;
  if (routeCount > 1) connection.chargedBytes += routeCount * BYTES_PER_QUEUE;
  if ((outcome & PUBLISH_ROUTED) === 0) {
    if (mandatory) returnMessage(channel, source);
    else context.broker.metrics.unroutableDropped++;
  }
  if (tag !== 0) confirm(channel, tag, outcome);
  else if ((outcome & PUBLISH_REFUSED) !== 0) {
    throw new ChannelError(RESOURCE_ERROR, "persistent messages cannot be stored at the moment");
  }
  return outcome;
}

function returnMessage(channel: Channel, source: MessageSource): void {
  const { context, connection } = channel;
  const { properties } = context;
  properties.set(source.properties, source.propertiesStart, source.propertiesEnd);
  hideBcc(properties);
  assertFits(properties, connection.framePayloadMax);
  writeReturn(connection.writer(), channel, source, properties);
  context.broker.metrics.returned++;
}

// Only a client that sends headers larger than its own frame_max cannot get them back.
function assertFits({ start, end }: RawProperties, framePayloadMax: number): void {
  const headerBytes = CONTENT_HEADER_FIXED_BYTES + end - start;
  if (headerBytes <= framePayloadMax) return;
  const detail = `a header frame of ${headerBytes + FRAME_OVERHEAD} bytes is larger than the` +
    ` negotiated frame_max (${framePayloadMax + FRAME_OVERHEAD}): an unroutable message cannot be` +
    " returned";
  throw new ChannelError(PRECONDITION_FAILED, detail);
}

// As in RabbitMQ, a returned message does not name blind copies.
function hideBcc(properties: RawProperties): void {
  if (!properties.findHeader(BCC_KEY)) return;
  const out = new ByteWriter();
  writePropertiesWithout(out, properties, BCC_KEY);
  properties.set(out.bytes, 0, out.byteCount);
}

function confirm(channel: Channel, tag: number, outcome: number): void {
  const { confirms, context } = channel;
  if ((outcome & (PUBLISH_OVERFLOWED | PUBLISH_REFUSED)) !== 0) confirms.refused(tag);
  else {
    const isLogged = (outcome & PUBLISH_LOGGED) !== 0;
    confirms.accepted(tag, isLogged ? context.broker.safety.openBatch : SAFE_AT_TURN_END);
  }
  if (channel.isConfirming) return;
  channel.isConfirming = true;
  context.confirming.push(channel);
}
