// Consumers and basic.get as a client sees them: prefetch both ways, order, tags, cancel, priorities.

import { assertEquals, assertMatch } from "@std/assert";
import * as M from "../../../src/amqp/methods_gen.ts";
import { table } from "../../support/test_broker.ts";
import { TestNode } from "../../support/test_node.ts";
import type { ClientChannel } from "../../support/client_channel.ts";
import { SlowStore } from "../../support/slow_store.ts";

function fill(channel: ClientChannel, queue: string, count: number): void {
  for (let i = 1; i <= count; i++) channel.publish(queue, String(i));
}

function bodies(channel: ClientChannel): string {
  return channel.deliveries().map(({ body }) => body).join(" ");
}

Deno.test("consume delivers in order with rising tags", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  fill(channel, "q", 3);
  const tag = channel.consume("q");
  const messages = channel.deliveries();
  assertEquals(messages.map(({ body, tag }) => [body, tag]), [["1", 1], ["2", 2], ["3", 3]]);
  assertEquals(messages[0]!.consumerTag, tag);
  assertMatch(tag, /^amq\.ctag-[A-Za-z0-9_-]{22}$/);
});

Deno.test("consume answers before it delivers", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  channel.publish("q", "1");
  channel.send(M.BASIC_CONSUME, { queue: "q", consumerTag: "t" });
  const names = channel.client.inbox.map(({ name }) => name);
  assertEquals(names, ["basic.consume-ok", "basic.deliver"]);
});

Deno.test("consume with no_ack delivers without limit and keeps nothing", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q");
  channel.qos(1);
  fill(channel, "q", 5);
  channel.consume("q", { noAck: true });
  assertEquals(bodies(channel), "1 2 3 4 5");
  assertEquals(node.queue("q").unackedCount, 0);
  assertEquals(node.broker.metrics.deliveredNoAck, 5);
});

Deno.test("qos per consumer holds for consumers started afterwards", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  fill(channel, "q", 9);
  channel.qos(2);
  channel.consume("q", { consumerTag: "a" });
  channel.qos(1);
  channel.consume("q", { consumerTag: "b" });
  const messages = channel.deliveries();
  const of = (tag: string) => messages.filter((one) => one.consumerTag === tag).map((m) => m.body);
  assertEquals([of("a"), of("b")], [["1", "2"], ["3"]]);
  channel.ack(3);
  assertEquals(channel.deliveries().map((m) => [m.consumerTag, m.body]), [["b", "4"]]);
  channel.ack(2, true);
  assertEquals(channel.deliveries().map((m) => m.consumerTag), ["a", "a"]);
});

Deno.test("qos per channel is shared by its consumers", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  fill(channel, "q", 9);
  channel.qos(3, true);
  channel.consume("q", { consumerTag: "a" });
  channel.consume("q", { consumerTag: "b" });
  assertEquals(bodies(channel), "1 2 3");
  channel.ack(1);
  assertEquals(bodies(channel), "4");
  channel.qos(5, true);
  assertEquals(bodies(channel), "5 6");
  channel.qos(0, true);
  assertEquals(bodies(channel), "7 8 9");
});

Deno.test("qos of consumer and channel hold together", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  fill(channel, "q", 9);
  channel.qos(3, true);
  channel.qos(2);
  channel.consume("q", { consumerTag: "a" });
  assertEquals(bodies(channel), "1 2");
  channel.consume("q", { consumerTag: "b" });
  assertEquals(bodies(channel), "3");
});

Deno.test("qos per channel counts neither basic.get nor consumers without acks", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  channel.queue("free");
  fill(channel, "q", 4);
  fill(channel, "free", 2);
  channel.get("q");
  channel.qos(2, true);
  channel.consume("free", { noAck: true });
  assertEquals(bodies(channel), "1 2");
  channel.consume("q");
  assertEquals(bodies(channel), "2 3");
  channel.ack(1);
  assertEquals(bodies(channel), "");
  channel.ack(4);
  assertEquals(bodies(channel), "4");
});

