// Automatic retries as a client sees them, row by row of docs/automatic-retries.md: when messages come
// back, what they then carry, and what ends it. Nothing but frames is looked at.

import { assertEquals, assertGreater, assertGreaterOrEqual, assertLessOrEqual } from "@std/assert";
import { type FieldValue, longField } from "../../src/amqp/field_value.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import type { ClientChannel, Message } from "../support/client_channel.ts";
import { type Plain, table } from "../support/test_broker.ts";
import { TestNode } from "../support/test_node.ts";

const MIN = "x-delayed-retry-min";
const LIMIT = "x-delivery-limit";
const DLX: Plain = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
const DELAY_MS = 100;
const CONSTANT: Plain = { [MIN]: DELAY_MS, "x-delayed-retry-multiplier": 1 };

interface Scene {
  node: TestNode;
  channel: ClientChannel;
}

/** A node with `q` and `dead`, and a consumer of `q`. */
function scene(args: Plain = CONSTANT, seed = 1): Scene {
  const node = new TestNode({ seed });
  const channel = node.connect().channel();
  channel.queue("dead");
  channel.queue("q", { ...DLX, ...args });
  channel.consume("q");
  return { node, channel };
}

function one(channel: ClientChannel): Message {
  const deliveries = channel.deliveries();
  assertEquals(deliveries.length, 1);
  return deliveries[0]!;
}

/** `x-delivery-count` as it is on the wire, or undefined. */
function countOf(message: Message | null): FieldValue | undefined {
  return message!.properties.headers?.get("x-delivery-count");
}

function deathsOf(message: Message | null): string[] {
  const field = message!.properties.headers?.get("x-death");
  if (field?.tag !== "A") return [];
  return field.value.map((entry) => {
    if (entry.tag !== "F") return "no table";
    const value = (name: string) => (entry.value.get(name) as { value: unknown }).value;
    return `${value("queue")} ${value("reason")} ${value("count")}`;
  });
}

/** Nothing comes until `delayMs` is over, and then exactly one message. */
function comesAfter({ node, channel }: Scene, delayMs: number): Message {
  assertEquals(channel.deliveries(), []);
  node.advance(delayMs - 0.25);
  assertEquals(channel.deliveries(), []);
  node.advance(0.25);
  return one(channel);
}

function statusOf(channel: ClientChannel, queue: string): number {
  return channel.queue(queue, {}, { passive: true }).messageCount;
}

// --- delays

const SCHEDULES: [string, Plain, number[]][] = [
  ["linear without a multiplier", { [MIN]: 10 }, [10, 20, 30, 40]],
  ["constant with multiplier 1", { [MIN]: 10, "x-delayed-retry-multiplier": 1 }, [10, 10, 10]],
  ["exponential with multiplier 3", { [MIN]: 10, "x-delayed-retry-multiplier": 3 }, [
    10,
    30,
    90,
    270,
  ]],
  ["clamped by max", { [MIN]: 10, "x-delayed-retry-max": 25 }, [10, 20, 25, 25]],
  ["always max where max is below min", { [MIN]: 10, "x-delayed-retry-max": 4 }, [4, 4, 4]],
  ["the list, its last entry repeating", {
    "x-delayed-retry-delays": { tag: "A", value: [longField(7), longField(3), longField(5)] },
  }, [7, 3, 5, 5, 5]],
  ["never above 2^32−1 ms", {
    [MIN]: 4_294_967_294,
    "x-delayed-retry-multiplier": 2 ** 31 - 1,
  }, [4_294_967_294, 4_294_967_295, 4_294_967_295]],
  ["never above 2^32−1 ms from the list", {
    "x-delayed-retry-delays": { tag: "A", value: [longField(2 ** 53 - 1)] },
  }, [4_294_967_295]],
  ["min at most with a type and no multiplier", { [MIN]: 10, "x-delayed-retry-type": "all" }, [
    10,
    10,
    10,
  ]],
  ["linear up to max with a type and no multiplier", {
    [MIN]: 10,
    "x-delayed-retry-max": 25,
    "x-delayed-retry-type": "failed",
  }, [10, 20, 25, 25]],
];

for (const [name, args, delays] of SCHEDULES) {
  Deno.test(`delays are ${name}`, () => {
    const s = scene({ ...args, [LIMIT]: delays.length });
    s.channel.publish("q", "x");
    s.channel.reject(one(s.channel).tag, true);
    for (const delayMs of delays) s.channel.reject(comesAfter(s, delayMs).tag, true);
    assertEquals(deathsOf(s.channel.get("dead")), ["q delivery_limit 1"]);
  });
}

