// Messages while they are delayed, the internal retry queue and the types of RabbitMQ's dialect, as
// clients see them and docs/automatic-retries.md says.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { FieldValue } from "../../src/amqp/field_value.ts";
import { longField } from "../../src/amqp/field_value.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import type { Limits } from "../../src/broker/limits.ts";
import type { ClientChannel, Message } from "../support/client_channel.ts";
import { type Plain, table } from "../support/test_broker.ts";
import { TestNode } from "../support/test_node.ts";

const MIN = "x-delayed-retry-min";
const TYPE = "x-delayed-retry-type";
const DLX: Plain = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
const DELAY_MS = 100;
const CONSTANT: Plain = { [MIN]: DELAY_MS, "x-delayed-retry-multiplier": 1 };

interface Scene {
  node: TestNode;
  channel: ClientChannel;
}

/** A node with `q`, which delays, and `dead`. */
function scene(args: Plain = {}, limits: Partial<Limits> = {}): Scene {
  const node = new TestNode({ limits });
  const channel = node.connect().channel();
  channel.queue("dead");
  channel.queue("q", { ...DLX, ...CONSTANT, ...args });
  return { node, channel };
}

function countOf(message: Message | null): FieldValue | undefined {
  return message!.properties.headers?.get("x-delivery-count");
}

function reasonOf(message: Message | null): string {
  const field = message!.properties.headers?.get("x-last-death-reason");
  return field?.tag === "S" ? String(field.value) : "none";
}

/** Publishes and rejects, so that the bodies are delayed in this order. */
function delay(channel: ClientChannel, ...bodies: string[]): void {
  for (const body of bodies) {
    channel.publish("q", body);
    channel.reject(channel.get("q")!.tag, true);
  }
}

function drain(channel: ClientChannel, queue: string): string[] {
  const bodies: string[] = [];
  for (;;) {
    const message = channel.get(queue, true);
    if (message === null) return bodies;
    bodies.push(message.body);
  }
}

function readyCount(channel: ClientChannel, queue: string): number {
  return channel.queue(queue, {}, { passive: true }).messageCount;
}

// --- while a message waits

Deno.test("delayed messages are not in message_count, purge counts and removes them", () => {
  const { node, channel } = scene();
  delay(channel, "a", "b");
  channel.publish("q", "c");
  channel.publish("q", "d");
  assertEquals(readyCount(channel, "q"), 2);
  const out = channel.get("q")!;
  assertEquals([out.body, out.messageCount], ["c", 1]);
  const purged = channel.rpc(M.QUEUE_PURGE, { queue: "q", nowait: false }, M.QUEUE_PURGE_OK);
  assertEquals(purged.args.messageCount, 3);
  node.advance(10 * DELAY_MS);
  assertEquals(drain(channel, "q"), []);
  // What was out is not touched by the purge and is delayed as ever.
  channel.reject(out.tag, true);
  node.advance(DELAY_MS);
  assertEquals(drain(channel, "q"), ["c"]);
});

Deno.test("queue.delete with if-empty answers 406 while only delayed messages are there", () => {
  const { node, channel } = scene();
  delay(channel, "a");
  channel.send(M.QUEUE_DELETE, { queue: "q", ifEmpty: true });
  const { replyCode, replyText } = channel.takeClose();
  assertEquals(
    [replyCode, replyText],
    [406, "PRECONDITION_FAILED - queue 'q' in vhost '/' not empty"],
  );
  node.advance(DELAY_MS);
  const again = channel.client.channel();
  assertEquals(drain(again, "q"), ["a"]);
  const deletion = { queue: "q", ifEmpty: true };
  assertEquals(again.rpc(M.QUEUE_DELETE, deletion, M.QUEUE_DELETE_OK).args.messageCount, 0);
});

Deno.test("queue.delete takes delayed messages along; its answer counts the ready ones", () => {
  const { node, channel } = scene();
  delay(channel, "a", "b");
  channel.publish("q", "c");
  const { args } = channel.rpc(M.QUEUE_DELETE, { queue: "q" }, M.QUEUE_DELETE_OK);
  assertEquals(args.messageCount, 1);
  channel.queue("q", CONSTANT);
  node.advance(10 * DELAY_MS);
  assertEquals([drain(channel, "q"), drain(channel, "dead")], [[], []]);
  assertEquals(node.broker.store.liveMessageCount, 0);
});