Deno.test("unacked messages of a channel are limited even without a prefetch", () => {
  const channel = new TestNode({ limits: { unackedPerChannelMax: 4 } }).connect().channel();
  channel.queue("q");
  fill(channel, "q", 9);
  channel.consume("q");
  assertEquals(bodies(channel), "1 2 3 4");
  channel.ack(2, true);
  assertEquals(bodies(channel), "5 6");
});

Deno.test("ack of tag 0 with multiple acks everything", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q");
  fill(channel, "q", 3);
  channel.consume("q");
  channel.ack(0, true);
  assertEquals(node.queue("q").unackedCount, 0);
  channel.ack(0, true);
  assertEquals(node.broker.metrics.acked, 3);
});

Deno.test("nack with multiple returns everything up to the tag in order", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q");
  fill(channel, "q", 4);
  channel.consume("q");
  channel.deliveries();
  channel.nack(3, true, true);
  assertEquals([node.broker.metrics.rejected, node.broker.metrics.acked], [3, 0]);
  const messages = channel.deliveries();
  assertEquals(messages.map(({ body, redelivered }) => [body, redelivered]), [
    ["1", true],
    ["2", true],
    ["3", true],
  ]);
});

Deno.test("reject without requeue drops", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q");
  channel.publish("q", "x");
  channel.reject(channel.get("q")!.tag, false);
  assertEquals(node.queue("q").readyCount, 0);
  assertEquals(node.broker.metrics.rejected, 1);
  assertEquals(node.broker.store.liveMessageCount, 0);
});

Deno.test("recover returns everything unacked to its place", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  fill(channel, "q", 3);
  channel.qos(2);
  channel.consume("q");
  channel.deliveries();
  channel.rpc(M.BASIC_RECOVER, { requeue: true }, M.BASIC_RECOVER_OK);
  assertEquals(channel.deliveries().map(({ body, tag }) => [body, tag]), [["1", 3], ["2", 4]]);
  channel.send(M.BASIC_RECOVER_ASYNC, { requeue: true });
  assertEquals(channel.deliveries().map(({ body, tag }) => [body, tag]), [["1", 5], ["2", 6]]);
  assertEquals(channel.client.inbox.length, 0);
});

Deno.test("cancel stops deliveries and leaves messages unacked", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q");
  fill(channel, "q", 1);
  const tag = channel.consume("q");
  channel.deliveries();
  channel.cancel(tag);
  channel.publish("q", "2");
  assertEquals(bodies(channel), "");
  assertEquals(node.queue("q").unackedCount, 1);
  channel.ack(1);
  channel.cancel("never there");
});

Deno.test("a deleted queue cancels its consumers, for clients that understand it", () => {
  const node = new TestNode();
  const knows = node.connect().channel();
  const knowsNot = node.connect({ capabilities: [] }).channel();
  knows.queue("q");
  const tag = knows.consume("q");
  knowsNot.consume("q");
  knows.rpc(M.QUEUE_DELETE, { queue: "q" }, M.QUEUE_DELETE_OK);
  const cancel = knows.client.expect(M.BASIC_CANCEL, 1).args;
  assertEquals([cancel.consumerTag, cancel.nowait], [tag, true]);
  assertEquals(knowsNot.client.inbox.length, 0);
  // The tag is free again.
  knows.queue("q");
  knows.consume("q", { consumerTag: tag });
});

Deno.test("consumers of higher priority are served first", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  channel.qos(2);
  channel.consume("q", { consumerTag: "low" });
  const args = table({ "x-priority": 5 });
  channel.consume("q", { consumerTag: "high", arguments: args });
  fill(channel, "q", 4);
  const tags = channel.deliveries().map(({ consumerTag }) => consumerTag);
  assertEquals(tags, ["high", "high", "low", "low"]);
});

