// Limits after a start: a limit of the node that is lower than what the node has kept takes nothing
// away (docs/configuration.md "Limits"), and the limit of a queue holds again at once.

import { assertEquals } from "@std/assert";
import * as M from "../../src/amqp/methods_gen.ts";
import type { Limits } from "../../src/broker/limits.ts";
import type { ClientChannel } from "../support/client_channel.ts";
import { DurableNode } from "../support/durable_node.ts";
import { table } from "../support/test_broker.ts";

const DURABLE = { durable: true };
const KEPT = { properties: { deliveryMode: 2 } };

function channelOf(life: DurableNode): ClientChannel {
  return life.node.connect().channel();
}

/** The node that starts after `life` was killed, with other limits. */
function withLimits(life: DurableNode, limits: Partial<Limits>): DurableNode {
  return new DurableNode(life.disk.crash({ kind: "process" }), life.node.clock.wallMs(), limits);
}

function refusal(channel: ClientChannel): unknown {
  return channel.client.inbox.splice(0).map(({ name, args }) => [name, args["replyText"]]);
}

Deno.test("a node that starts with fewer bindings allowed keeps all that it has", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  channel.exchange("x", "direct", DURABLE);
  channel.exchange("y", "fanout", DURABLE);
  channel.queue("q", {}, DURABLE);
  for (const key of ["a", "b", "c"]) channel.bind("q", "x", key);
  channel.bind("q", "y", "");
  const between = { destination: "y", source: "x", routingKey: "d", arguments: new Map() };
  channel.rpc(M.EXCHANGE_BIND, between, M.EXCHANGE_BIND_OK);

  const next = withLimits(life, { bindingCountMax: 2 });
  const other = channelOf(next);
  for (const key of ["a", "b", "c", "d"]) other.publish(key, key, { exchange: "x", ...KEPT });
  assertEquals(next.node.queue("q").readyCount, 4);
  other.send(M.QUEUE_BIND, { queue: "q", exchange: "x", routingKey: "e", arguments: table({}) });
  assertEquals(refusal(other), [
    ["channel.close", "PRECONDITION_FAILED - cannot bind queue 'q': binding limit (2) is reached"],
  ]);
});

Deno.test("a node that starts with fewer exchanges allowed keeps all that it has", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  channel.queue("q", {}, DURABLE);
  for (const exchange of ["x", "y", "z"]) {
    channel.exchange(exchange, "fanout", DURABLE);
    channel.bind("q", exchange, "");
  }

  const next = withLimits(life, { exchangeCountMax: 8 });
  const other = channelOf(next);
  for (const exchange of ["x", "y", "z"]) other.publish("", exchange, { exchange, ...KEPT });
  assertEquals(next.node.queue("q").readyCount, 3);
  const more = { exchange: "more", type: "fanout", arguments: table({}), ...DURABLE };
  other.send(M.EXCHANGE_DECLARE, more);
  assertEquals(refusal(other), [[
    "channel.close",
    "PRECONDITION_FAILED - cannot declare exchange 'more': exchange limit (8) is reached",
  ]]);
});

Deno.test("a queue that is longer than its limit after a start drops from its head at once", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  channel.queue("dead", {}, DURABLE);
  const deadLetters = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
  channel.queue("q", { "x-max-length": 2, ...deadLetters }, DURABLE);
  channel.consume("q");
  for (const body of ["1", "2"]) channel.publish("q", body, KEPT);
  channel.send(M.BASIC_CANCEL, { consumerTag: channel.deliveries()[0]!.consumerTag });
  for (const body of ["3", "4"]) channel.publish("q", body, KEPT);

  const next = life.restart();
  const other = channelOf(next);
  assertEquals([next.node.queue("q").readyCount, next.node.queue("dead").readyCount], [2, 2]);
  const bodies = ["dead", "dead", "q", "q"].map((queue) => other.get(queue, true)?.body);
  assertEquals(bodies, ["1", "2", "3", "4"]);
});