Deno.test("a retry is never early when the rejection falls between milliseconds", () => {
  const s = scene();
  s.channel.publish("q", "x");
  const { tag } = one(s.channel);
  s.node.advance(0.75);
  s.channel.reject(tag, true);
  s.node.advance(DELAY_MS - 0.25);
  // A turn runs just before it is due, whoever it is for.
  assertEquals([statusOf(s.channel, "q"), s.channel.deliveries()], [0, []]);
  // Host timers take whole ms: up to one late, never early.
  s.node.advance(1.25);
  one(s.channel);
});

Deno.test("jitter draws from the delay down to its percentage, never below 1 ms", () => {
  const seen = new Set<number>();
  for (const [minMs, jitter, leastMs] of [[200, 30, 140], [1, 100, 1], [40, 100, 1]] as const) {
    for (let seed = 1; seed <= 15; seed++) {
      const s = scene({ [MIN]: minMs, "x-delayed-retry-jitter": jitter }, seed);
      s.channel.publish("q", "x");
      s.channel.reject(one(s.channel).tag, true);
      let waitedMs = 0;
      while (s.channel.client.inbox.length === 0 && waitedMs <= minMs) {
        s.node.advance(1);
        waitedMs++;
      }
      assertGreaterOrEqual(waitedMs, leastMs);
      assertLessOrEqual(waitedMs, minMs);
      seen.add(waitedMs);
    }
  }
  assertGreater(seen.size, 15);
});

Deno.test("equal due times come back as they were rejected, different delays pass each other", () => {
  const s = scene({ [MIN]: DELAY_MS, "x-delayed-retry-multiplier": 10 });
  for (const body of ["a", "b", "c", "d"]) s.channel.publish("q", body);
  const [a, b, c, d] = s.channel.deliveries();
  for (const message of [c!, a!, d!]) s.channel.reject(message.tag, true);
  s.node.advance(DELAY_MS);
  const back = s.channel.deliveries();
  assertEquals(back.map(({ body }) => body), ["c", "a", "d"]);
  // The second delay of a message is ten times the first; a later rejection overtakes it.
  s.channel.reject(back[0]!.tag, true);
  s.channel.reject(b!.tag, true);
  s.node.advance(DELAY_MS);
  assertEquals(one(s.channel).body, "b");
  s.node.advance(DELAY_MS * 9);
  assertEquals(one(s.channel).body, "c");
});

// --- what is retried, and the counter

Deno.test("x-delivery-count is a long, absent at first, then the number of earlier deliveries", () => {
  const s = scene({ ...CONSTANT, [LIMIT]: 2 });
  s.channel.publish("q", "x");
  const first = one(s.channel);
  assertEquals([first.redelivered, first.properties], [false, {}]);
  s.channel.reject(first.tag, true);
  const second = comesAfter(s, DELAY_MS);
  assertEquals([second.redelivered, countOf(second)], [true, { tag: "l", value: 1 }]);
  s.channel.nack(second.tag, true);
  const third = comesAfter(s, DELAY_MS);
  assertEquals([third.redelivered, countOf(third)], [true, { tag: "l", value: 2 }]);
  s.channel.reject(third.tag, true);
  const dead = s.channel.get("dead")!;
  assertEquals(countOf(dead), { tag: "l", value: 2 });
  assertEquals([dead.redelivered, deathsOf(dead)], [false, ["q delivery_limit 1"]]);
});

Deno.test("a forged x-delivery-count is gone at first and replaced later, whatever its type", () => {
  const forgeries: FieldValue[] = [
    longField(99),
    { tag: "S", value: "99" },
    { tag: "A", value: [longField(1)] },
    { tag: "V" },
  ];
  for (const forged of forgeries) {
    const s = scene();
    const headers = table({ before: 1, "x-delivery-count": forged, after: "z" });
    s.channel.publish("q", "x", { properties: { headers, messageId: "m" } });
    const first = one(s.channel);
    assertEquals(first.properties, { headers: table({ before: 1, after: "z" }), messageId: "m" });
    s.channel.reject(first.tag, true);
    const second = comesAfter(s, DELAY_MS);
    assertEquals(
      second.properties.headers,
      table({ before: 1, after: "z", "x-delivery-count": 1 }),
    );
    s.channel.reject(second.tag, false);
    assertEquals(countOf(s.channel.get("dead")), longField(1));
  }
});