Deno.test("delayed messages take no part of x-max-length and x-max-length-bytes", () => {
  for (const limit of [{ "x-max-length": 1 }, { "x-max-length-bytes": 1 }]) {
    for (const overflow of ["drop-head", "reject-publish"]) {
      const { node, channel } = scene({ ...limit, "x-overflow": overflow });
      channel.confirmSelect();
      delay(channel, "a", "b");
      channel.publish("q", "c");
      assertEquals(channel.confirms(), ["+1", "+2", "+3"]);
      assertEquals([readyCount(channel, "q"), readyCount(channel, "dead")], [1, 0]);
      assertEquals(node.queue("q").delayedCount, 2);
    }
  }
});

Deno.test("a reject frees the prefetch of consumer and channel at once", () => {
  for (const isGlobal of [false, true]) {
    const { channel } = scene();
    channel.qos(1, isGlobal);
    channel.consume("q");
    channel.publish("q", "a");
    channel.publish("q", "b");
    const [first, ...none] = channel.deliveries();
    assertEquals([first!.body, none.length], ["a", 0]);
    channel.reject(first!.tag, true);
    assertEquals(channel.deliveries().map(({ body }) => body), ["b"]);
  }
});

Deno.test("a delayed message waits for prefetch like any other when it is due", () => {
  const { node, channel } = scene();
  channel.qos(1);
  channel.consume("q");
  channel.publish("q", "a");
  channel.reject(channel.deliveries()[0]!.tag, true);
  channel.publish("q", "b");
  const [b] = channel.deliveries();
  node.advance(5 * DELAY_MS);
  assertEquals(channel.deliveries(), []);
  channel.ack(b!.tag);
  assertEquals(channel.deliveries().map(countOf), [longField(1)]);
});

Deno.test("expiration and x-message-ttl run on total age and act in the middle of a delay", () => {
  for (const [args, expiration] of [[{ "x-message-ttl": 60 }, "90"], [{}, "60"]] as const) {
    const { node, channel } = scene(args);
    channel.publish("q", "x", { properties: { expiration } });
    const { tag } = channel.get("q")!;
    node.advance(30);
    channel.reject(tag, true);
    node.advance(29);
    assertEquals(readyCount(channel, "dead"), 0);
    node.advance(1);
    const dead = channel.get("dead")!;
    assertEquals([dead.body, reasonOf(dead), dead.properties.expiration], [
      "x",
      "expired",
      undefined,
    ]);
    node.advance(DELAY_MS);
    assertEquals(channel.get("q"), null);
  }
});

Deno.test("a message that comes back keeps what is left of its time to live", () => {
  const { node, channel } = scene({ "x-message-ttl": DELAY_MS + 50 });
  delay(channel, "x");
  node.advance(DELAY_MS + 49);
  assertEquals(readyCount(channel, "q"), 1);
  node.advance(1);
  assertEquals([readyCount(channel, "q"), reasonOf(channel.get("dead"))], [0, "expired"]);
});

for (const overflow of ["reject-publish", "reject-publish-dlx"]) {
  Deno.test(`due back to a full ${overflow} queue means one more period with the same count`, () => {
    const { node, channel } = scene({
      [MIN]: DELAY_MS,
      "x-delayed-retry-multiplier": 3,
      "x-max-length": 1,
      "x-overflow": overflow,
    });
    delay(channel, "a");
    channel.publish("q", "b");
    node.advance(DELAY_MS);
    assertEquals(readyCount(channel, "q"), 1);
    node.advance(DELAY_MS - 1);
    assertEquals(drain(channel, "q"), ["b"]);
    assertEquals(channel.get("q"), null);
    node.advance(1);
    const back = channel.get("q")!;
    assertEquals([back.body, countOf(back)], ["a", longField(1)]);
    assertEquals(readyCount(channel, "dead"), 0);
  });
}

