// Durable things over the wire (docs/storage.md "What survives" and "When it is safe"): when answers
// leave, and what is there after the node was killed and started again.

import { assert, assertEquals } from "@std/assert";
import { longField } from "../../src/amqp/field_value.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import { Prng } from "../../src/lib/prng.ts";
import type { ClientChannel, Message } from "../support/client_channel.ts";
import { DurableNode } from "../support/durable_node.ts";
import { type Plain, table } from "../support/test_broker.ts";

const DURABLE = { durable: true };
const KEPT = { properties: { deliveryMode: 2 } };
const MIN = "x-delayed-retry-min";
const DEAD: Plain = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
const HOUR_MS = 3_600_000;

function channelOf(life: DurableNode): ClientChannel {
  return life.node.connect().channel();
}

function names(channel: ClientChannel): string[] {
  return channel.client.inbox.splice(0).map(({ name }) => name);
}

function show(message: Message): string {
  const count = message.properties.headers?.get("x-delivery-count");
  return `${message.body} ${message.redelivered} ${count?.tag === "l" ? count.value : "-"}`;
}

function queueOf(life: DurableNode, name: string) {
  return life.node.queue(name);
}

// --- answers

const CHANGES: [string, number, object][] = [
  ["queue.declare-ok", M.QUEUE_DECLARE, { queue: "new", ...DURABLE }],
  ["exchange.declare-ok", M.EXCHANGE_DECLARE, { exchange: "x2", type: "fanout", ...DURABLE }],
  ["queue.bind-ok", M.QUEUE_BIND, { queue: "q", exchange: "x", routingKey: "k" }],
  ["exchange.bind-ok", M.EXCHANGE_BIND, { destination: "y", source: "x", routingKey: "k" }],
  ["queue.unbind-ok", M.QUEUE_UNBIND, { queue: "q", exchange: "x", routingKey: "old" }],
  ["exchange.unbind-ok", M.EXCHANGE_UNBIND, { destination: "y", source: "x", routingKey: "old" }],
  ["queue.delete-ok", M.QUEUE_DELETE, { queue: "q" }],
  ["exchange.delete-ok", M.EXCHANGE_DELETE, { exchange: "x" }],
];

for (const [answer, method, args] of CHANGES) {
  Deno.test(`${answer} leaves when the change is on the disk, frames behind it wait`, () => {
    const life = new DurableNode();
    const channel = channelOf(life);
    channel.queue("q", {}, DURABLE);
    channel.exchange("x", "topic", DURABLE);
    channel.exchange("y", "fanout", DURABLE);
    channel.bind("q", "x", "old");
    const binding = { destination: "y", source: "x", routingKey: "old", arguments: new Map() };
    channel.rpc(M.EXCHANGE_BIND, binding, M.EXCHANGE_BIND_OK);
    life.hold();
    channel.send(method, { arguments: new Map(), ...args });
    channel.send(M.BASIC_QOS, { prefetchCount: 1 });
    assertEquals(names(channel), []);
    life.release();
    assertEquals(names(channel), [answer, "basic.qos-ok"]);
  });
}

Deno.test("who declares what another client has just declared learns of it no earlier", () => {
  const again: [number, object, string][] = [
    [M.QUEUE_DECLARE, { queue: "q", ...DURABLE }, "queue.declare-ok"],
    [M.QUEUE_DECLARE, { queue: "q", passive: true }, "queue.declare-ok"],
    [M.EXCHANGE_DECLARE, { exchange: "x", type: "topic", ...DURABLE }, "exchange.declare-ok"],
    [M.EXCHANGE_DECLARE, { exchange: "x", type: "", passive: true }, "exchange.declare-ok"],
  ];
  for (const [method, args, answer] of again) {
    const life = new DurableNode();
    const [first, second] = [channelOf(life), channelOf(life)];
    life.hold();
    first.send(M.EXCHANGE_DECLARE, {
      exchange: "x",
      type: "topic",
      ...DURABLE,
      arguments: new Map(),
    });
    const other = channelOf(life);
    other.send(M.QUEUE_DECLARE, { queue: "q", ...DURABLE, arguments: new Map() });
    second.send(method, { arguments: new Map(), ...args });
    assertEquals(names(second), []);
    life.release();
    assertEquals(names(second), [answer]);
  }
});

