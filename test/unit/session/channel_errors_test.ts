// Soft errors: channel.close with RabbitMQ's texts, silence until close-ok, then the number is free.

import { assertEquals } from "@std/assert";
import * as M from "../../../src/amqp/methods_gen.ts";
import type { ClientChannel } from "../../support/client_channel.ts";
import { table } from "../../support/test_broker.ts";
import { TestNode } from "../../support/test_node.ts";

interface Case {
  name: string;
  act: (channel: ClientChannel) => void;
  text: string;
  blame: [number, number];
}

const CASES: Case[] = [
  {
    name: "an ack of an unknown tag",
    act: (channel) => channel.ack(7),
    text: "PRECONDITION_FAILED - unknown delivery tag 7",
    blame: [60, 80],
  },
  {
    name: "a second ack",
    act: (channel) => {
      channel.publish("q", "x");
      const { tag } = channel.get("q")!;
      channel.ack(tag);
      channel.ack(tag);
    },
    text: "PRECONDITION_FAILED - unknown delivery tag 1",
    blame: [60, 80],
  },
  {
    name: "a nack of an unknown tag",
    act: (channel) => channel.nack(3, true),
    text: "PRECONDITION_FAILED - unknown delivery tag 3",
    blame: [60, 120],
  },
  {
    name: "a reject of an unknown tag",
    act: (channel) => channel.reject(3, true),
    text: "PRECONDITION_FAILED - unknown delivery tag 3",
    blame: [60, 90],
  },
  {
    name: "an ack of tag 0 without multiple",
    act: (channel) => channel.ack(0),
    text: "PRECONDITION_FAILED - unknown delivery tag 0",
    blame: [60, 80],
  },
  {
    name: "a publish to an unknown exchange",
    act: (channel) => channel.publish("q", "x", { exchange: "nope" }),
    text: "NOT_FOUND - no exchange 'nope' in vhost '/'",
    blame: [60, 40],
  },
  {
    name: "a publish to an internal exchange",
    act: (channel) => {
      channel.exchange("inner", "fanout", { internal: true });
      channel.publish("q", "x", { exchange: "inner" });
    },
    text: "ACCESS_REFUSED - cannot publish to internal exchange 'inner' in vhost '/'",
    blame: [60, 40],
  },
  {
    name: "a bad expiration",
    act: (channel) => channel.publish("q", "x", { properties: { expiration: "soon" } }),
    text: "PRECONDITION_FAILED - invalid expiration 'soon': no_integer",
    blame: [60, 40],
  },
  ...Object.entries({
    "a bad expiration": { expiration: "soon" },
    "another user's id": { userId: "alice" },
    "a bad CC": { headers: table({ CC: "q" }) },
    "a direct reply": { replyTo: "amq.rabbitmq.reply-to" },
  }).map(([what, properties]) => ({
    name: `${what} in a publish to a missing exchange, which comes first,`,
    act: (channel: ClientChannel) => channel.publish("q", "x", { exchange: "nope", properties }),
    text: "NOT_FOUND - no exchange 'nope' in vhost '/'",
    blame: [60, 40] as [number, number],
  })),
  {
    name: "another user's id",
    act: (channel) => channel.publish("q", "x", { properties: { userId: "alice" } }),
    text:
      "PRECONDITION_FAILED - user_id property set to 'alice' but authenticated user was 'guest'",
    blame: [60, 40],
  },
  {
    name: "a get from a missing queue",
    act: (channel) => channel.send(M.BASIC_GET, { queue: "nope", noAck: true }),
    text: "NOT_FOUND - no queue 'nope' in vhost '/'",
    blame: [60, 70],
  },
  {
    name: "a consume from a missing queue",
    act: (channel) => channel.send(M.BASIC_CONSUME, { queue: "nope" }),
    text: "NOT_FOUND - no queue 'nope' in vhost '/'",
    blame: [60, 20],
  },
  {
    name: "a consume beside an exclusive consumer",
    act: (channel) => {
      channel.consume("q", { exclusive: true });
      channel.send(M.BASIC_CONSUME, { queue: "q" });
    },
    text: "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use",
    blame: [60, 20],
  },
  {
    name: "a consumer priority that is no integer",
    act: (channel) =>
      channel.send(M.BASIC_CONSUME, { queue: "q", arguments: table({ "x-priority": "high" }) }),
    text: "PRECONDITION_FAILED - invalid arg 'x-priority' for queue 'q' in vhost '/': " +
      '"expected integer, got longstr"',
    blame: [60, 20],
  },
  {
    name: "a stream offset",
    act: (channel) =>
      channel.send(M.BASIC_CONSUME, {
        queue: "q",
        arguments: table({ "x-stream-offset": "first" }),
      }),
    text: "PRECONDITION_FAILED - invalid arg 'x-stream-offset' for queue 'q' in vhost '/': " +
      "not supported yet",
    blame: [60, 20],
  },
  {
    name: "direct reply-to",
    act: (channel) => channel.send(M.BASIC_CONSUME, { queue: "amq.rabbitmq.reply-to" }),
    text: "PRECONDITION_FAILED - direct reply-to is not supported yet",
    blame: [60, 20],
  },
  {
    name: "a request for a direct reply, for which nobody can be waiting",
    act: (channel) =>
      channel.publish("q", "x", { properties: { replyTo: "amq.rabbitmq.reply-to" } }),
    text: "PRECONDITION_FAILED - fast reply consumer does not exist",
    blame: [60, 40],
  },
  {
    name: "a passive declare of a missing queue",
    act: (channel) => channel.send(M.QUEUE_DECLARE, { queue: "nope", passive: true }),
    text: "NOT_FOUND - no queue 'nope' in vhost '/'",
    blame: [50, 10],
  },
  {
    name: "a redeclare that differs",
    act: (channel) => channel.send(M.QUEUE_DECLARE, { queue: "q", durable: true }),
    text: "PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'q' in vhost '/': " +
      "received 'true' but current is 'false'",
    blame: [50, 10],
  },
  {
    name: "a bind to a missing exchange",
    act: (channel) => channel.send(M.QUEUE_BIND, { queue: "q", exchange: "nope" }),
    text: "NOT_FOUND - no exchange 'nope' in vhost '/'",
    blame: [50, 20],
  },
  {
    name: "a purge of a missing queue",
    act: (channel) => channel.send(M.QUEUE_PURGE, { queue: "nope", nowait: false }),
    text: "NOT_FOUND - no queue 'nope' in vhost '/'",
    blame: [50, 30],
  },
  {
    name: "a delete of a queue in use",
    act: (channel) => {
      channel.consume("q");
      channel.send(M.QUEUE_DELETE, { queue: "q", ifUnused: true });
    },
    text: "PRECONDITION_FAILED - queue 'q' in vhost '/' in use",
    blame: [50, 40],
  },
  {
    name: "a reserved exchange name",
    act: (channel) => channel.send(M.EXCHANGE_DECLARE, { exchange: "amq.mine", type: "direct" }),
    text: "ACCESS_REFUSED - exchange name 'amq.mine' contains reserved prefix 'amq.*'",
    blame: [40, 10],
  },
  {
    name: "a bind between exchanges that do not exist",
    act: (channel) => channel.send(M.EXCHANGE_BIND, { destination: "a", source: "b" }),
    text: "NOT_FOUND - no exchange 'b' in vhost '/'",
    blame: [40, 30],
  },
  {
    name: "tx.select in confirm mode",
    act: (channel) => {
      channel.confirmSelect();
      channel.send(M.TX_SELECT);
    },
    text: "PRECONDITION_FAILED - cannot switch from confirm to tx mode",
    blame: [90, 10],
  },
  {
    name: "confirm.select in tx mode",
    act: (channel) => {
      channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
      channel.send(M.CONFIRM_SELECT, { nowait: false });
    },
    text: "PRECONDITION_FAILED - cannot switch from tx to confirm mode",
    blame: [85, 10],
  },
  {
    name: "a commit without a transaction",
    act: (channel) => channel.send(M.TX_COMMIT),
    text: "PRECONDITION_FAILED - channel is not transactional",
    blame: [90, 20],
  },
  {
    name: "a rollback without a transaction",
    act: (channel) => channel.send(M.TX_ROLLBACK),
    text: "PRECONDITION_FAILED - channel is not transactional",
    blame: [90, 30],
  },
];

