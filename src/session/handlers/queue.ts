// The queue class: declare, bind, unbind, purge, delete. The frame switch calls it; the vhost does the
// work and throws the refusals. An empty queue name means the queue that this channel declared last.

import { ChannelError } from "../../amqp/errors.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";
import type { QueueDeclare } from "../../amqp/methods_gen.ts";
import {
  decodeQueueBind,
  decodeQueueDeclare,
  decodeQueueDelete,
  decodeQueuePurge,
  decodeQueueUnbind,
  QUEUE_BIND,
  QUEUE_DECLARE,
  QUEUE_DELETE,
  QUEUE_PURGE,
  QUEUE_UNBIND,
  writeQueueBindOk,
  writeQueueDeclareOk,
  writeQueueDeleteOk,
  writeQueuePurgeOk,
  writeQueueUnbindOk,
} from "../../amqp/methods_gen.ts";
import { NOT_FOUND } from "../../amqp/reply_code.ts";
import type { Queue } from "../../broker/queue/queue.ts";
import type { Channel } from "../channel.ts";
import { answerWhenDefined, answerWhenUndefined } from "../store_wait.ts";
import { unimplemented } from "./unimplemented.ts";
import { argumentsStart } from "./arguments.ts";

/** Handles a method of the class. */
export function handleQueue(channel: Channel, key: number, frame: FrameParser): void {
  switch (key) {
    case QUEUE_DECLARE:
      return declare(channel, frame);
    case QUEUE_BIND:
      return bind(channel, frame);
    case QUEUE_UNBIND:
      return unbind(channel, frame);
    case QUEUE_PURGE:
      return purge(channel, frame);
    case QUEUE_DELETE:
      return remove(channel, frame);
    default:
      throw unimplemented(key);
  }
}

/**
 * Returns the name of the queue that a client means: an empty name stands for the queue declared last.
 */
export function namedQueue(channel: Channel, name: string): string {
  if (name !== "") return name;
  if (channel.lastQueueName !== "") return channel.lastQueueName;
  throw new ChannelError(NOT_FOUND, "no previously declared queue");
}

function declare(channel: Channel, frame: FrameParser): void {
  const { context, connection, number } = channel;
  const args = decodeQueueDeclare(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  const queue = context.zone.run(() => declared(channel, args));
  channel.lastQueueName = queue.name;
  context.broker.metrics.queuesDeclared++;
  if (args.nowait) return;
  answerWhenDefined(channel, queue.definedBatch, () => {
    const { name, readyCount, consumerCount } = queue;
    writeQueueDeclareOk(connection.writer(), number, name, readyCount, consumerCount);
  });
}

function declared(channel: Channel, args: QueueDeclare): Queue {
  const { vhost, connection } = channel;
  if (args.passive) return vhost.passiveQueue(namedQueue(channel, args.queue), connection);
  const { queue: name, durable, exclusive, autoDelete } = args;
  const spec = { name, durable, exclusive, autoDelete, args: args.arguments };
  return vhost.declareQueue(spec, connection);
}

function bind(channel: Channel, frame: FrameParser): void {
  const { vhost, context, connection, number } = channel;
  const args = decodeQueueBind(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  const binding = { ...named(channel, args), exchange: args.exchange, args: args.arguments };
  const { definedBatch } = context.zone.run(() => vhost.bindQueue(binding, connection));
  if (args.nowait) return;
  answerWhenDefined(channel, definedBatch, () => writeQueueBindOk(connection.writer(), number));
}

function unbind(channel: Channel, frame: FrameParser): void {
  const { vhost, context, connection, number } = channel;
  const args = decodeQueueUnbind(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  const binding = { ...named(channel, args), exchange: args.exchange, args: args.arguments };
  context.zone.run(() => vhost.unbindQueue(binding, connection));
  answerWhenUndefined(channel, () => writeQueueUnbindOk(connection.writer(), number));
}

// If both the queue and the key are empty, the key is the name of the queue declared last (0-9-1).
function named(
  channel: Channel,
  args: { queue: string; routingKey: string },
): { queue: string; routingKey: string } {
  const queue = namedQueue(channel, args.queue);
  const isShortcut = args.queue === "" && args.routingKey === "";
  return { queue, routingKey: isShortcut ? queue : args.routingKey };
}

function purge(channel: Channel, frame: FrameParser): void {
  const { vhost, context, connection, number } = channel;
  const args = decodeQueuePurge(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  const name = namedQueue(channel, args.queue);
  const messageCount = context.zone.run(() => vhost.purgeQueue(name, connection));
  if (!args.nowait) writeQueuePurgeOk(connection.writer(), number, messageCount);
}

function remove(channel: Channel, frame: FrameParser): void {
  const { vhost, context, connection, number } = channel;
  const args = decodeQueueDelete(frame.buffer, argumentsStart(frame), frame.payloadEnd);
  const name = namedQueue(channel, args.queue);
  const { ifUnused, ifEmpty } = args;
  let messageCount = 0;
  const cancelled = channel.holdCancels(() => {
    messageCount = context.zone.run(() =>
      vhost.deleteQueue(name, { ifUnused, ifEmpty }, connection)
    );
  });
  if (args.nowait) return channel.sendCancels(cancelled);
  answerWhenUndefined(channel, () => {
    writeQueueDeleteOk(connection.writer(), number, messageCount);
    channel.sendCancels(cancelled);
  });
}