const REMOVALS: [string, number, object][] = [
  ["queue.unbind-ok", M.QUEUE_UNBIND, { queue: "fleeting", exchange: "x", routingKey: "k" }],
  ["queue.delete-ok", M.QUEUE_DELETE, { queue: "fleeting" }],
  ["queue.delete-ok", M.QUEUE_DELETE, { queue: "nothing" }],
  ["exchange.unbind-ok", M.EXCHANGE_UNBIND, { destination: "y", source: "x", routingKey: "k" }],
  ["exchange.delete-ok", M.EXCHANGE_DELETE, { exchange: "y" }],
];

/** A node with an exchange that is kept and others that are not, and two of its channels. */
function fleeting(): { life: DurableNode; channel: ClientChannel; other: ClientChannel } {
  const life = new DurableNode();
  const channel = channelOf(life);
  channel.exchange("x", "direct", DURABLE);
  channel.exchange("y", "fanout");
  channel.queue("fleeting", {}, { durable: false });
  channel.bind("fleeting", "x", "k");
  return { life, channel, other: channelOf(life) };
}

const REMOVALS_OF_KEPT: readonly [string, number, object][] = [
  ["queue.delete-ok", M.QUEUE_DELETE, { queue: "q" }],
  ["exchange.delete-ok", M.EXCHANGE_DELETE, { exchange: "x" }],
  ["queue.unbind-ok", M.QUEUE_UNBIND, { queue: "q", exchange: "x", routingKey: "k" }],
];

for (const [answer, method, args] of REMOVALS) {
  Deno.test(`${answer} for what is not kept does not wait for what others declare`, () => {
    const { life, channel, other } = fleeting();
    life.hold();
    other.send(M.QUEUE_DECLARE, { queue: "new", ...DURABLE, arguments: new Map() });
    channel.send(method, { arguments: new Map(), ...args });
    assertEquals([names(channel), names(other)], [[answer], []]);
    life.release();
    assertEquals(names(other), ["queue.declare-ok"]);
  });
}

Deno.test("a delete of what is not kept goes on while declares are refused by the disk", () => {
  const { life, channel, other } = fleeting();
  life.disk.quotaBytes = 0;
  other.send(M.QUEUE_DECLARE, { queue: "new", ...DURABLE, arguments: new Map() });
  other.client.expect(M.CONNECTION_CLOSE, 0);
  channel.send(M.QUEUE_DELETE, { queue: "fleeting" });
  assertEquals(names(channel), ["queue.delete-ok"]);
});

Deno.test("who deletes what another client has just deleted is told no earlier", () => {
  const { life, channel, other } = fleeting();
  channel.queue("q", {}, DURABLE);
  life.hold();
  channel.send(M.QUEUE_DELETE, { queue: "q" });
  other.send(M.QUEUE_DELETE, { queue: "q" });
  assertEquals(names(other), []);
  life.release();
  assertEquals(names(other), ["queue.delete-ok"]);
});

Deno.test("a declare that the disk refuses closes its connection with 506", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  life.disk.failNext("write", "EIO", "log-");
  channel.send(M.QUEUE_DECLARE, { queue: "q", ...DURABLE, arguments: new Map() });
  const { args } = channel.client.expect(M.CONNECTION_CLOSE, 0);
  assertEquals((args as M.ConnectionClose).replyCode, 506);
});

for (const [answer, method, args] of REMOVALS_OF_KEPT) {
  Deno.test(`${answer} is not sent for what the disk refuses to forget: 506`, () => {
    const life = new DurableNode();
    const channel = channelOf(life);
    channel.queue("q", {}, DURABLE);
    channel.exchange("x", "direct", DURABLE);
    channel.bind("q", "x", "k");
    life.disk.failNext("write", "EIO", "log-");
    channel.send(method, { arguments: new Map(), ...args });
    const { args: close } = channel.client.expect(M.CONNECTION_CLOSE, 0);
    assertEquals((close as M.ConnectionClose).replyCode, 506);
  });
}