for (const { name, act, text, blame } of CASES) {
  Deno.test(`channel closes for ${name}`, () => {
    const node = new TestNode();
    const client = node.connect();
    const channel = client.channel();
    const sibling = client.channel();
    channel.queue("q", {}, { durable: false });
    act(channel);
    const close = client.expect(M.CHANNEL_CLOSE, 1).args;
    assertEquals(close.replyText, text);
    assertEquals([close.classId, close.methodId], blame);
    // Discarded until close-ok, content included.
    channel.publish("q", "lost");
    channel.send(M.BASIC_GET, { queue: "q", noAck: true });
    assertEquals(client.take(M.BASIC_GET_OK, 1), undefined);
    assertEquals(client.take(M.BASIC_GET_EMPTY, 1), undefined);
    sibling.queue("s");
    channel.send(M.CHANNEL_CLOSE_OK);
    assertEquals(client.channel(1).get("q")?.body ?? null, null);
    assertEquals(client.isClosed, false);
  });
}

Deno.test("channel has no queue to fall back on before it declared one", () => {
  const channel = new TestNode().connect().channel();
  channel.send(M.QUEUE_PURGE, { queue: "", nowait: false });
  assertEquals(channel.takeClose().replyText, "NOT_FOUND - no previously declared queue");
});

