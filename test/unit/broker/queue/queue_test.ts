// Queue: what goes in, what comes out, in which order, and what the limits do.

import { assertEquals, assertThrows } from "@std/assert";
import { PUBLISH_OVERFLOWED, PUBLISH_ROUTED } from "../../../../src/broker/publish/publisher.ts";
import {
  CAUSE_CLOSE,
  CAUSE_NACK,
  CAUSE_RECOVER,
  CAUSE_REJECT,
} from "../../../../src/broker/retry/rules.ts";
import { TestBroker, TestChannel } from "../../../support/test_broker.ts";

function bodies(channel: TestChannel): string[] {
  return channel.drain().map((seen) => seen.body);
}

Deno.test("Queue delivers in order and shares among consumers in turn", () => {
  const t = new TestBroker();
  const queue = t.queue("q");
  const channel = new TestChannel();
  t.consume(queue, channel, { tag: "a" });
  t.consume(queue, channel, { tag: "b" });
  for (const body of ["1", "2", "3", "4"]) t.publish("q", body);
  t.turn();
  assertEquals(channel.drain().map((seen) => seen.consumer + seen.body), ["a1", "b2", "a3", "b4"]);
  assertEquals([queue.readyCount, queue.unackedCount], [0, 4]);
});

Deno.test("Queue serves higher priorities first and falls back when they are full", () => {
  const t = new TestBroker();
  const queue = t.queue("q");
  const channel = new TestChannel();
  t.consume(queue, channel, { tag: "low", priority: -1 });
  t.consume(queue, channel, { tag: "high", priority: 10, prefetch: 2 });
  for (const body of ["1", "2", "3"]) t.publish("q", body);
  t.turn();
  const got = channel.drain().map((seen) => seen.consumer);
  assertEquals(got, ["high", "high", "low"]);
});

Deno.test("Queue stops at prefetch and goes on when an ack frees it", () => {
  const t = new TestBroker();
  const queue = t.queue("q");
  const channel = new TestChannel();
  t.consume(queue, channel, { prefetch: 1 });
  for (const body of ["1", "2", "3"]) t.publish("q", body);
  t.turn();
  assertEquals(bodies(channel), ["1"]);
  assertEquals(channel.unacked.ack(1, false), true);
  t.turn();
  assertEquals(bodies(channel), ["2"]);
  assertEquals(channel.unacked.ack(1, false), false);
  assertEquals(channel.unacked.ack(0, true), true);
  t.turn();
  assertEquals(bodies(channel), ["3"]);
});

Deno.test("Queue goes on when a refusing channel has room again", () => {
  const t = new TestBroker();
  const queue = t.queue("q");
  const channel = new TestChannel();
  channel.isOpen = false;
  t.consume(queue, channel);
  t.publish("q", "1");
  t.turn();
  assertEquals(bodies(channel), []);
  channel.isOpen = true;
  t.unblock(queue);
  t.turn();
  assertEquals(bodies(channel), ["1"]);
});

Deno.test("Queue puts requeued messages back where they were, marked redelivered", () => {
  const t = new TestBroker();
  const queue = t.queue("q");
  const channel = new TestChannel();
  const consumer = t.consume(queue, channel, { prefetch: 3 });
  for (const body of ["1", "2", "3", "4", "5"]) t.publish("q", body);
  t.turn();
  queue.cancel(consumer);
  assertEquals(bodies(channel), ["1", "2", "3"]);
  channel.unacked.reject(2, false, true, CAUSE_REJECT);
  channel.unacked.requeueAll(CAUSE_CLOSE, true);
  const got = [];
  for (let seen = t.get(queue, channel); seen !== null; seen = t.get(queue, channel)) {
    got.push(`${seen.body}${seen.redelivered ? "!" : ""}`);
  }
  assertEquals(got, ["1!", "2!", "3!", "4", "5"]);
});

Deno.test("Queue drops the head beyond its length and dead-letters it with reason maxlen", () => {
  const t = new TestBroker();
  const dead = t.queue("dead");
  const queue = t.queue("q", {
    "x-max-length": 2,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": "dead",
  });
  for (const body of ["1", "2", "3", "4"]) t.publish("q", body);
  t.turn();
  assertEquals([queue.readyCount, dead.readyCount], [2, 2]);
  const channel = new TestChannel();
  const first = t.get(dead, channel)!;
  assertEquals(first.body, "1");
  assertEquals(first.properties.headers?.get("x-first-death-reason"), {
    tag: "S",
    value: "maxlen",
  });
});

