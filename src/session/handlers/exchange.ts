// The exchange class: declare, delete, bind, unbind. The frame switch calls it; the vhost does the work
// and throws the refusals.

import type { FrameParser } from "../../amqp/frame_parser.ts";
import {
  decodeExchangeBind,
  decodeExchangeDeclare,
  decodeExchangeDelete,
  decodeExchangeUnbind,
  EXCHANGE_BIND,
  EXCHANGE_DECLARE,
  EXCHANGE_DELETE,
  EXCHANGE_UNBIND,
  writeExchangeBindOk,
  writeExchangeDeclareOk,
  writeExchangeDeleteOk,
  writeExchangeUnbindOk,
} from "../../amqp/methods_gen.ts";
import type { Channel } from "../channel.ts";
import { answerWhenDefined, answerWhenUndefined } from "../store_wait.ts";
import { unimplemented } from "./unimplemented.ts";
import { argumentsStart } from "./arguments.ts";

/** Handles a method of the class. */
export function handleExchange(channel: Channel, key: number, frame: FrameParser): void {
  switch (key) {
    case EXCHANGE_DECLARE:
      return declare(channel, frame);
    case EXCHANGE_DELETE:
      return remove(channel, frame);
    case EXCHANGE_BIND:
      return bind(channel, frame);
    case EXCHANGE_UNBIND:
      return unbind(channel, frame);
    default:
      throw unimplemented(key);
  }
}

function declare(channel: Channel, frame: FrameParser): void {
  const { vhost, context, connection, number } = channel;
  const args = decodeExchangeDeclare(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  const { definedBatch } = context.zone.run(() => {
    if (args.passive) return vhost.passiveExchange(args.exchange);
    return vhost.declareExchange({
      name: args.exchange,
      type: args.type,
      durable: args.durable,
      autoDelete: args.autoDelete,
      internal: args.internal,
      args: args.arguments,
    });
  });
  if (args.nowait) return;
  answerWhenDefined(
    channel,
    definedBatch,
    () => writeExchangeDeclareOk(connection.writer(), number),
  );
}

function remove(channel: Channel, frame: FrameParser): void {
  const { vhost, context, connection, number } = channel;
  const args = decodeExchangeDelete(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  context.zone.run(() => vhost.deleteExchange(args.exchange, args.ifUnused));
  if (args.nowait) return;
  answerWhenUndefined(channel, () => writeExchangeDeleteOk(connection.writer(), number));
}

function bind(channel: Channel, frame: FrameParser): void {
  const { vhost, context, connection, number } = channel;
  const args = decodeExchangeBind(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  const { destination, source, routingKey } = args;
  const { definedBatch } = context.zone.run(() =>
    vhost.bindExchange({ destination, source, routingKey, args: args.arguments })
  );
  if (args.nowait) return;
  answerWhenDefined(channel, definedBatch, () => writeExchangeBindOk(connection.writer(), number));
}

function unbind(channel: Channel, frame: FrameParser): void {
  const { vhost, context, connection, number } = channel;
  const args = decodeExchangeUnbind(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  const { destination, source, routingKey } = args;
  context.zone.run(() =>
    vhost.unbindExchange({ destination, source, routingKey, args: args.arguments })
  );
  if (args.nowait) return;
  answerWhenUndefined(channel, () => writeExchangeUnbindOk(connection.writer(), number));
}
