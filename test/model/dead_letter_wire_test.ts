// Dead letters as clients see them, over the wire, and the older pattern of retries by queues with a
// time to live (docs/automatic-retries.md).

import { assertEquals } from "@std/assert";
import type { FieldTable, FieldValue } from "../../src/amqp/field_value.ts";
import { longField, textField, timestampField } from "../../src/amqp/field_value.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import type { ClientChannel, Message } from "../support/client_channel.ts";
import { type Plain, table } from "../support/test_broker.ts";
import { START_MS, TestNode } from "../support/test_node.ts";

function dlx(routingKey?: string, exchange = ""): Plain {
  const args: Plain = { "x-dead-letter-exchange": exchange };
  return routingKey === undefined ? args : { ...args, "x-dead-letter-routing-key": routingKey };
}

function list(...keys: string[]): FieldValue {
  return { tag: "A", value: keys.map(textField) };
}

function deathsOf(message: Message | null): FieldTable[] {
  const field = message!.properties.headers?.get("x-death");
  if (field?.tag !== "A") return [];
  return field.value.map((entry) => entry.tag === "F" ? entry.value : new Map());
}

/** `queue reason count` of every death, newest first. */
function summaryOf(message: Message | null): string[] {
  return deathsOf(message).map((entry) => {
    const value = (name: string) => (entry.get(name) as { value: unknown }).value;
    return `${value("queue")} ${value("reason")} ${value("count")}`;
  });
}

function reject(channel: ClientChannel, queue: string): void {
  channel.reject(channel.get(queue)!.tag, false);
}

Deno.test("x-death on the wire has every field in RabbitMQ's types", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("dead");
  channel.queue("q", dlx("dead"));
  channel.exchange("x", "topic");
  channel.bind("q", "x", "#");
  const headers = table({ CC: list("c"), BCC: list("b"), mine: 1 });
  channel.publish("k", "x", { exchange: "x", properties: { headers, expiration: "5000" } });
  node.advance(1500);
  reject(channel, "q");
  const dead = channel.get("dead")!;
  assertEquals([dead.exchange, dead.routingKey, dead.redelivered], ["", "dead", false]);
  const death = new Map<string, FieldValue>([
    ["original-expiration", textField("5000")],
    ["count", longField(1)],
    ["reason", textField("rejected")],
    ["queue", textField("q")],
    ["time", timestampField(Math.floor((START_MS + 1500) / 1000))],
    ["exchange", textField("x")],
    ["routing-keys", list("k", "c")],
  ]);
  assertEquals(dead.properties, {
    headers: new Map<string, FieldValue>([
      ["mine", longField(1)],
      ["x-death", { tag: "A", value: [{ tag: "F", value: death }] }],
      ["x-first-death-queue", textField("q")],
      ["x-first-death-reason", textField("rejected")],
      ["x-first-death-exchange", textField("x")],
      ["x-last-death-queue", textField("q")],
      ["x-last-death-reason", textField("rejected")],
      ["x-last-death-exchange", textField("x")],
    ]),
  });
});

Deno.test("a dead letter keeps its key and CC where the queue names no key", () => {
  const channel = new TestNode().connect().channel();
  channel.exchange("dlx", "direct");
  channel.queue("by-key");
  channel.queue("by-cc");
  channel.queue("by-bcc");
  channel.bind("by-key", "dlx", "q");
  channel.bind("by-cc", "dlx", "c");
  channel.bind("by-bcc", "dlx", "b");
  channel.queue("q", dlx(undefined, "dlx"));
  channel.publish("q", "x", { properties: { headers: table({ CC: list("c"), BCC: list("b") }) } });
  reject(channel, "q");
  for (const queue of ["by-key", "by-cc", "by-bcc"]) {
    const dead = channel.get(queue)!;
    assertEquals([dead.routingKey, dead.properties.headers!.has("BCC")], ["q", false]);
  }
});

Deno.test("the deaths of several queues stand newest first, the first is remembered", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("end");
  channel.queue("second", { ...dlx("end"), "x-message-ttl": 10 });
  channel.queue("first", { ...dlx("second"), "x-max-length": 0 });
  channel.publish("first", "x");
  node.advance(10);
  const dead = channel.get("end")!;
  assertEquals(summaryOf(dead), ["second expired 1", "first maxlen 1"]);
  const header = (name: string) => dead.properties.headers!.get(name);
  assertEquals(header("x-first-death-queue"), textField("first"));
  assertEquals(header("x-first-death-reason"), textField("maxlen"));
  assertEquals(header("x-last-death-queue"), textField("second"));
  assertEquals(header("x-last-death-reason"), textField("expired"));
});

Deno.test("the time to live starts anew in the queue of the dead", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("dead", { "x-message-ttl": 100 });
  channel.queue("q", { ...dlx("dead"), "x-message-ttl": 100 });
  channel.publish("q", "x", { properties: { expiration: "80" } });
  node.advance(80 + 50);
  // Who looks at it and gives it back does not shorten its life.
  channel.reject(channel.get("dead")!.tag, true);
  node.advance(49);
  assertEquals(channel.queue("dead", {}, { passive: true }).messageCount, 1);
  node.advance(1);
  assertEquals(channel.get("dead"), null);
});