Deno.test("Queue counts bytes for x-max-length-bytes", () => {
  const t = new TestBroker();
  const queue = t.queue("q", { "x-max-length-bytes": 10 });
  for (const body of ["aaaa", "bbbb", "cccc"]) t.publish("q", body);
  assertEquals([queue.readyCount, queue.readyBytes], [2, 8]);
});

Deno.test("Queue refuses publishes when full with reject-publish, and takes them when there is room", () => {
  const t = new TestBroker();
  const queue = t.queue("q", { "x-max-length": 1, "x-overflow": "reject-publish" });
  assertEquals(t.publish("q", "1"), PUBLISH_ROUTED);
  assertEquals(t.publish("q", "2"), PUBLISH_ROUTED | PUBLISH_OVERFLOWED);
  assertEquals(queue.readyCount, 1);
  const channel = new TestChannel();
  t.consume(queue, channel);
  // A consumer with room makes room before anything is refused.
  assertEquals(t.publish("q", "3"), PUBLISH_ROUTED);
  t.turn();
  assertEquals(bodies(channel), ["1", "3"]);
});

Deno.test("Queue dead-letters refused publishes with reject-publish-dlx", () => {
  const t = new TestBroker();
  const dead = t.queue("dead");
  t.queue("q", {
    "x-max-length": 1,
    "x-overflow": "reject-publish-dlx",
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": "dead",
  });
  t.publish("q", "1");
  assertEquals(t.publish("q", "2") & PUBLISH_OVERFLOWED, PUBLISH_OVERFLOWED);
  t.turn();
  assertEquals(t.get(dead, new TestChannel())!.body, "2");
});