Deno.test("a queue that does not count leaves a publisher's x-delivery-count as it is", () => {
  const s = scene();
  s.channel.exchange("both", "fanout");
  s.channel.bind("q", "both");
  s.channel.bind("dead", "both");
  const headers = table({ "x-delivery-count": 7 });
  s.channel.publish("", "x", { exchange: "both", properties: { headers } });
  assertEquals(countOf(one(s.channel)), undefined);
  assertEquals(countOf(s.channel.get("dead")), longField(7));
});

Deno.test("a dead letter rejected at its first delivery carries no x-delivery-count", () => {
  const s = scene();
  const headers = table({ "x-delivery-count": 7 });
  s.channel.publish("q", "x", { properties: { headers } });
  s.channel.reject(one(s.channel).tag, false);
  const dead = s.channel.get("dead");
  assertEquals([countOf(dead), deathsOf(dead)], [undefined, ["q rejected 1"]]);
});

Deno.test("a dead letter that expired at its rejection carries the count last delivered", () => {
  const s = scene({ ...CONSTANT, "x-message-ttl": 250 });
  s.channel.publish("q", "x");
  s.channel.reject(one(s.channel).tag, true);
  const second = comesAfter(s, DELAY_MS);
  assertEquals(countOf(second), longField(1));
  s.node.advance(200);
  s.channel.reject(second.tag, true);
  const dead = s.channel.get("dead");
  assertEquals([countOf(dead), deathsOf(dead)], [longField(1), ["q expired 1"]]);
});

Deno.test("a dead letter that expired in its delay carries the count last delivered", () => {
  const s = scene({ ...CONSTANT, "x-message-ttl": 250 });
  s.channel.publish("q", "x");
  s.channel.reject(one(s.channel).tag, true);
  s.channel.reject(comesAfter(s, DELAY_MS).tag, true);
  s.channel.reject(comesAfter(s, DELAY_MS).tag, true);
  s.node.advance(49);
  assertEquals(s.channel.get("dead"), null);
  s.node.advance(1);
  const dead = s.channel.get("dead");
  assertEquals([countOf(dead), deathsOf(dead)], [longField(2), ["q expired 1"]]);
  s.node.advance(DELAY_MS);
  assertEquals(s.channel.deliveries(), []);
});

Deno.test("a message past its time and its limit when rejected is dead as expired", () => {
  const s = scene({ ...CONSTANT, [LIMIT]: 0 });
  s.channel.publish("q", "x", { properties: { expiration: "10" } });
  const { tag } = one(s.channel);
  s.node.advance(10);
  s.channel.reject(tag, true);
  assertEquals(deathsOf(s.channel.get("dead")), ["q expired 1"]);
});

Deno.test("a retry-enabled dead-letter queue starts a fresh budget", () => {
  const s = scene({ ...CONSTANT, [LIMIT]: 1, "x-dead-letter-routing-key": "second" });
  s.channel.queue("second", { ...CONSTANT, [LIMIT]: 1 });
  s.channel.publish("q", "x");
  s.channel.reject(one(s.channel).tag, true);
  s.channel.reject(comesAfter(s, DELAY_MS).tag, true);
  const fresh = s.channel.get("second")!;
  assertEquals([fresh.redelivered, countOf(fresh)], [false, undefined]);
  s.channel.reject(fresh.tag, true);
  s.node.advance(DELAY_MS);
  assertEquals(countOf(s.channel.get("second")), longField(1));
});

Deno.test("requeue=false is never retried, by reject and by nack", () => {
  const s = scene();
  s.channel.publish("q", "a");
  s.channel.publish("q", "b");
  const [a, b] = s.channel.deliveries();
  s.channel.reject(a!.tag, false);
  s.channel.nack(b!.tag, false);
  for (const body of ["a", "b"]) {
    const dead = s.channel.get("dead")!;
    assertEquals([dead.body, deathsOf(dead)], [body, ["q rejected 1"]]);
  }
  s.node.advance(10 * DELAY_MS);
  assertEquals(s.channel.deliveries(), []);
});

Deno.test("nack with multiple delays every message up to the tag, tag 0 all of them", () => {
  const s = scene();
  for (const body of ["a", "b", "c", "d"]) s.channel.publish("q", body);
  const tags = s.channel.deliveries().map(({ tag }) => tag);
  s.channel.nack(tags[1]!, true, true);
  s.node.advance(DELAY_MS / 2);
  s.channel.nack(0, true, true);
  s.node.advance(DELAY_MS / 2);
  const bodies = () => s.channel.deliveries().map(({ body }) => body);
  assertEquals(bodies(), ["a", "b"]);
  s.node.advance(DELAY_MS / 2);
  assertEquals(bodies(), ["c", "d"]);
});