Deno.test("while no log file takes writes, new definitions are refused to everybody and old ones work", () => {
  const life = new DurableNode();
  const first = channelOf(life);
  first.queue("old", {}, DURABLE);
  first.exchange("x", "direct", DURABLE);
  first.bind("old", "x", "k");
  first.publish("old", "m", KEPT);
  life.disk.quotaBytes = 0;
  const bind = { queue: "old", exchange: "x", arguments: new Map() };
  const refused: [number, object][] = [
    [M.QUEUE_DECLARE, { queue: "new", ...DURABLE }],
    [M.QUEUE_DECLARE, { queue: "new", ...DURABLE }],
    [M.QUEUE_DECLARE, { queue: "new", passive: true }],
    [M.EXCHANGE_DECLARE, { exchange: "y", type: "fanout", ...DURABLE }],
    [M.EXCHANGE_DECLARE, { exchange: "y", type: "fanout", ...DURABLE }],
    [M.QUEUE_BIND, { ...bind, routingKey: "other" }],
    [M.QUEUE_BIND, { ...bind, routingKey: "other" }],
  ];
  for (const [method, args] of refused) {
    const channel = channelOf(life);
    channel.send(method, { arguments: new Map(), ...args });
    const { args: close } = channel.client.expect(M.CONNECTION_CLOSE, 0);
    assertEquals((close as M.ConnectionClose).replyCode, 506);
  }
  const channel = channelOf(life);
  channel.queue("old", {}, DURABLE);
  channel.queue("old", {}, { passive: true });
  channel.exchange("x", "direct", DURABLE);
  channel.bind("old", "x", "k");
  channel.queue("fleeting", {}, { exclusive: true });
  assertEquals(channel.get("old", true)?.body, "m");
  life.disk.quotaBytes = Infinity;
  life.node.advance(1000);
  life.node.engine.turn(() => {});
  life.node.settle();
  for (const flags of [DURABLE, { passive: true }]) channel.queue("new", {}, flags);
  channel.bind("old", "x", "other");
  const { queues, exchanges } = life.restart().node.broker.vhosts.get("/")!;
  assertEquals([...queues.keys()], ["old", "new"]);
  assert(exchanges.has("y"));
});

Deno.test("after a power loss a confirmed message has its queue, exchange and binding, without answers", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const life = new DurableNode();
    const channel = channelOf(life);
    channel.confirmSelect();
    life.hold();
    const nowait = { nowait: true, arguments: new Map() };
    channel.send(M.EXCHANGE_DECLARE, { exchange: "x", type: "direct", ...DURABLE, ...nowait });
    channel.send(M.QUEUE_DECLARE, { queue: "q", ...DURABLE, ...nowait });
    channel.send(M.QUEUE_BIND, { queue: "q", exchange: "x", routingKey: "k", ...nowait });
    channel.publish("k", "m", { exchange: "x", ...KEPT });
    assertEquals(channel.confirms(), []);
    life.release();
    assertEquals(channel.confirms(), ["+1"]);
    const next = life.restart(0, { kind: "power", prng: new Prng(seed) });
    const later = channelOf(next);
    later.publish("k", "n", { exchange: "x", ...KEPT });
    assertEquals([later.get("q", true)?.body, later.get("q", true)?.body], ["m", "n"]);
  }
});

Deno.test("a mandatory message comes back before its confirm, which passes none that waits", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  channel.queue("q", {}, DURABLE);
  channel.confirmSelect();
  life.hold();
  channel.publish("q", "1", KEPT);
  channel.publish("nowhere", "2", { mandatory: true, ...KEPT });
  channel.publish("q", "3");
  assertEquals(names(channel), ["basic.return"]);
  channel.publish("q", "4", KEPT);
  assertEquals(channel.confirms(), []);
  life.release();
  assertEquals(channel.confirms(), ["+1", "+2", "+3", "+4"]);
});

Deno.test("tx.commit-ok leaves when publishes and settlements are on the disk", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  channel.queue("q", {}, DURABLE);
  for (const body of ["1", "2", "3"]) channel.publish("q", body, KEPT);
  channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  const tags = [1, 2].map(() => channel.get("q")!.tag);
  channel.ack(tags[0]!);
  channel.nack(tags[1]!, false);
  life.hold();
  channel.send(M.TX_COMMIT);
  assertEquals(names(channel), []);
  life.release();
  assertEquals(names(channel), ["tx.commit-ok"]);
  for (let seed = 1; seed <= 10; seed++) {
    const next = life.restart(0, { kind: "power", prng: new Prng(seed) });
    const later = channelOf(next);
    assertEquals([later.get("q")?.body, later.get("q")], ["3", null]);
  }
  // Nothing that a disk keeps: nothing to wait for.
  life.hold();
  channel.publish("q", "4");
  channel.send(M.TX_COMMIT);
  assertEquals(names(channel), ["tx.commit-ok"]);
});

// --- what is there after a restart

