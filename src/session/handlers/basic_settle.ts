// basic.ack, basic.reject and basic.nack: read in place and applied to the channel's unacked table, or
// held in a transaction. The frame switch calls it for every such frame; it allocates nothing.

import { ChannelError } from "../../amqp/errors.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";
import { PRECONDITION_FAILED } from "../../amqp/reply_code.ts";
import {
  SETTLED_AS_ACKED,
  SETTLED_AS_REJECTED,
  SETTLED_AS_RETURNED,
} from "../../broker/queue/settle_run.ts";
import { CAUSE_NACK, CAUSE_REJECT } from "../../broker/retry/rules.ts";
import type { Channel } from "../channel.ts";
import { SETTLE_ACK, SETTLE_NACK, SETTLE_REJECT } from "../tx.ts";
import { argumentsStart } from "./arguments.ts";

/** basic.ack */
export function handleAck(channel: Channel, frame: FrameParser): void {
  const args = channel.context.settleArguments;
  args.readAck(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  if (channel.tx !== null) return hold(channel, SETTLE_ACK);
  const { unacked, context } = channel;
  if (args.multiple && isLong(channel)) {
    return settleInPieces(channel, SETTLED_AS_ACKED, CAUSE_REJECT);
  }
  const before = unacked.count;
  context.zone.isBroker = true;
  const isKnown = unacked.ack(args.deliveryTag, args.multiple);
  context.zone.isBroker = false;
  context.broker.metrics.acked += before - unacked.count;
  if (!isKnown) throw unknownTag(args.deliveryTag);
  channel.acked();
}

/** basic.reject */
export function handleReject(channel: Channel, frame: FrameParser): void {
  const args = channel.context.settleArguments;
  args.readReject(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  if (channel.tx !== null) hold(channel, SETTLE_REJECT);
  else reject(channel, CAUSE_REJECT);
}

/** basic.nack */
export function handleNack(channel: Channel, frame: FrameParser): void {
  const args = channel.context.settleArguments;
  args.readNack(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  if (channel.tx !== null) hold(channel, SETTLE_NACK);
  else reject(channel, CAUSE_NACK);
}

function reject(channel: Channel, cause: number): void {
  const { unacked, context } = channel;
  const args = context.settleArguments;
  if (args.multiple && isLong(channel)) {
    return settleInPieces(channel, args.requeue ? SETTLED_AS_RETURNED : SETTLED_AS_REJECTED, cause);
  }
  const before = unacked.count;
  context.zone.isBroker = true;
  const isKnown = unacked.reject(args.deliveryTag, args.multiple, args.requeue, cause);
  context.zone.isBroker = false;
  context.broker.metrics.rejected += before - unacked.count;
  if (!isKnown) throw unknownTag(args.deliveryTag);
  channel.acked();
}

// Whether the settlement has more deliveries than this turn may settle.
function isLong(channel: Channel): boolean {
  const { unacked, context } = channel;
  return !context.settling.takesFrame(channel, unacked.reach(context.settleArguments.deliveryTag));
}

function settleInPieces(channel: Channel, how: number, cause: number): void {
  const { unacked, context } = channel;
  const { deliveryTag } = context.settleArguments;
  const lastTag = deliveryTag === 0 ? unacked.lastTag : deliveryTag;
  const run = { how, cause, includesHeld: false, isCounted: true, lastTag, nextTag: 1 };
  context.settling.begin(channel, run);
}

function hold(channel: Channel, kind: number): void {
  const { deliveryTag, multiple, requeue } = channel.context.settleArguments;
  if (!channel.tx!.settle(deliveryTag, multiple, { kind, requeue })) throw unknownTag(deliveryTag);
}

function unknownTag(tag: number): ChannelError {
  return new ChannelError(PRECONDITION_FAILED, `unknown delivery tag ${tag}`);
}