Deno.test("a message got with basic.get is retried like a delivered one", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q", CONSTANT);
  channel.publish("q", "x");
  channel.reject(channel.get("q")!.tag, true);
  assertEquals(channel.get("q"), null);
  node.advance(DELAY_MS);
  const again = channel.get("q")!;
  assertEquals([again.redelivered, countOf(again)], [true, longField(1)]);
});

Deno.test("cancel leaves messages out; they may be rejected and are delayed then", () => {
  const { node, channel } = scene();
  channel.queue("other", CONSTANT);
  const tag = channel.consume("other");
  channel.publish("other", "x");
  const out = one(channel);
  channel.cancel(tag);
  node.advance(10 * DELAY_MS);
  assertEquals([channel.get("other"), channel.deliveries()], [null, []]);
  channel.reject(out.tag, true);
  node.advance(DELAY_MS - 1);
  assertEquals(channel.get("other"), null);
  node.advance(1);
  assertEquals(countOf(channel.get("other")), longField(1));
});

/** What gives a message back at once, and counts. */
const INSTANT: [string, (channel: ClientChannel) => void][] = [
  ["recover", (channel) => channel.rpc(M.BASIC_RECOVER, { requeue: true }, M.BASIC_RECOVER_OK)],
  ["recover-async", (channel) => channel.send(M.BASIC_RECOVER_ASYNC, { requeue: true })],
  ["channel.close", (channel) => channel.close()],
  ["a channel error", (channel) => channel.ack(999)],
  ["connection.close", (channel) => channel.client.close()],
  ["a lost connection", (channel) => channel.client.wire.drop()],
];

for (const [name, act] of INSTANT) {
  Deno.test(`${name} requeues at once where the message stood, and spends a delivery`, () => {
    const node = new TestNode();
    const setup = node.connect().channel();
    setup.queue("dead");
    setup.queue("q", { ...DLX, ...CONSTANT, [LIMIT]: 1 });
    for (const body of ["a", "b", "c"]) setup.publish("q", body);
    const victim = node.connect().channel();
    assertEquals([victim.get("q")!.body, victim.get("q")!.body], ["a", "b"]);
    act(victim);
    const seen = ["a", "b", "c"].map((body) => {
      const message = setup.get("q")!;
      assertEquals(message.body, body);
      return [message.redelivered, countOf(message)];
    });
    assertEquals(seen, [[true, longField(1)], [true, longField(1)], [false, undefined]]);
    // The second delivery was the last that the limit allows.
    setup.rpc(M.BASIC_RECOVER, { requeue: true }, M.BASIC_RECOVER_OK);
    const dead = [setup.get("dead"), setup.get("dead")];
    assertEquals(dead.map((message) => message!.body), ["a", "b"]);
    assertEquals(deathsOf(dead[0]!), ["q delivery_limit 1"]);
    assertEquals(setup.get("q")!.body, "c");
  });
}

Deno.test("a limit of 4 gives five deliveries whatever mix of causes, and each raises n", () => {
  const node = new TestNode();
  const setup = node.connect().channel();
  setup.queue("dead");
  setup.queue("q", { ...DLX, [MIN]: DELAY_MS, [LIMIT]: 4 });
  setup.publish("q", "x");
  const counts: unknown[] = [];
  const taken = (channel: ClientChannel) => {
    const message = channel.get("q")!;
    counts.push(countOf(message));
    return message.tag;
  };
  const first = node.connect().channel();
  taken(first);
  first.client.wire.drop();
  setup.reject(taken(setup), true);
  node.advance(2 * DELAY_MS - 1);
  assertEquals(setup.get("q"), null);
  node.advance(1);
  taken(setup);
  setup.rpc(M.BASIC_RECOVER, { requeue: true }, M.BASIC_RECOVER_OK);
  setup.nack(taken(setup), true);
  node.advance(4 * DELAY_MS);
  const last = node.connect().channel();
  taken(last);
  last.close();
  assertEquals(counts, [undefined, ...[1, 2, 3, 4].map((count) => longField(count))]);
  assertEquals(deathsOf(setup.get("dead")), ["q delivery_limit 1"]);
  node.advance(100 * DELAY_MS);
  assertEquals(setup.get("q"), null);
});

