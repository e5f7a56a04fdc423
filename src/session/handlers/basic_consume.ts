// basic.consume: the consumer's tag, its arguments and its limits. The basic handler calls it. The
// queue decides whether it takes one more consumer.

import { ChannelError, ConnectionError } from "../../amqp/errors.ts";
import type { FieldTable } from "../../amqp/field_value.ts";
import { integerOf } from "../../amqp/field_value.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";
import type { BasicConsume } from "../../amqp/methods_gen.ts";
import { decodeBasicConsume, writeBasicConsumeOk } from "../../amqp/methods_gen.ts";
import { NOT_ALLOWED, PRECONDITION_FAILED } from "../../amqp/reply_code.ts";
import { fieldTypeName } from "../../broker/arguments/field_text.ts";
import { BASE64URL, describe, REPLY_QUEUE } from "../../broker/names.ts";
import type { Channel } from "../channel.ts";
import { argumentsStart } from "./arguments.ts";
import { namedQueue } from "./queue.ts";

const TAG_PREFIX = "amq.ctag-";
const TAG_RANDOM_CHARACTERS = 22;

/** basic.consume */
export function consume(channel: Channel, frame: FrameParser): void {
  const { vhost, connection, context, number } = channel;
  const args = decodeBasicConsume(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  const name = namedQueue(channel, args.queue);
  assertNoReplyQueue(name);
  const tag = args.consumerTag !== "" ? args.consumerTag : generateTag(channel);
  assertRoom(channel, tag);
  const priority = readPriority(channel, name, args.arguments);
  context.zone.run(() => {
    const queue = vhost.accessQueue(name, connection);
    channel.consumers.set(tag, queue.consume(options(channel, tag, { args, priority })));
  });
  if (!args.nowait) writeBasicConsumeOk(connection.writer(), number, tag);
}

function assertNoReplyQueue(name: string): void {
  if (name !== REPLY_QUEUE) return;
  throw new ChannelError(PRECONDITION_FAILED, "direct reply-to is not supported yet");
}

function options(
  channel: Channel,
  tag: string,
  given: { args: BasicConsume; priority: number },
) {
  const { noAck, exclusive } = given.args;
  const { prefetch, connection } = channel;
  const headerBytesMax = connection.framePayloadMax;
  return { channel, tag, noAck, exclusive, priority: given.priority, prefetch, headerBytesMax };
}

function generateTag(channel: Channel): string {
  let tag: string;
  do {
    tag = TAG_PREFIX;
    for (let i = 0; i < TAG_RANDOM_CHARACTERS; i++) {
      tag += BASE64URL[Math.floor(channel.context.random() * BASE64URL.length)]!;
    }
  } while (channel.consumers.has(tag));
  return tag;
}

function assertRoom(channel: Channel, tag: string): void {
  if (channel.consumers.has(tag)) {
    throw new ConnectionError(NOT_ALLOWED, `attempt to reuse consumer tag '${tag}'`);
  }
  const limit = channel.context.limits.consumersPerChannelMax;
  if (channel.consumers.size < limit) return;
  const detail = `reached maximum (${limit}) of consumers per channel`;
  throw new ConnectionError(NOT_ALLOWED, detail);
}

function readPriority(channel: Channel, queue: string, args: FieldTable): number {
  for (const name of args.keys()) {
    if (name.startsWith("x-stream-")) {
      throw invalid(channel, queue, `'${name}'`, "not supported yet");
    }
  }
  const field = args.get("x-priority");
  if (field === undefined) return 0;
  const value = integerOf(field);
  if (value !== undefined) return Number(value);
  const rule = `"expected integer, got ${fieldTypeName(field)}"`;
  throw invalid(channel, queue, "'x-priority'", rule);
}

function invalid(channel: Channel, queue: string, name: string, rule: string): ChannelError {
  const entity = describe("queue", queue, channel.vhost.name);
  return new ChannelError(PRECONDITION_FAILED, `invalid arg ${name} for ${entity}: ${rule}`);
}