Deno.test("due back to a full drop-head queue goes to the tail, the head dies as maxlen", () => {
  const { node, channel } = scene({ "x-max-length": 2 });
  delay(channel, "a");
  channel.publish("q", "b");
  channel.publish("q", "c");
  node.advance(DELAY_MS);
  const dead = channel.get("dead");
  assertEquals([dead!.body, reasonOf(dead)], ["b", "maxlen"]);
  assertEquals(drain(channel, "q"), ["c", "a"]);
});

Deno.test("a return is no publish: no confirm, no return, no bindings", () => {
  const { node, channel } = scene();
  channel.exchange("x", "fanout");
  channel.bind("q", "x");
  channel.confirmSelect();
  channel.publish("", "a", { exchange: "x", mandatory: true });
  channel.reject(channel.get("q")!.tag, true);
  const unbind = { queue: "q", exchange: "x", routingKey: "", arguments: new Map() };
  channel.rpc(M.QUEUE_UNBIND, unbind, M.QUEUE_UNBIND_OK);
  channel.bind("dead", "x");
  node.advance(DELAY_MS);
  assertEquals([channel.confirms(), channel.returns()], [["+1"], []]);
  const back = channel.get("q")!;
  assertEquals([back.exchange, back.body, back.properties.headers], [
    "x",
    "a",
    table({ "x-delivery-count": 1 }),
  ]);
  assertEquals(readyCount(channel, "dead"), 0);
});

const DELAY_LIMITS = [
  "delayedPerQueueMax",
  "delayedPerNodeMax",
  "delayedBytesPerQueueMax",
  "delayedBytesPerNodeMax",
] as const;

for (const limit of DELAY_LIMITS) {
  Deno.test(`above ${limit} a rejected message is requeued at once and counts`, () => {
    const { node, channel } = scene({}, { [limit]: 1 });
    delay(channel, "a", "b");
    const again = channel.get("q")!;
    assertEquals([again.body, countOf(again), again.redelivered], ["b", longField(1), true]);
    assertEquals(node.broker.metrics.retryOverLimit, 1);
    node.advance(DELAY_MS);
    assertEquals(channel.get("q")!.body, "a");
  });
}

Deno.test("limits on the delayed messages of a queue leave other queues alone", () => {
  const limits = { delayedPerQueueMax: 1, delayedBytesPerQueueMax: 3 };
  const { node, channel } = scene({}, limits);
  channel.queue("other", CONSTANT);
  delay(channel, "abc");
  channel.publish("other", "abc");
  channel.reject(channel.get("other")!.tag, true);
  channel.publish("other", "d");
  channel.reject(channel.get("other")!.tag, true);
  assertEquals([node.queue("q").delayedCount, node.queue("other").delayedCount], [1, 1]);
  assertEquals(node.broker.metrics.retryOverLimit, 1);
});

Deno.test("x-expires spares a queue that holds delayed messages", () => {
  const { node, channel } = scene({ [MIN]: 1000, "x-expires": 50 });
  delay(channel, "a");
  node.advance(999);
  assertEquals(node.broker.vhosts.get("/")!.queues.has("q"), true);
  node.advance(1);
  assertEquals(channel.get("q", true)!.body, "a");
  node.advance(50);
  assertEquals(node.broker.vhosts.get("/")!.queues.has("q"), false);
});

Deno.test("auto-delete takes delayed messages along with the last consumer", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q", CONSTANT, { autoDelete: true });
  const tag = channel.consume("q");
  channel.publish("q", "a");
  channel.reject(channel.deliveries()[0]!.tag, true);
  channel.cancel(tag);
  assertEquals(node.broker.vhosts.get("/")!.queues.size, 0);
  node.advance(DELAY_MS);
  assertEquals(node.broker.store.liveMessageCount, 0);
});

Deno.test("an exclusive queue takes delayed messages along with its connection", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q", { ...CONSTANT, [TYPE]: "all" }, { exclusive: true });
  delay(channel, "a");
  channel.publish("q", "out");
  channel.get("q");
  channel.client.wire.drop();
  node.advance(DELAY_MS);
  assertEquals([node.broker.vhosts.get("/")!.queues.size, node.broker.store.liveMessageCount], [
    0,
    0,
  ]);
});