Deno.test("consumers of several connections take turns", () => {
  const node = new TestNode();
  const publisher = node.connect().channel();
  publisher.queue("q");
  const channels = [node.connect().channel(), node.connect().channel(), node.connect().channel()];
  for (const channel of channels) channel.consume("q");
  fill(publisher, "q", 9);
  assertEquals(channels.map((channel) => channel.deliveries().length), [3, 3, 3]);
});

Deno.test("a consumer of an auto-delete queue takes it along", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q", {}, { autoDelete: true });
  channel.cancel(channel.consume("q"));
  assertEquals(node.broker.vhosts.get("/")!.queues.size, 0);
  assertEquals(channel.client.inbox.length, 0);
});

Deno.test("get answers with the messages left behind, or that there are none", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q");
  fill(channel, "q", 2);
  const first = channel.get("q")!;
  assertEquals([first.body, first.messageCount, first.redelivered], ["1", 1, false]);
  assertEquals(channel.get("q", true)!.messageCount, 0);
  assertEquals(channel.get("q"), null);
  channel.nack(first.tag, true);
  const again = channel.get("q")!;
  assertEquals([again.body, again.redelivered, again.tag], ["1", true, 3]);
  const { got, gotNoAck, getEmpty, redelivered } = node.broker.metrics;
  assertEquals([got, gotNoAck, getEmpty, redelivered], [2, 1, 1, 1]);
});

Deno.test("get whose message has to be read holds the frames behind it", () => {
  const store = new SlowStore();
  const node = new TestNode({ store });
  const client = node.connect();
  const channel = client.channel();
  channel.queue("q");
  channel.publish("q", "slow");
  channel.send(M.BASIC_GET, { queue: "q", noAck: true });
  channel.send(M.QUEUE_DECLARE, { queue: "later" });
  assertEquals(client.inbox.length, 0);
  assertEquals(client.wire.isPaused, true);
  node.engine.turn(() => store.finishReads());
  node.settle();
  const names = client.inbox.map(({ name }) => name);
  assertEquals(names, ["basic.get-ok", "queue.declare-ok"]);
  assertEquals(client.wire.isPaused, false);
});

Deno.test("get that waits answers 404 when its queue goes away", () => {
  const store = new SlowStore();
  const node = new TestNode({ store });
  const channel = node.connect().channel();
  channel.queue("q");
  channel.publish("q", "slow");
  channel.send(M.BASIC_GET, { queue: "q", noAck: true });
  const other = node.connect().channel();
  other.rpc(M.QUEUE_DELETE, { queue: "q" }, M.QUEUE_DELETE_OK);
  node.engine.turn(() => store.finishReads());
  node.settle();
  assertEquals(channel.takeClose().replyText, "NOT_FOUND - no queue 'q' in vhost '/'");
});

Deno.test("get that waits is forgotten when its connection goes away", () => {
  const store = new SlowStore();
  const node = new TestNode({ store });
  const channel = node.connect().channel();
  channel.queue("q");
  channel.publish("q", "slow");
  channel.send(M.BASIC_GET, { queue: "q", noAck: true });
  channel.client.wire.drop();
  node.engine.turn(() => store.finishReads());
  node.settle();
  assertEquals(node.queue("q").readyCount, 1);
});

Deno.test("x-delivery-count is written for retried messages and a forged one is removed", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q", { "x-delivery-limit": 3 });
  const headers = table({ "x-delivery-count": 99, keep: "me" });
  channel.publish("q", "x", { properties: { headers, appId: "a" } });
  const first = channel.get("q")!;
  assertEquals(first.properties, { headers: table({ keep: "me" }), appId: "a" });
  channel.nack(first.tag, true);
  const second = channel.get("q")!;
  const counted = table({ keep: "me", "x-delivery-count": 1 });
  assertEquals(second.properties, { headers: counted, appId: "a" });
  channel.nack(second.tag, true);
  channel.consume("q");
  const [third] = channel.deliveries();
  assertEquals(third!.properties.headers, table({ keep: "me", "x-delivery-count": 2 }));
});
