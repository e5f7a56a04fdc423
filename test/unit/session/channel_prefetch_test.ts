// The prefetch of a whole channel (basic.qos with global set): who of its consumers gets the room that
// an ack makes.

import { assertEquals } from "@std/assert";
import * as M from "../../../src/amqp/methods_gen.ts";
import { joined, methodFrame } from "../../support/amqp_client.ts";
import type { ClientChannel, Message } from "../../support/client_channel.ts";
import { TestNode } from "../../support/test_node.ts";

interface SetUp {
  channel: ClientChannel;
  producer: ClientChannel;
}

function setUp(prefetch: number, queues: readonly string[], readyCount: number): SetUp {
  const node = new TestNode();
  const producer = node.connect().channel();
  for (const queue of queues) {
    producer.queue(queue);
    for (let index = 0; index < readyCount; index++) producer.publish(queue, `${index}`);
  }
  const channel = node.connect().channel();
  channel.qos(prefetch, true);
  return { channel, producer };
}

/** Asserts that each has had its share, give or take one. */
function assertEven(shares: Record<string, number>, keys: readonly string[], count: number): void {
  for (const key of keys) {
    const difference = Math.abs((shares[key] ?? 0) - count / keys.length);
    assertEquals(difference <= 1, true, JSON.stringify(shares));
  }
}

/** Acks what came, one by one, until `count` messages have come, and says how many each key had. */
function share(
  channel: ClientChannel,
  count: number,
  keyOf: (message: Message) => string,
): Record<string, number> {
  const shares: Record<string, number> = {};
  for (let left = count; left > 0;) {
    const came = channel.deliveries();
    if (came.length === 0) break;
    for (const message of came) {
      shares[keyOf(message)] = (shares[keyOf(message)] ?? 0) + 1;
      if (--left > 0) channel.ack(message.tag);
    }
  }
  return shares;
}

const byQueue = (message: Message) => message.routingKey;
const byConsumer = (message: Message) => message.consumerTag;

Deno.test("a channel's prefetch is shared by the queues it consumes", () => {
  const { channel } = setUp(1, ["a", "b", "c"], 100);
  for (const queue of ["a", "b", "c"]) channel.consume(queue);
  assertEven(share(channel, 99, byQueue), ["a", "b", "c"], 99);
});

Deno.test("a channel's prefetch is shared when a multiple ack makes room for many", () => {
  const { channel } = setUp(30, ["a", "b", "c"], 100);
  for (const queue of ["a", "b", "c"]) channel.consume(queue);
  const first = channel.deliveries();
  assertEquals(first.length, 30);
  channel.ack(0, true);
  const shares: Record<string, number> = {};
  for (const { routingKey } of channel.deliveries()) {
    shares[routingKey] = (shares[routingKey] ?? 0) + 1;
  }
  assertEquals(shares, { a: 10, b: 10, c: 10 });
});

Deno.test("a channel's prefetch is shared by the consumers of one queue", () => {
  for (const own of [0, 1]) {
    const { channel } = setUp(1, ["q"], 20);
    channel.qos(own);
    channel.consume("q", { consumerTag: "one" });
    channel.consume("q", { consumerTag: "two" });
    assertEven(share(channel, 10, byConsumer), ["one", "two"], 10);
  }
});

Deno.test("a queue that fills in the turn of an ack does not come before those that waited", () => {
  const { channel, producer } = setUp(1, ["a", "b"], 1);
  channel.consume("a");
  channel.consume("b");
  const [first] = channel.deliveries();
  assertEquals(first!.routingKey, "a");
  channel.client.raw(joined([
    channel.publishFrames("a", "new"),
    methodFrame(M.BASIC_ACK, channel.number, { deliveryTag: first!.tag, multiple: false }),
  ]));
  assertEquals(channel.deliveries().map(byQueue), ["b"]);
  assertEquals(producer.get("a", true)?.body, "new");
});

Deno.test("a consumer with nothing to get does not hold up the others of its channel", () => {
  const { channel, producer } = setUp(1, ["a", "b"], 0);
  for (let index = 0; index < 5; index++) producer.publish("a", "m");
  channel.consume("b");
  channel.consume("a");
  assertEquals(share(channel, 5, byQueue), { a: 5 });
});

Deno.test("a consumer that waited is forgotten with its cancel or its queue", () => {
  const { channel, producer } = setUp(1, ["a", "b", "c"], 3);
  for (const queue of ["a", "b", "c"]) channel.consume(queue, { consumerTag: queue });
  channel.cancel("b");
  producer.rpc(M.QUEUE_DELETE, { queue: "c" }, M.QUEUE_DELETE_OK);
  assertEquals(share(channel, 3, byQueue), { a: 3 });
});

Deno.test("a consumer without acks waits while the channel's prefetch is used up, and uses none", () => {
  const { channel } = setUp(1, ["a", "b"], 3);
  channel.consume("a");
  const [first] = channel.deliveries();
  channel.consume("b", { noAck: true });
  assertEquals(channel.deliveries(), []);
  channel.ack(first!.tag);
  // The consumer that waited longer comes first, and uses up the room.
  assertEquals(channel.deliveries().map(byQueue), ["a"]);
  channel.ack(0, true);
  assertEquals(channel.deliveries().map(byQueue), ["b", "a"]);
  channel.ack(0, true);
  assertEquals(channel.deliveries().map(byQueue), ["b", "b"]);
});

Deno.test("a consumer that has room again and finds nothing comes last in its queue", () => {
  const { channel, producer } = setUp(1, ["q"], 0);
  producer.consume("q", { noAck: true, consumerTag: "free" });
  channel.consume("q", { consumerTag: "limited" });
  const next = () => {
    producer.publish("q", "m");
    const [message] = [...producer.deliveries(), ...channel.deliveries()];
    return message!;
  };
  assertEquals(next().consumerTag, "free");
  const limited = next();
  assertEquals(limited.consumerTag, "limited");
  assertEquals([next().consumerTag, next().consumerTag], ["free", "free"]);
  channel.ack(limited.tag);
  assertEquals([next().consumerTag, next().consumerTag], ["free", "limited"]);
});

Deno.test("a consumer without acks goes on when the channel's prefetch is lifted", () => {
  const { channel } = setUp(1, ["a", "b"], 3);
  channel.consume("a");
  channel.consume("b", { noAck: true });
  assertEquals(channel.deliveries().map(byQueue), ["a"]);
  channel.qos(0, true);
  assertEquals(channel.deliveries().map(byQueue).sort(), ["a", "a", "b", "b", "b"]);
});