Deno.test("an empty queue name means the queue declared last on the channel", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("first");
  const { queue } = channel.queue("");
  channel.bind("", "amq.direct", "");
  channel.publish(queue, "by name", { exchange: "amq.direct" });
  assertEquals(channel.get("")!.body, "by name");
  channel.queue("first", {}, { passive: true });
  channel.publish("first", "x");
  assertEquals(channel.get("")!.body, "x");
  channel.rpc(M.QUEUE_DELETE, { queue: "" }, M.QUEUE_DELETE_OK);
  assertEquals([...node.broker.vhosts.get("/")!.queues.keys()], [queue]);
});

Deno.test("a message above the limit closes the channel before its body came", () => {
  const channel = new TestNode({ limits: { messageBytesMax: 1000 } }).connect().channel();
  channel.queue("q");
  channel.publish("q", new Uint8Array(1000));
  channel.publish("q", new Uint8Array(1001));
  assertEquals(
    channel.takeClose().replyText,
    "PRECONDITION_FAILED - message size 1001 is larger than configured max size 1000",
  );
  const again = channel.client.channel(1);
  assertEquals(again.get("q")!.bytes.length, 1000);
  assertEquals(again.get("q"), null);
});

Deno.test("a get above the limit of unacked messages closes the channel", () => {
  const channel = new TestNode({ limits: { unackedPerChannelMax: 1 } }).connect().channel();
  channel.queue("q");
  channel.publish("q", "1");
  channel.publish("q", "2");
  channel.get("q");
  assertEquals(channel.get("q", true)!.body, "2");
  channel.send(M.BASIC_GET, { queue: "q", noAck: false });
  assertEquals(
    channel.takeClose().replyText,
    "PRECONDITION_FAILED - channel has 1 unacknowledged messages, the most it may have",
  );
});

Deno.test("channel.close gives back messages and consumers and frees the number", () => {
  const node = new TestNode();
  const client = node.connect();
  const channel = client.channel();
  channel.queue("q");
  channel.publish("q", "1");
  channel.consume("q");
  assertEquals(channel.deliveries().length, 1);
  channel.close();
  assertEquals(node.queue("q").readyCount, 1);
  assertEquals(node.queue("q").consumerCount, 0);
  const again = client.channel(1);
  const message = again.get("q")!;
  assertEquals([message.tag, message.redelivered], [1, true]);
});

Deno.test("a channel error gives back what the channel had", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q");
  channel.publish("q", "1");
  channel.get("q");
  channel.ack(99);
  channel.takeClose();
  assertEquals(node.queue("q").readyCount, 1);
  assertEquals(node.queue("q").unackedCount, 0);
});

Deno.test("a channel.close that crossed ours is answered", () => {
  const client = new TestNode().connect();
  const channel = client.channel();
  channel.ack(99);
  client.expect(M.CHANNEL_CLOSE, 1);
  channel.close();
  channel.send(M.CHANNEL_CLOSE_OK);
  client.channel(1);
});

Deno.test("access.request gets a ticket, as old clients need it", () => {
  const channel = new TestNode().connect().channel();
  const { args } = channel.rpc(M.ACCESS_REQUEST, { realm: "/data" }, M.ACCESS_REQUEST_OK);
  assertEquals(args.ticket, 1);
});

Deno.test("channel.flow to go on is answered", () => {
  const channel = new TestNode().connect().channel();
  const { args } = channel.rpc(M.CHANNEL_FLOW, { active: true }, M.CHANNEL_FLOW_OK);
  assertEquals(args.active, true);
});

Deno.test("an exclusive queue is locked to others", () => {
  const node = new TestNode();
  node.connect().channel().queue("mine", {}, { exclusive: true });
  const channel = node.connect().channel();
  channel.send(M.BASIC_CONSUME, { queue: "mine" });
  const close = channel.takeClose();
  assertEquals(close.replyCode, 405);
  assertEquals(
    close.replyText.startsWith(
      "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'mine' in vhost '/'",
    ),
    true,
  );
});
