// basic.get. Usually answered at once; when the head of the queue is still being read, the connection's
// later frames wait until it can be. Called by the basic handler.

import { ChannelError } from "../../amqp/errors.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";
import type { OutgoingMessage } from "../../amqp/hot_frames.ts";
import { UNCOUNTED, writeGetOk } from "../../amqp/hot_frames.ts";
import { decodeBasicGet, writeBasicGetEmpty } from "../../amqp/methods_gen.ts";
import { PRECONDITION_FAILED } from "../../amqp/reply_code.ts";
import type { Delivery } from "../../broker/delivery.ts";
import { GET_EMPTY, GET_PENDING } from "../../broker/queue.ts";
import type { Channel } from "../channel.ts";
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
  const outcome = context.zone.run(() => queue.get(delivery));
  if (outcome === GET_PENDING) {
    waitForRead(queue, channel, () => attempt(channel, name, noAck));
  } else if (outcome === GET_EMPTY) {
    metrics.getEmpty++;
    queue.stats.getEmpty++;
    writeBasicGetEmpty(connection.writer(), channel.number);
  } else {
    answer(channel, delivery, noAck);
  }
}

function answer(channel: Channel, delivery: Delivery, noAck: boolean): void {
  const { connection, context } = channel;
  const { metrics } = context.broker;
  const { queue } = delivery;
  const message = context.outgoing;
  message.channel = channel.number;
  message.deliveryTag = ++channel.deliveryTag;
  message.framePayloadMax = connection.framePayloadMax;
  fill(message, delivery);
  writeGetOk(connection.writer(), message, queue.readyCount);
  if (delivery.redelivered) metrics.redelivered++;
  if (noAck) {
    metrics.gotNoAck++;
    queue.stats.getNoAck++;
  } else {
    metrics.got++;
    queue.stats.get++;
  }
  context.zone.run(() => {
    if (noAck) queue.discard(delivery);
    else channel.unacked.push(channel.deliveryTag, null, delivery);
  });
}

function fill(message: OutgoingMessage, delivery: Delivery): void {
  const { view } = delivery;
  message.redelivered = delivery.redelivered;
  const isUncounted = delivery.deliveryCount === 0 && !delivery.stripsDeliveryCount;
  message.deliveryCount = isUncounted ? UNCOUNTED : delivery.deliveryCount;
  message.address = message.properties = message.body = view.bytes;
  message.addressStart = view.addressStart;
  message.addressEnd = view.addressEnd;
  message.propertiesStart = view.propertiesStart;
  message.propertiesEnd = view.propertiesEnd;
  message.bodyStart = view.bodyStart;
  message.bodyEnd = view.bodyEnd;
}