Deno.test("a loop of expiry alone is cut, one with a rejection or a used-up limit goes on", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("a", { ...dlx("b"), "x-message-ttl": 10 });
  channel.queue("b", { ...dlx("a"), "x-message-ttl": 10 });
  channel.publish("a", "x");
  node.advance(1000);
  assertEquals(node.broker.store.liveMessageCount, 0);
  for (const limit of [{}, { "x-delivery-limit": 0 }]) {
    const suffix = Object.keys(limit).length;
    const [work, wait] = [`work${suffix}`, `wait${suffix}`];
    channel.queue(work, { ...dlx(wait), ...limit });
    channel.queue(wait, { ...dlx(work), "x-message-ttl": 10 });
    channel.publish(work, "x");
    for (let round = 1; round <= 4; round++) {
      const message = channel.get(work)!;
      const reason = suffix === 0 ? "rejected" : "delivery_limit";
      const rounds = round - 1;
      const expected = [`${wait} expired ${rounds}`, `${work} ${reason} ${rounds}`];
      assertEquals(summaryOf(message), rounds === 0 ? [] : expected);
      channel.reject(message.tag, suffix !== 0);
      node.advance(10);
    }
  }
});

Deno.test("a well-formed x-death that a client publishes again is continued", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("dead");
  channel.queue("q", dlx("dead"));
  channel.publish("q", "x");
  for (let count = 1; count <= 3; count++) {
    reject(channel, "q");
    const dead = channel.get("dead", true)!;
    assertEquals(summaryOf(dead), [`q rejected ${count}`]);
    channel.publish("q", "x", { properties: dead.properties });
  }
  const forged = table({ "x-death": "not a list", "x-first-death-queue": "liar" });
  channel.publish("q", "y", { properties: { headers: forged } });
  reject(channel, "q");
  reject(channel, "q");
  channel.get("dead");
  const dead = channel.get("dead")!;
  assertEquals([dead.body, summaryOf(dead)], ["y", ["q rejected 1"]]);
  assertEquals(dead.properties.headers!.get("x-first-death-queue"), textField("q"));
});

Deno.test("dead letters without a way, into full queues and into themselves are dropped", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("full", { "x-max-length": 0, "x-overflow": "reject-publish" });
  const targets: Plain[] = [dlx("nowhere"), dlx("x", "no-exchange"), dlx("full")];
  targets.forEach((args, index) => {
    channel.queue(`q${index}`, args);
    channel.publish(`q${index}`, "x");
    reject(channel, `q${index}`);
  });
  channel.queue("self", { ...dlx("self"), "x-message-ttl": 5 });
  channel.publish("self", "x");
  node.advance(5);
  assertEquals(node.broker.store.liveMessageCount, 0);
  assertEquals(node.broker.metrics.deadLettersDropped, 4);
});

Deno.test("a short expiration behind a long one dead-letters on time", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("work");
  channel.queue("wait", dlx("work"));
  const publish = (body: string, expiration: string) =>
    channel.publish("wait", body, { properties: { expiration } });
  publish("slow", "10000");
  publish("fast", "100");
  publish("middle", "1000");
  channel.consume("work", { noAck: true });
  const bodies = () => channel.deliveries().map(({ body }) => body);
  node.advance(99);
  assertEquals(bodies(), []);
  node.advance(1);
  assertEquals(bodies(), ["fast"]);
  node.advance(900);
  assertEquals(bodies(), ["middle"]);
  node.advance(9000);
  assertEquals(bodies(), ["slow"]);
});

Deno.test("retry queues of different delay take turns until x-death says stop", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.exchange("main", "direct");
  channel.queue("work");
  channel.bind("work", "main", "work");
  const delays = [10, 50, 200];
  for (const delayMs of delays) {
    channel.queue(`wait-${delayMs}`, { ...dlx("work", "main"), "x-message-ttl": delayMs });
  }
  channel.consume("work");
  channel.publish("work", "x", { exchange: "main" });
  for (const [index, delayMs] of delays.entries()) {
    const [message] = channel.deliveries();
    assertEquals(deathsOf(message!).length, index);
    // The consumer chooses the next delay itself and acks what it took.
    channel.publish(`wait-${delayMs}`, message!.body, { properties: message!.properties });
    channel.ack(message!.tag);
    node.advance(delayMs - 1);
    assertEquals(channel.deliveries(), []);
    node.advance(1);
    assertEquals(channel.client.inbox.length, 1);
  }
  const [last] = channel.deliveries();
  assertEquals(summaryOf(last!), ["wait-200 expired 1", "wait-50 expired 1", "wait-10 expired 1"]);
  assertEquals([last!.exchange, last!.routingKey], ["main", "work"]);
});

Deno.test("what a queue that is gone gave up is nobody's dead letter", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("dead");
  const dlx = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
  channel.queue("q", dlx);
  for (const body of ["out", "ready"]) channel.publish("q", body);
  const { tag } = channel.get("q")!;
  channel.rpc(M.QUEUE_DELETE, { queue: "q" }, M.QUEUE_DELETE_OK);
  channel.reject(tag, false);
  assertEquals(channel.get("dead"), null);
});