// --- the retry queue

const RETRY_QUEUE = "amq.retry-q";
const BINDING = {
  queue: RETRY_QUEUE,
  exchange: "amq.direct",
  routingKey: "k",
  arguments: new Map(),
};

const FORBIDDEN: [string, number, object][] = [
  ["queue.declare", M.QUEUE_DECLARE, { queue: RETRY_QUEUE }],
  ["queue.declare with the same properties", M.QUEUE_DECLARE, {
    queue: RETRY_QUEUE,
    durable: true,
  }],
  ["queue.declare passively", M.QUEUE_DECLARE, { queue: RETRY_QUEUE, passive: true }],
  ["queue.declare with nowait", M.QUEUE_DECLARE, { queue: RETRY_QUEUE, nowait: true }],
  ["queue.delete", M.QUEUE_DELETE, { queue: RETRY_QUEUE }],
  ["queue.delete with if-unused", M.QUEUE_DELETE, { queue: RETRY_QUEUE, ifUnused: true }],
  ["queue.purge", M.QUEUE_PURGE, { queue: RETRY_QUEUE, nowait: false }],
  ["basic.consume", M.BASIC_CONSUME, { queue: RETRY_QUEUE }],
  ["basic.get", M.BASIC_GET, { queue: RETRY_QUEUE, noAck: true }],
  ["queue.bind", M.QUEUE_BIND, BINDING],
  ["queue.unbind", M.QUEUE_UNBIND, BINDING],
];

for (const [name, key, args] of FORBIDDEN) {
  Deno.test(`${name} on a retry queue answers 403`, () => {
    const { node, channel } = scene();
    delay(channel, "a");
    channel.send(key, args);
    const close = channel.takeClose();
    assertEquals([close.replyCode, close.classId, close.methodId], [
      403,
      key >>> 16,
      key & 0xffff,
    ]);
    assertStringIncludes(close.replyText, "ACCESS_REFUSED - ");
    assertStringIncludes(close.replyText, `queue '${RETRY_QUEUE}' in vhost '/'`);
    node.advance(DELAY_MS);
    assertEquals(drain(channel.client.channel(), "q"), ["a"]);
  });
}

Deno.test("a publish to a retry queue is unroutable: by key, CC, BCC and dead-lettering", () => {
  const { node, channel } = scene();
  channel.publish(RETRY_QUEUE, "a", { mandatory: true });
  const list: FieldValue = { tag: "A", value: [{ tag: "S", value: RETRY_QUEUE }] };
  for (const name of ["CC", "BCC"]) {
    const properties = { headers: table({ [name]: list }) };
    channel.publish("nowhere", "b", { mandatory: true, properties });
  }
  const codes = channel.returns().map(({ replyCode }) => replyCode);
  assertEquals(codes, [312, 312, 312]);
  channel.queue("source", {
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": RETRY_QUEUE,
  });
  channel.publish("source", "c");
  channel.reject(channel.get("source")!.tag, false);
  node.advance(10 * DELAY_MS);
  assertEquals(drain(channel, "q"), []);
  assertEquals(node.broker.metrics.deadLettersDropped, 1);
});

// --- RabbitMQ's dialect

type Result = "delayed" | "instant";

/** For each type and cause: delayed or at once, and whether the delivery counts. */
const DIALECT: [string, string, Result, boolean][] = [
  ["all", "reject", "delayed", true],
  ["all", "nack", "delayed", true],
  ["all", "close", "delayed", true],
  ["all", "drop", "delayed", true],
  ["all", "recover", "instant", true],
  ["failed", "reject", "delayed", true],
  ["failed", "nack", "instant", false],
  ["failed", "close", "delayed", true],
  ["failed", "drop", "delayed", true],
  ["failed", "recover", "instant", true],
  ["returned", "reject", "instant", true],
  ["returned", "nack", "delayed", false],
  ["returned", "close", "instant", true],
  ["returned", "drop", "instant", true],
  ["returned", "recover", "instant", true],
  ["disabled", "reject", "instant", false],
  ["disabled", "nack", "instant", false],
  ["disabled", "drop", "instant", false],
];

