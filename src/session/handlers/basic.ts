// The basic class without its per-message methods: qos, consume, cancel, get, recover. The frame switch
// calls it; queues do the work. Publishing is in publishing.ts, acks are in basic_settle.ts.

import { ConnectionError } from "../../amqp/errors.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";
import {
  BASIC_CANCEL,
  BASIC_CANCEL_OK,
  BASIC_CONSUME,
  BASIC_GET,
  BASIC_QOS,
  BASIC_RECOVER,
  BASIC_RECOVER_ASYNC,
  decodeBasicCancel,
  decodeBasicQos,
  decodeBasicRecover,
  decodeBasicRecoverAsync,
  writeBasicCancelOk,
  writeBasicQosOk,
  writeBasicRecoverOk,
} from "../../amqp/methods_gen.ts";
import { NOT_IMPLEMENTED } from "../../amqp/reply_code.ts";
import { settleTurn } from "../../broker/queue/dispatch.ts";
import { CAUSE_RECOVER } from "../../broker/retry/rules.ts";
import type { Channel } from "../channel.ts";
import { unimplemented } from "./unimplemented.ts";
import { argumentsStart } from "./arguments.ts";
import { consume } from "./basic_consume.ts";
import { get } from "./basic_get.ts";

/** Handles a method of the class. */
export function handleBasic(channel: Channel, key: number, frame: FrameParser): void {
  switch (key) {
    case BASIC_QOS:
      return qos(channel, frame);
    case BASIC_CONSUME:
      return consume(channel, frame);
    case BASIC_CANCEL:
      return cancel(channel, frame);
    case BASIC_GET:
      return get(channel, frame);
    case BASIC_RECOVER:
      return recover(channel, frame);
    case BASIC_RECOVER_ASYNC:
      return recoverAsync(channel, frame);
    case BASIC_CANCEL_OK:
      // The answer to a cancel of ours, which requested none.
      return;
    default:
      throw unimplemented(key);
  }
}

function qos(channel: Channel, frame: FrameParser): void {
  const args = decodeBasicQos(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  if (args.prefetchSize !== 0) {
    throw new ConnectionError(NOT_IMPLEMENTED, `prefetch_size!=0 (${args.prefetchSize})`);
  }
  if (args.global) channel.context.zone.run(() => channel.setChannelPrefetch(args.prefetchCount));
  else channel.prefetch = args.prefetchCount;
  writeBasicQosOk(channel.connection.writer(), channel.number);
}

function cancel(channel: Channel, frame: FrameParser): void {
  const { connection, context, number } = channel;
  const args = decodeBasicCancel(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  const consumer = channel.consumers.get(args.consumerTag);
  if (consumer !== undefined) {
    context.zone.run(() => {
      settleTurn(consumer.queue);
      channel.forget(consumer);
      consumer.queue.cancel(consumer);
    });
  }
  if (!args.nowait) writeBasicCancelOk(connection.writer(), number, args.consumerTag);
}

function recover(channel: Channel, frame: FrameParser): void {
  const args = decodeBasicRecover(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  requeueAll(channel, args.requeue);
  const { context, connection, number } = channel;
  context.settling.whenDone(connection, () => {
    if (!channel.isReleased) writeBasicRecoverOk(connection.writer(), number);
  });
}

function recoverAsync(channel: Channel, frame: FrameParser): void {
  const args = decodeBasicRecoverAsync(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  requeueAll(channel, args.requeue);
}

function requeueAll(channel: Channel, requeue: boolean): void {
  if (!requeue) throw new ConnectionError(NOT_IMPLEMENTED, "requeue=false");
  channel.requeueAll(CAUSE_RECOVER);
  channel.acked();
}
