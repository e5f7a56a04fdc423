// Methods that come in one write with publishes and acks: what a consumer can have is delivered to it
// before a later method of the same turn looks at the queue or takes from it.

import { assertEquals } from "@std/assert";
import * as M from "../../../src/amqp/methods_gen.ts";
import { joined, methodFrame } from "../../support/amqp_client.ts";
import type { ClientChannel } from "../../support/client_channel.ts";
import { TestNode } from "../../support/test_node.ts";

function setUp(): { node: TestNode; channel: ClientChannel; tag: string } {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q");
  const tag = channel.consume("q");
  return { node, channel, tag };
}

/** Sends a publish to `q` and one more method in one write, and says what came back, in order. */
function publishAnd(channel: ClientChannel, key: number, args: object): string[] {
  const method = methodFrame(key, channel.number, args);
  channel.client.raw(joined([channel.publishFrames("q", "m"), method]));
  return answers(channel);
}

/** What came back, in order; counts behind a colon. */
function answers(channel: ClientChannel): string[] {
  return channel.client.inbox.splice(0).map(({ name, args }) =>
    args.messageCount === undefined ? name : `${name}:${args.messageCount}`
  );
}

Deno.test("basic.get in the turn of a publish leaves the message to a consumer", () => {
  const { channel } = setUp();
  const got = publishAnd(channel, M.BASIC_GET, { queue: "q", noAck: true });
  assertEquals(got, ["basic.deliver", "basic.get-empty"]);
});

Deno.test("queue.purge in the turn of a publish leaves the message to a consumer", () => {
  const { channel } = setUp();
  const got = publishAnd(channel, M.QUEUE_PURGE, { queue: "q" });
  assertEquals(got, ["basic.deliver", "queue.purge-ok:0"]);
});

Deno.test("queue.delete if empty in the turn of a publish finds the queue empty", () => {
  const { channel } = setUp();
  const got = publishAnd(channel, M.QUEUE_DELETE, { queue: "q", ifEmpty: true });
  assertEquals(got.includes("channel.close"), false);
  assertEquals(got, ["basic.deliver", "queue.delete-ok:0", "basic.cancel"]);
});

Deno.test("queue.declare in the turn of a publish does not count what a consumer gets", () => {
  for (const passive of [true, false]) {
    const { node, channel } = setUp();
    const { durable } = node.queue("q");
    const got = publishAnd(channel, M.QUEUE_DECLARE, {
      queue: "q",
      passive,
      durable,
      arguments: new Map(),
    });
    assertEquals(got, ["basic.deliver", "queue.declare-ok:0"]);
  }
});

Deno.test("queue.declare in the turn of a publish does not count what has expired", () => {
  const { channel, tag } = setUp();
  channel.cancel(tag);
  const frames = channel.publishFrames("q", "m", { properties: { expiration: "0" } });
  const declare = methodFrame(M.QUEUE_DECLARE, channel.number, { queue: "q", passive: true });
  channel.client.raw(joined([frames, declare]));
  assertEquals(answers(channel), ["queue.declare-ok:0"]);
});

Deno.test("basic.cancel in the turn of a publish comes after the delivery", () => {
  const { channel, tag } = setUp();
  const got = publishAnd(channel, M.BASIC_CANCEL, { consumerTag: tag });
  assertEquals(got, ["basic.deliver", "basic.cancel-ok"]);
});

Deno.test("basic.cancel of the last consumer of an auto-delete queue comes after the delivery", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q", {}, { autoDelete: true, durable: false });
  const tag = channel.consume("q");
  const got = publishAnd(channel, M.BASIC_CANCEL, { consumerTag: tag });
  assertEquals(got, ["basic.deliver", "basic.cancel-ok"]);
});

Deno.test("basic.consume in the turn of a publish leaves the message to those who were there", () => {
  const { node, channel, tag } = setUp();
  const other = node.connect().channel();
  const args = {
    queue: "q",
    consumerTag: "late",
    arguments: new Map([
      ["x-priority", { tag: "I", value: 5 }],
    ]),
  };
  channel.client.raw(joined([
    channel.publishFrames("q", "m"),
    methodFrame(M.BASIC_CONSUME, channel.number, args),
  ]));
  assertEquals(channel.deliveries().map(({ consumerTag }) => consumerTag), [tag]);
  assertEquals(other.deliveries(), []);
});

Deno.test("basic.qos in the turn of publishes limits the deliveries that come later", () => {
  const { channel } = setUp();
  channel.client.raw(joined([
    channel.publishFrames("q", "1"),
    channel.publishFrames("q", "2"),
    methodFrame(M.BASIC_QOS, channel.number, { prefetchCount: 1, global: true }),
    channel.publishFrames("q", "3"),
  ]));
  assertEquals(channel.deliveries().map(({ body }) => body), ["1", "2"]);
});

Deno.test("an ack in the turn of a basic.get gives the next message to the consumer it made room for", () => {
  for (const global of [false, true]) {
    const node = new TestNode();
    const channel = node.connect().channel();
    channel.queue("q");
    channel.qos(1, global);
    channel.consume("q");
    channel.publish("q", "1");
    channel.publish("q", "2");
    const [first] = channel.deliveries();
    channel.client.raw(joined([
      methodFrame(M.BASIC_ACK, channel.number, { deliveryTag: first!.tag, multiple: false }),
      methodFrame(M.BASIC_GET, channel.number, { queue: "q", noAck: true }),
    ]));
    assertEquals(answers(channel), ["basic.deliver", "basic.get-empty"]);
  }
});

Deno.test("a requeue in the turn of a basic.get gives the message to a consumer that has room", () => {
  const { node, channel } = setUp();
  const other = node.connect().channel();
  channel.publish("q", "m");
  const [first] = channel.deliveries();
  channel.client.raw(joined([
    methodFrame(M.BASIC_REJECT, channel.number, { deliveryTag: first!.tag, requeue: true }),
    methodFrame(M.BASIC_GET, channel.number, { queue: "q", noAck: true }),
  ]));
  assertEquals(answers(channel), ["basic.deliver", "basic.get-empty"]);
  assertEquals(other.deliveries(), []);
});