function giveBack(channel: ClientChannel, tag: number, cause: string): void {
  if (cause === "reject") channel.reject(tag, true);
  else if (cause === "nack") channel.nack(tag, true);
  else if (cause === "close") channel.close();
  else if (cause === "drop") channel.client.wire.drop();
  else channel.rpc(M.BASIC_RECOVER, { requeue: true }, M.BASIC_RECOVER_OK);
}

for (const [type, cause, result, isSpent] of DIALECT) {
  const spent = isSpent ? "spent" : "not spent";
  Deno.test(`type ${type}: ${cause} is ${result}, the delivery ${spent}`, () => {
    const { node, channel } = scene({ [TYPE]: type });
    channel.publish("q", "x");
    const victim = node.connect().channel();
    giveBack(victim, victim.get("q")!.tag, cause);
    if (result === "delayed") {
      node.advance(DELAY_MS - 1);
      assertEquals(channel.get("q"), null);
      node.advance(1);
    }
    const again = channel.get("q")!;
    assertEquals(again.redelivered, true);
    assertEquals(countOf(again), isSpent ? longField(1) : undefined);
  });
}

Deno.test("type returned: nacks without end spend nothing, one reject above the limit does", () => {
  const { node, channel } = scene({ [TYPE]: "returned", "x-delivery-limit": 0 });
  channel.publish("q", "x");
  for (let round = 0; round < 5; round++) {
    channel.nack(channel.get("q")!.tag, true);
    node.advance(DELAY_MS);
  }
  const last = channel.get("q")!;
  assertEquals(countOf(last), undefined);
  channel.reject(last.tag, true);
  assertEquals(reasonOf(channel.get("dead")), "delivery_limit");
});

Deno.test("type returned waits for the first delay of a list while nothing is spent", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  const delays: FieldValue = { tag: "A", value: [longField(70), longField(90)] };
  channel.queue("q", { "x-delayed-retry-delays": delays, [TYPE]: "returned" });
  channel.publish("q", "x");
  for (let round = 0; round < 3; round++) {
    channel.nack(channel.get("q")!.tag, true);
    node.advance(69);
    assertEquals(channel.get("q"), null);
    node.advance(1);
  }
  assertEquals(countOf(channel.get("q")), undefined);
});

Deno.test("a type with a multiplier and no max grows without end", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q", { "x-delayed-retry-min": 10, "x-delayed-retry-multiplier": 3, [TYPE]: "all" });
  channel.publish("q", "x");
  for (const delayMs of [10, 30, 90]) {
    channel.reject(channel.get("q")!.tag, true);
    node.advance(delayMs - 1);
    assertEquals(channel.get("q"), null);
    node.advance(1);
  }
  assertEquals(countOf(channel.get("q")), longField(3));
});

Deno.test("type all takes a lost message to its limit", () => {
  const { node, channel } = scene({ [TYPE]: "all", "x-delivery-limit": 1 });
  channel.publish("q", "x");
  for (let round = 0; round < 2; round++) {
    const victim = node.connect().channel();
    victim.get("q");
    victim.client.wire.drop();
    node.advance(DELAY_MS);
  }
  assertEquals(reasonOf(channel.get("dead")), "delivery_limit");
});

Deno.test("type disabled sets no default limit, a limit of its own holds", () => {
  const { channel } = scene({ [TYPE]: "disabled" });
  channel.publish("q", "x");
  for (let round = 0; round < 25; round++) channel.reject(channel.get("q")!.tag, true);
  assertEquals(countOf(channel.get("q")), undefined);
  channel.queue("limited", { ...DLX, ...CONSTANT, [TYPE]: "disabled", "x-delivery-limit": 0 });
  channel.publish("limited", "y");
  channel.reject(channel.get("limited")!.tag, true);
  assertEquals(channel.get("dead")!.body, "y");
});