Deno.test("after the limit a message without a dead-letter exchange is dropped", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q", { ...CONSTANT, [LIMIT]: 0 });
  channel.publish("q", "x");
  channel.reject(channel.get("q")!.tag, true);
  node.advance(10 * DELAY_MS);
  assertEquals(channel.get("q"), null);
  assertEquals(channel.rpc(M.QUEUE_DELETE, { queue: "q" }, M.QUEUE_DELETE_OK).args.messageCount, 0);
  assertEquals(node.broker.store.liveMessageCount, 0);
});

Deno.test("in a transaction a reject works at commit, its delay counts from there", () => {
  const s = scene();
  s.channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  s.channel.publish("q", "x");
  s.channel.rpc(M.TX_COMMIT, {}, M.TX_COMMIT_OK);
  s.channel.reject(one(s.channel).tag, true);
  s.node.advance(10 * DELAY_MS);
  assertEquals(s.channel.deliveries(), []);
  s.channel.rpc(M.TX_COMMIT, {}, M.TX_COMMIT_OK);
  assertEquals(countOf(comesAfter(s, DELAY_MS)), longField(1));
});

Deno.test("a rollback undoes a reject: nothing is delayed, nothing is spent", () => {
  const s = scene();
  s.channel.publish("q", "x");
  s.channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  const { tag } = one(s.channel);
  s.channel.nack(tag, true);
  s.channel.rpc(M.TX_ROLLBACK, {}, M.TX_ROLLBACK_OK);
  s.node.advance(10 * DELAY_MS);
  assertEquals(s.channel.deliveries(), []);
  s.channel.nack(tag, true);
  s.channel.rpc(M.TX_COMMIT, {}, M.TX_COMMIT_OK);
  assertEquals(countOf(comesAfter(s, DELAY_MS)), longField(1));
});

Deno.test("a channel that closes with a reject in its transaction requeues at once", () => {
  const s = scene();
  s.channel.publish("q", "x");
  const out = one(s.channel);
  s.channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  s.channel.reject(out.tag, false);
  s.channel.close();
  const again = s.channel.client.channel().get("q")!;
  assertEquals([again.redelivered, countOf(again)], [true, longField(1)]);
  assertEquals(statusOf(s.channel.client.channel(), "dead"), 0);
});

Deno.test("a queue with a limit and no retry counts on the wire and requeues at once", () => {
  const s = scene({ [LIMIT]: 1 });
  s.channel.publish("q", "x");
  s.channel.reject(one(s.channel).tag, true);
  const second = one(s.channel);
  assertEquals([second.redelivered, countOf(second)], [true, longField(1)]);
  s.channel.nack(second.tag, true);
  assertEquals(deathsOf(s.channel.get("dead")), ["q delivery_limit 1"]);
});

Deno.test("a message comes through a retry unchanged: address, properties, headers, body", () => {
  const s = scene();
  s.channel.exchange("work", "topic");
  s.channel.bind("q", "work", "a.#");
  const properties = {
    contentType: "text/plain",
    contentEncoding: "none",
    headers: table({ "x-delay": 5000, "x-retry": "mine", "x-death": "no history" }),
    deliveryMode: 2,
    priority: 3,
    correlationId: "c",
    replyTo: "r",
    expiration: "100000",
    messageId: "m",
    timestamp: 1_600_000_000,
    type: "t",
    userId: "guest",
    appId: "app",
  };
  s.channel.publish("a.b", "payload", { exchange: "work", properties });
  const first = one(s.channel);
  assertEquals(first.properties, properties);
  s.channel.rpc(M.EXCHANGE_DELETE, { exchange: "work" }, M.EXCHANGE_DELETE_OK);
  s.channel.reject(first.tag, true);
  const { tag: _, redelivered, ...again } = comesAfter(s, DELAY_MS);
  const { tag: __, redelivered: ___, ...expected } = first;
  const headers = new Map([...properties.headers, ["x-delivery-count", longField(1)]]);
  assertEquals(again, { ...expected, properties: { ...properties, headers } });
  assertEquals(redelivered, true);
});

Deno.test("a due message goes to the tail, one requeued at once to its old place", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q", CONSTANT);
  for (const body of ["a", "b", "c"]) channel.publish("q", body);
  channel.reject(channel.get("q")!.tag, true);
  node.advance(DELAY_MS);
  const order = () => ["", "", ""].map(() => channel.get("q")!.body).join("");
  assertEquals(order(), "bca");
  channel.rpc(M.BASIC_RECOVER, { requeue: true }, M.BASIC_RECOVER_OK);
  assertEquals(order(), "bca");
});