Deno.test("exclusive queues are gone after a restart, auto-delete ones wait for their next last consumer", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  channel.queue("mine", {}, { ...DURABLE, exclusive: true });
  channel.queue("auto", {}, { ...DURABLE, autoDelete: true });
  channel.publish("auto", "m", KEPT);
  const next = life.restart();
  const later = channelOf(next);
  const { queues } = next.node.broker.vhosts.get("/")!;
  assertEquals([...queues.keys()], ["auto"]);
  later.cancel(later.consume("auto"));
  assertEquals([...queues.keys()], []);
  assertEquals([...next.restart().node.broker.vhosts.get("/")!.queues.keys()], []);
});

/** A life in which one message is delayed, one requeued, one out and one untouched. */
function played(args: Plain): DurableNode {
  const life = new DurableNode();
  const client = life.node.connect();
  const channel = client.channel();
  channel.queue("dead", {}, DURABLE);
  channel.queue("q", { ...DEAD, [MIN]: 1000, "x-delivery-limit": 9, ...args }, DURABLE);
  for (const body of ["delayed", "requeued", "out"]) channel.publish("q", body, KEPT);
  const [delayed, requeued] = [channel, client.channel(), client.channel()].map((one) => ({
    one,
    tag: one.get("q")!.tag,
  }));
  delayed!.one.reject(delayed!.tag, true);
  requeued!.one.close();
  channel.publish("q", "new", KEPT);
  return life;
}

Deno.test("count and redelivered flag survive for delayed, requeued and messages out for delivery", () => {
  const next = played({}).restart();
  const channel = channelOf(next);
  channel.consume("q");
  assertEquals(channel.deliveries().map(show), ["requeued true 1", "out true 1", "new false -"]);
  next.node.advance(999);
  assertEquals(channel.deliveries(), []);
  next.node.advance(1);
  assertEquals(channel.deliveries().map(show), ["delayed true 1"]);
  // And the next life counts on.
  const third = next.restart();
  const later = channelOf(third);
  later.consume("q");
  const seen = later.deliveries().map(show);
  assertEquals(seen, ["requeued true 2", "out true 2", "new true 1", "delayed true 2"]);
});

Deno.test("a wall clock that jumped while the node was down moves delays by what it says, never back", () => {
  const early = played({}).restart(400);
  const channel = channelOf(early);
  channel.consume("q");
  channel.deliveries();
  early.node.advance(599);
  assertEquals(channel.deliveries(), []);
  early.node.advance(1);
  assertEquals(channel.deliveries().map(show), ["delayed true 1"]);

  const late = played({}).restart(HOUR_MS);
  const second = channelOf(late);
  second.consume("q");
  assertEquals(second.deliveries().length, 4);

  // Set back by an hour: time goes on where it was, a little slower.
  const back = played({}).restart(-HOUR_MS);
  const third = channelOf(back);
  third.consume("q");
  third.deliveries();
  back.node.advance(999);
  assertEquals(third.deliveries(), []);
  back.node.advance(2 + 1);
  assertEquals(third.deliveries().map(show), ["delayed true 1"]);
});

Deno.test("a wall clock that jumps while the node runs neither delays nor hurries", () => {
  for (const jumpMs of [HOUR_MS, -HOUR_MS]) {
    const life = played({});
    const { node } = life;
    const channel = channelOf(life);
    channel.consume("q");
    channel.deliveries();
    node.clock.setWall(node.clock.wallMs() + jumpMs);
    node.advance(997);
    assertEquals(channel.deliveries(), []);
    node.advance(6);
    assertEquals(channel.deliveries().map(show), ["delayed true 1"]);
  }
});

Deno.test("overdue messages go at once when the node starts, in due order", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  channel.queue("q", { [MIN]: 1000, "x-delivery-limit": 50 }, DURABLE);
  for (const body of ["1", "2", "3"]) channel.publish("q", body, KEPT);
  // The first one has been delivered twice more, so it waits longest.
  const tags = [1, 2, 3].map(() => channel.get("q")!.tag);
  channel.reject(tags[0]!, true);
  life.node.advance(1000);
  channel.reject(channel.get("q")!.tag, true);
  channel.reject(tags[2]!, true);
  life.node.advance(10);
  channel.reject(tags[1]!, true);
  const next = life.restart(HOUR_MS);
  const later = channelOf(next);
  later.consume("q");
  assertEquals(later.deliveries().map(show), ["3 true 1", "2 true 1", "1 true 2"]);
});