Deno.test("Queue expires by time wherever the message stands", () => {
  const t = new TestBroker();
  const dead = t.queue("dead");
  const queue = t.queue("q", { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" });
  t.publish("q", "long", { expiration: "60000" });
  t.publish("q", "short", { expiration: "100" });
  t.turn(99);
  assertEquals([queue.readyCount, dead.readyCount], [2, 0]);
  t.turn(1);
  assertEquals([queue.readyCount, dead.readyCount], [1, 1]);
  const seen = t.get(dead, new TestChannel())!;
  assertEquals(seen.body, "short");
  assertEquals(seen.properties.expiration, undefined);
});

Deno.test("Queue takes the lower of queue and message time to live", () => {
  const t = new TestBroker();
  const queue = t.queue("q", { "x-message-ttl": 50 });
  t.publish("q", "a", { expiration: "1000" });
  t.publish("q", "b", { expiration: "10" });
  t.turn(10);
  assertEquals(queue.readyCount, 1);
  t.turn(40);
  assertEquals(queue.readyCount, 0);
});

Deno.test("Queue delivers a message with time to live 0 only at once", () => {
  const t = new TestBroker();
  const queue = t.queue("q", { "x-message-ttl": 0 });
  const channel = new TestChannel();
  t.publish("q", "lost");
  assertEquals(t.get(queue, channel), null);
  t.publish("q", "lost too");
  t.turn();
  assertEquals(queue.readyCount, 0);
  t.consume(queue, channel);
  t.publish("q", "taken");
  t.turn();
  assertEquals(bodies(channel), ["taken"]);
});

Deno.test("Queue ends with its last consumer when auto-delete, and not before it had one", () => {
  const t = new TestBroker();
  const queue = t.queue("q", {}, { autoDelete: true });
  const channel = new TestChannel();
  t.turn();
  const consumer = t.consume(queue, channel);
  assertEquals(queue.isDeleted, false);
  queue.cancel(consumer);
  assertEquals([queue.isDeleted, t.vhost.queues.has("q")], [true, false]);
});

Deno.test("Queue ends after x-expires without use; consumers and delayed messages are use", () => {
  const t = new TestBroker();
  const queue = t.queue("q", { "x-expires": 1000, "x-delayed-retry-min": 5000 });
  const channel = new TestChannel();
  t.turn(900);
  t.get(queue, channel);
  t.turn(900);
  assertEquals(queue.isDeleted, false);
  const consumer = t.consume(queue, channel);
  t.publish("q", "1");
  t.turn(3000);
  assertEquals(queue.isDeleted, false);
  channel.unacked.reject(1, false, true, CAUSE_REJECT);
  queue.cancel(consumer);
  t.turn(4999);
  assertEquals([queue.isDeleted, queue.delayedCount], [false, 1]);
  t.turn(1);
  assertEquals([queue.isDeleted, queue.readyCount], [false, 1]);
  t.turn(1999);
  assertEquals(queue.isDeleted, true);
});

Deno.test("Queue ends x-expires after its last consumer went, whenever its timer fired before", () => {
  const t = new TestBroker();
  const queue = t.queue("q", { "x-expires": 1000 });
  const consumer = t.consume(queue, new TestChannel());
  t.turn(1000);
  t.turn(900);
  queue.cancel(consumer);
  t.turn(999);
  assertEquals(queue.isDeleted, false);
  t.turn(1);
  assertEquals(queue.isDeleted, true);
});

for (const end of ["purged", "over"]) {
  Deno.test(`Queue ends x-expires after its delayed messages were ${end}`, () => {
    const t = new TestBroker();
    const ttl = end === "over" ? { "x-message-ttl": 2900 } : {};
    const queue = t.queue("q", { ...ttl, "x-expires": 1000, "x-delayed-retry-min": 50_000 });
    const channel = new TestChannel();
    t.publish("q", "1");
    t.get(queue, channel);
    channel.unacked.reject(1, false, true, CAUSE_REJECT);
    for (let step = 0; step < 29; step++) t.turn(100);
    assertEquals(queue.purge(), end === "over" ? 0 : 1);
    t.turn(999);
    assertEquals(queue.isDeleted, false);
    t.turn(1);
    assertEquals(queue.isDeleted, true);
  });
}

Deno.test("Queue tells its consumers when it is deleted and drops what is out at settlement", () => {
  const t = new TestBroker();
  const queue = t.queue("q");
  const channel = new TestChannel();
  t.consume(queue, channel, { tag: "x", prefetch: 1 });
  t.publish("q", "1");
  t.publish("q", "2");
  t.turn();
  assertEquals(t.vhost.deleteQueue("q", { ifUnused: false, ifEmpty: false }, t.owner), 1);
  assertEquals(channel.cancelledTags, ["x"]);
  assertEquals(channel.unacked.reject(1, false, true, CAUSE_NACK), true);
  t.turn();
  assertEquals(t.broker.store.liveMessageCount, 0);
});

Deno.test("Queue allows one exclusive consumer and nobody beside it", () => {
  const t = new TestBroker();
  const queue = t.queue("q");
  const channel = new TestChannel();
  const consumer = t.consume(queue, channel, { exclusive: true });
  assertThrows(() => t.consume(queue, channel, { tag: "d" }), Error, "in exclusive use");
  queue.cancel(consumer);
  t.consume(queue, channel, { tag: "d" });
  assertThrows(() => t.consume(queue, channel, { exclusive: true }), Error, "in exclusive use");
});

Deno.test("Queue purges ready messages and leaves those that are out", () => {
  const t = new TestBroker();
  const queue = t.queue("q");
  const channel = new TestChannel();
  t.consume(queue, channel, { prefetch: 1 });
  for (const body of ["1", "2", "3"]) t.publish("q", body);
  t.turn();
  assertEquals(queue.purge(), 2);
  assertEquals([queue.readyCount, queue.readyBytes, queue.unackedCount], [0, 0, 1]);
  channel.unacked.requeueAll(CAUSE_RECOVER, false);
  t.turn();
  assertEquals(bodies(channel), ["1", "1"]);
});

Deno.test("Queue leaves no record behind when everything has been acked", () => {
  const t = new TestBroker();
  t.vhost.declareExchange({
    name: "x",
    type: "fanout",
    durable: false,
    autoDelete: false,
    internal: false,
    args: new Map(),
  });
  const channel = new TestChannel();
  for (const name of ["a", "b", "c"]) {
    const queue = t.queue(name);
    t.vhost.bindQueue({ queue: name, exchange: "x", routingKey: "", args: new Map() }, t.owner);
    t.consume(queue, channel, { tag: name });
  }
  for (let i = 0; i < 100; i++) t.publish("", `${i}`, {}, "x");
  t.turn();
  assertEquals(channel.seen.length, 300);
  assertEquals(t.broker.store.liveMessageCount, 100);
  channel.unacked.ack(0, true);
  assertEquals(t.broker.store.liveMessageCount, 0);
});

Deno.test("Queue and node count what was rejected, made and deleted", () => {
  const t = new TestBroker();
  const queue = t.queue("q", { "x-delayed-retry-min": 10 });
  const channel = new TestChannel();
  t.consume(queue, channel);
  for (const body of ["1", "2"]) t.publish("q", body);
  t.turn();
  channel.unacked.reject(1, false, true, CAUSE_NACK);
  channel.unacked.reject(2, false, false, CAUSE_REJECT);
  assertEquals(queue.stats.reject, 2);
  t.vhost.deleteQueue("q", { ifUnused: false, ifEmpty: false }, t.owner);
  assertEquals([t.broker.metrics.queuesCreated, t.broker.metrics.queuesDeleted], [1, 1]);
});
