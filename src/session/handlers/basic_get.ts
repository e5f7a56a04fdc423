// basic.get, which is usually answered at once. While the head of the queue is being read, the later
// frames of the connection wait. The basic handler calls it.

import { ChannelError } from "../../amqp/errors.ts";
import { FRAME_OVERHEAD } from "../../amqp/frame.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";
import { BASIC_GET, decodeBasicGet, writeBasicGetEmpty } from "../../amqp/methods_gen.ts";
import { PRECONDITION_FAILED } from "../../amqp/reply_code.ts";
import type { Delivery } from "../../broker/queue/delivery.ts";
import { describe } from "../../broker/names.ts";
import { GET_EMPTY, GET_PENDING, GET_TOO_LARGE } from "../../broker/queue/get_head.ts";
import type { Channel } from "../channel.ts";
import { writeGetOk } from "../message_writer.ts";
import { waitForRead } from "../store_wait.ts";
import { argumentsStart } from "./arguments.ts";
import { namedQueue } from "./queue.ts";

/** basic.get */
export function get(channel: Channel, frame: FrameParser): void {
  const args = decodeBasicGet(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  const name = namedQueue(channel, args.queue);
  if (!args.noAck && channel.isUnackedFull) {
    const limit = channel.context.limits.unackedPerChannelMax;
    const detail = `channel has ${limit} unacknowledged messages, the most it may have`;
    throw new ChannelError(PRECONDITION_FAILED, detail);
  }
  attempt(channel, name, args.noAck);
}

function attempt(channel: Channel, name: string, noAck: boolean): void {
  const { vhost, connection, context } = channel;
  const { delivery, metrics } = context.broker;
  const queue = context.zone.run(() => vhost.accessQueue(name, connection));
  const outcome = context.zone.run(() => queue.get(delivery, connection.framePayloadMax));
  if (outcome === GET_PENDING) {
    waitForRead(queue, channel, () => attempt(channel, name, noAck));
  } else if (outcome === GET_EMPTY) {
    metrics.getEmpty++;
    queue.stats.getEmpty++;
    writeBasicGetEmpty(connection.writer(), channel.number);
  } else if (outcome === GET_TOO_LARGE) {
    throw tooLarge(channel, delivery, name);
  } else {
    answer(channel, delivery, noAck);
  }
}

function tooLarge(channel: Channel, { headerBytes }: Delivery, queue: string): ChannelError {
  const { vhost, connection } = channel;
  const detail = `a header frame of ${headerBytes + FRAME_OVERHEAD} bytes is larger than the` +
    ` negotiated frame_max (${connection.frameMax}): a message of` +
    ` ${describe("queue", queue, vhost.name)} cannot be sent`;
  return new ChannelError(PRECONDITION_FAILED, detail, BASIC_GET >>> 16, BASIC_GET & 0xffff);
}

function answer(channel: Channel, delivery: Delivery, noAck: boolean): void {
  const { connection, context } = channel;
  const { metrics } = context.broker;
  const { queue } = delivery;
  channel.deliveryTag++;
  writeGetOk(connection.writer(), channel, delivery, queue.readyCount);
  if (delivery.redelivered) metrics.redelivered++;
  if (noAck) {
    metrics.gotNoAck++;
    queue.stats.getNoAck++;
  } else {
    metrics.got++;
    queue.stats.get++;
  }
  context.zone.run(() => {
    if (noAck) queue.settlement.discarded(delivery);
    else channel.unacked.push(channel.deliveryTag, null, delivery);
  });
}