Deno.test("a message that expired while the node was down is dead at its start, not delivered", () => {
  for (const downMs of [500, 2500]) {
    const life = played({ "x-message-ttl": 2000 });
    const next = life.restart(downMs);
    const channel = channelOf(next);
    channel.consume("q");
    if (downMs === 500) {
      next.node.advance(499);
      assertEquals(channel.deliveries().length, 3);
      continue;
    }
    assertEquals(channel.deliveries(), []);
    const dead = new Map<string, string>();
    for (let one = channel.get("dead"); one !== null; one = channel.get("dead")) {
      const reason = one.properties.headers?.get("x-first-death-reason");
      dead.set(one.body, `${reason?.tag === "S" ? reason.value : ""} ${show(one)}`);
    }
    // The count is that of the last delivery, which was the first.
    for (const body of ["delayed", "requeued", "out", "new"]) {
      assertEquals(dead.get(body), `expired ${body} false -`);
    }
  }
});

Deno.test("a message out at the end that is past its time and its limit is dead as expired", () => {
  const life = played({ "x-message-ttl": 2000, "x-delivery-limit": 0 });
  const next = life.restart(2500);
  const channel = channelOf(next);
  const reasons: string[] = [];
  for (let one = channel.get("dead"); one !== null; one = channel.get("dead")) {
    const reason = one.properties.headers?.get("x-first-death-reason");
    reasons.push(`${one.body} ${reason?.tag === "S" ? reason.value : ""}`);
  }
  assert(reasons.includes("out expired"), reasons.join());
});

Deno.test("purge, delete and x-expires treat delayed messages after a restart as before", () => {
  const purged = played({}).restart();
  const first = channelOf(purged);
  first.send(M.QUEUE_DELETE, { queue: "q", ifEmpty: true });
  assertEquals(first.takeClose().replyCode, 406);
  const channel = channelOf(purged);
  const { args } = channel.rpc(M.QUEUE_PURGE, { queue: "q" }, M.QUEUE_PURGE_OK);
  assertEquals(args.messageCount, 4);
  const again = purged.restart();
  assertEquals([queueOf(again, "q").readyCount, queueOf(again, "q").delayedCount], [0, 0]);

  const deleted = played({}).restart();
  channelOf(deleted).rpc(M.QUEUE_DELETE, { queue: "q" }, M.QUEUE_DELETE_OK);
  const gone = deleted.restart(HOUR_MS);
  assertEquals(gone.store.liveMessageCount, 0);

  const life = new DurableNode();
  const c = channelOf(life);
  c.queue("e", { [MIN]: 10_000, "x-expires": 3000 }, DURABLE);
  c.publish("e", "m", KEPT);
  c.reject(c.get("e")!.tag, true);
  const next = life.restart();
  next.node.advance(9_999);
  assertEquals(queueOf(next, "e").delayedCount, 1);
  next.node.advance(1 + 2_999);
  assertEquals(queueOf(next, "e").readyCount, 1);
  next.node.advance(1);
  assertEquals(next.node.broker.vhosts.get("/")!.queues.has("e"), false);
});

Deno.test("a forged x-delivery-count is removed after a restart as well", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  channel.queue("q", { [MIN]: 1000 }, DURABLE);
  const headers = new Map([["x-delivery-count", longField(7)], ["x-delay", longField(5)]]);
  channel.publish("q", "m", { properties: { deliveryMode: 2, headers } });
  const next = life.restart();
  const later = channelOf(next);
  const message = later.get("q")!;
  assertEquals(show(message), "m false -");
  assertEquals(message.properties.headers?.get("x-delay"), longField(5));
  later.reject(message.tag, true);
  const third = next.restart(1000);
  const last = channelOf(third).get("q")!;
  assertEquals(show(last), "m true 1");
  assertEquals(last.properties.headers?.get("x-delay"), longField(5));
});

Deno.test("the retry queue of a restored queue is there and refuses everybody", () => {
  const life = played({}).restart();
  const refused: [number, object][] = [
    [M.QUEUE_DECLARE, { queue: "amq.retry-q", passive: true }],
    [M.QUEUE_DECLARE, { queue: "amq.retry-q", ...DURABLE }],
    [M.QUEUE_DELETE, { queue: "amq.retry-q" }],
    [M.QUEUE_PURGE, { queue: "amq.retry-q" }],
    [M.BASIC_GET, { queue: "amq.retry-q" }],
    [M.BASIC_CONSUME, { queue: "amq.retry-q" }],
  ];
  for (const [method, args] of refused) {
    const channel = channelOf(life);
    channel.send(method, { arguments: new Map(), ...args });
    assertEquals(channel.takeClose().replyCode, 403);
  }
  assertEquals(queueOf(life, "q").retryQueueName, "amq.retry-q");
  assertEquals(queueOf(life, "q").delayedCount, 1);
});

