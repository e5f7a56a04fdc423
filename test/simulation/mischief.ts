// What clients do wrong in a simulated run: errors that end a channel and errors that end a connection.
// Each sends something the broker must refuse; the callers know what is lost by it.

import * as M from "../../src/amqp/methods_gen.ts";
import type { Prng } from "../../src/lib/prng.ts";
import { frame, headerFrame, methodFrame } from "../support/amqp_client.ts";
import type { ClientChannel } from "../support/client_channel.ts";

type Mischief = (channel: ClientChannel, prng: Prng) => void;

const UNKNOWN_TAG = 1_000_000_000;

const CHANNEL_ERRORS: readonly Mischief[] = [
  (channel) => channel.ack(UNKNOWN_TAG),
  (channel) => channel.nack(UNKNOWN_TAG, true, true),
  (channel) => channel.reject(UNKNOWN_TAG, false),
  (channel) => channel.publish("q", "x", { exchange: "no such exchange" }),
  (channel) => channel.publish("q", "x", { properties: { userId: "somebody else" } }),
  (channel) => channel.publish("q", "x", { properties: { expiration: "never" } }),
  (channel) => channel.send(M.BASIC_GET, { queue: "no such queue", noAck: true }),
  (channel) => channel.send(M.BASIC_CONSUME, { queue: "no such queue" }),
  (channel) => channel.send(M.QUEUE_DECLARE, { queue: "amq.mine" }),
  (channel) => channel.send(M.QUEUE_DECLARE, { queue: "dead", durable: false, autoDelete: true }),
  (channel) => channel.send(M.QUEUE_PURGE, { queue: "amq.retry-q0", nowait: false }),
  (channel) => channel.send(M.EXCHANGE_DECLARE, { exchange: "e", type: "no such type" }),
  (channel) => channel.send(M.QUEUE_BIND, { queue: "dead", exchange: "", routingKey: "x" }),
];

const CONNECTION_ERRORS: readonly Mischief[] = [
  (channel) => channel.send(M.CHANNEL_OPEN),
  (channel) => channel.send(M.BASIC_QOS, { prefetchSize: 1, prefetchCount: 1, global: false }),
  (channel) => channel.send(M.BASIC_RECOVER, { requeue: false }),
  (channel) => channel.send(M.QUEUE_PURGE_OK, { messageCount: 1 }),
  (channel) => channel.publish("q0", "x", { immediate: true }),
  ({ client }) => client.send(M.BASIC_ACK, 99, { deliveryTag: 1, multiple: false }),
  ({ client, number }) => client.raw(headerFrame(number, 10)),
  ({ client, number }) => client.raw(frame(3, number, Uint8Array.of(1, 2, 3))),
  ({ client, number }) => {
    client.raw(methodFrame(M.BASIC_PUBLISH, number, { exchange: "", routingKey: "q0" }));
    client.send(M.BASIC_GET, number, { queue: "q0", noAck: true });
  },
  ({ client }, prng) => {
    // Never a frame: no type begins with these.
    client.raw(Uint8Array.from({ length: 20 }, () => 0x80 | prng.nextBelow(128)));
  },
];

function commit(errors: readonly Mischief[], channel: ClientChannel, prng: Prng): void {
  errors[prng.nextBelow(errors.length)]!(channel, prng);
}

/** Does something that ends the channel. */
export function breakChannel(channel: ClientChannel, prng: Prng): void {
  commit(CHANNEL_ERRORS, channel, prng);
}

/** Does something that ends the connection. */
export function breakConnection(channel: ClientChannel, prng: Prng): void {
  commit(CONNECTION_ERRORS, channel, prng);
}