Deno.test("a durable queue that is declared again with other arguments answers 406 after a restart", () => {
  const life = played({}).restart();
  const args = { ...DEAD, [MIN]: 1000, "x-delivery-limit": 9 };
  channelOf(life).queue("q", args, DURABLE);
  for (const other of [{ ...args, [MIN]: 1001 }, { ...DEAD, [MIN]: 1000 }]) {
    const channel = channelOf(life);
    channel.send(M.QUEUE_DECLARE, { queue: "q", ...DURABLE, arguments: table(other) });
    assertEquals(channel.takeClose().replyCode, 406);
  }
});

Deno.test("a dead letter survives a restart if its message would have", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  channel.queue("dead", {}, DURABLE);
  channel.queue("q", DEAD, DURABLE);
  channel.publish("q", "kept", KEPT);
  channel.publish("q", "transient");
  for (let i = 0; i < 2; i++) channel.reject(channel.get("q")!.tag, false);
  const later = channelOf(life.restart(0));
  const messages = [later.get("dead"), later.get("dead"), later.get("q")];
  assertEquals(messages.map((message) => message?.body), ["kept", undefined, undefined]);
});

Deno.test("the wait queue with a dead-letter exchange goes on after a restart, by time and not by place", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  channel.queue("work", {}, DURABLE);
  const back = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "work" };
  channel.queue("wait", { ...back, "x-message-ttl": 60_000 }, DURABLE);
  const expiring = (expiration: string) => ({ properties: { deliveryMode: 2, expiration } });
  channel.publish("wait", "long", expiring("50000"));
  channel.publish("wait", "short", expiring("3000"));
  const next = life.restart(1000);
  const later = channelOf(next);
  later.consume("work", { noAck: true });
  next.node.advance(1999);
  assertEquals(later.deliveries(), []);
  next.node.advance(1);
  const [short] = later.deliveries();
  assertEquals(short!.body, "short");
  const deaths = short!.properties.headers?.get("x-death");
  assert(deaths?.tag === "A" && deaths.value.length === 1);
  next.node.advance(47_000);
  assertEquals(later.deliveries().map(({ body }) => body), ["long"]);
});

Deno.test("queue.delete-ok comes before basic.cancel on the channel that deletes, and on others it waits for nobody", () => {
  for (const durable of [true, false]) {
    const life = new DurableNode();
    const channel = channelOf(life);
    const other = channelOf(life);
    channel.queue("q", {}, { durable });
    const tags = [channel.consume("q"), channel.consume("q")];
    other.consume("q");
    life.hold();
    channel.send(M.QUEUE_DELETE, { queue: "q" });
    assertEquals(names(other), ["basic.cancel"]);
    life.release();
    const told = channel.client.inbox.map(({ name, args }) => `${name} ${args.consumerTag ?? ""}`);
    const cancels = tags.map((tag) => `basic.cancel ${tag}`);
    assertEquals(told, ["queue.delete-ok ", ...cancels]);
  }
});

Deno.test("queue.delete with nowait cancels the consumers of its channel at once", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  channel.queue("q", {}, DURABLE);
  channel.consume("q");
  channel.send(M.QUEUE_DELETE, { queue: "q", nowait: true });
  assertEquals(names(channel), ["basic.cancel"]);
});

Deno.test("queue.delete that is refused leaves consumers that are told of the queue's end later", () => {
  const life = new DurableNode();
  const [channel, other] = [channelOf(life), channelOf(life)];
  channel.queue("q", {}, DURABLE);
  const watcher = channel.client.channel(7);
  watcher.consume("q");
  channel.send(M.QUEUE_DELETE, { queue: "q", ifUnused: true });
  assertEquals(channel.takeClose().replyCode, 406);
  other.rpc(M.QUEUE_DELETE, { queue: "q" }, M.QUEUE_DELETE_OK);
  watcher.client.expect(M.BASIC_CANCEL, watcher.number);
});
