// Dead-lettering through exchanges: headers, chains, loops, copies and what is lost on purpose.

import { assertEquals } from "@std/assert";
import { type FieldTable, type FieldValue, textField } from "../../../../src/amqp/field_value.ts";
import type { Properties } from "../../../../src/amqp/properties.ts";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { type Plain, type Seen, TestBroker, TestChannel } from "../../../support/test_broker.ts";

function deadLetterTo(exchange: string, key?: string): Plain {
  const args: Plain = { "x-dead-letter-exchange": exchange };
  if (key !== undefined) args["x-dead-letter-routing-key"] = key;
  return args;
}

function keys(...values: string[]): FieldValue {
  return { tag: "A", value: values.map(textField) };
}

function deaths(seen: Seen): FieldTable[] {
  const field = seen.properties.headers?.get("x-death");
  if (field?.tag !== "A") throw new Error("no x-death");
  return field.value.map((item) => {
    if (item.tag !== "F") throw new Error("x-death holds something else than tables");
    return item.value;
  });
}

function plain(table: FieldTable): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, field] of table) {
    if (field.tag === "A") {
      result[key] = field.value.map((item) => item.tag === "S" ? item.value : item.tag);
    } else if (field.tag !== "V" && field.tag !== "F") result[key] = field.value;
  }
  return result;
}

function reject(t: TestBroker, name: string): void {
  const channel = new TestChannel();
  const seen = t.get(t.vhost.queues.get(name)!, channel)!;
  channel.unacked.reject(seen.tag, false, false, CAUSE_REJECT);
  t.turn();
}

function taken(t: TestBroker, name: string): Seen {
  const seen = t.get(t.vhost.queues.get(name)!, new TestChannel());
  if (seen === null) throw new Error(`${name} is empty`);
  return seen;
}

Deno.test("a dead letter says where it died, why and when, and loses its expiration", () => {
  const t = new TestBroker();
  t.queue("dead");
  t.queue("q", deadLetterTo("", "dead"));
  t.publish("q", "m", { expiration: "50", headers: new Map([["own", textField("x")]]) });
  t.turn(50);
  const seen = taken(t, "dead");
  assertEquals([seen.exchange, seen.routingKey, seen.body], ["", "dead", "m"]);
  assertEquals(seen.properties.expiration, undefined);
  assertEquals(seen.properties.headers?.get("own"), textField("x"));
  assertEquals(plain(deaths(seen)[0]!), {
    "original-expiration": "50",
    count: 1,
    reason: "expired",
    queue: "q",
    time: Math.floor(t.nowMs / 1000),
    exchange: "",
    "routing-keys": ["q"],
  });
  for (const which of ["first", "last"]) {
    assertEquals(seen.properties.headers?.get(`x-${which}-death-queue`), textField("q"));
    assertEquals(seen.properties.headers?.get(`x-${which}-death-reason`), textField("expired"));
    assertEquals(seen.properties.headers?.get(`x-${which}-death-exchange`), textField(""));
  }
});

Deno.test("without a dead-letter key the original keys route, CC and BCC included", () => {
  const t = new TestBroker();
  t.vhost.declareExchange({
    name: "dlx",
    type: "direct",
    durable: false,
    autoDelete: false,
    internal: false,
    args: new Map(),
  });
  t.queue("q", deadLetterTo("dlx"));
  for (const name of ["q", "cc", "bcc"]) {
    t.queue(`dead-${name}`);
    const binding = { queue: `dead-${name}`, exchange: "dlx", routingKey: name, args: new Map() };
    t.vhost.bindQueue(binding, t.owner);
  }
  const headers = new Map([["CC", keys("cc")], ["BCC", keys("bcc")]]);
  t.publish("q", "m", { headers });
  reject(t, "q");
  const seen = ["q", "cc", "bcc"].map((name) => taken(t, `dead-${name}`));
  for (const one of seen) {
    assertEquals(one.properties.headers?.has("BCC"), false);
    assertEquals(one.properties.headers?.get("CC"), keys("cc"));
    assertEquals(plain(deaths(one)[0]!)["routing-keys"], ["q", "cc"]);
  }
});

Deno.test("with a dead-letter key CC and BCC are gone", () => {
  const t = new TestBroker();
  t.queue("dead");
  t.queue("other");
  t.queue("q", deadLetterTo("", "dead"));
  t.publish("q", "m", { headers: new Map([["CC", keys("other")]]) });
  reject(t, "q");
  assertEquals(taken(t, "dead").properties.headers?.has("CC"), false);
  assertEquals(t.vhost.queues.get("other")!.readyCount, 1);
});

Deno.test("the wait-and-retry pattern goes round until a consumer stops it by the death count", () => {
  const t = new TestBroker();
  t.queue("work", deadLetterTo("", "wait"));
  t.queue("wait", { ...deadLetterTo("", "work"), "x-message-ttl": 1000 });
  t.publish("work", "m");
  for (let attempt = 1; attempt <= 5; attempt++) {
    const channel = new TestChannel();
    const seen = t.get(t.vhost.queues.get("work")!, channel)!;
    const counts = attempt === 1 ? [] : deaths(seen).map((death) => plain(death).count);
    assertEquals(counts, attempt === 1 ? [] : [attempt - 1, attempt - 1]);
    channel.unacked.reject(seen.tag, false, false, CAUSE_REJECT);
    t.turn();
    t.turn(999);
    assertEquals(t.vhost.queues.get("work")!.readyCount, 0);
    t.turn(1);
  }
  assertEquals(t.vhost.queues.get("work")!.readyCount, 1);
});

Deno.test("a loop in which no consumer has a part is cut", () => {
  const t = new TestBroker();
  t.queue("a", { ...deadLetterTo("", "b"), "x-message-ttl": 10 });
  t.queue("b", { ...deadLetterTo("", "a"), "x-message-ttl": 10 });
  t.publish("a", "m");
  t.turn(10);
  assertEquals(t.vhost.queues.get("b")!.readyCount, 1);
  t.turn(10);
  assertEquals(t.broker.store.liveMessageCount, 0);
  assertEquals(t.broker.metrics.deadLettersDropped, 1);
});

Deno.test("a long chain of dead letters is walked without recursion, in one turn", () => {
  const t = new TestBroker();
  const length = 300;
  for (let i = 0; i < length; i++) {
    t.queue(`q${i}`, { ...deadLetterTo("", `q${i + 1}`), "x-max-length": 0 });
  }
  t.queue(`q${length}`);
  t.publish("q0", "m");
  t.turn();
  assertEquals(taken(t, `q${length}`).body, "m");
  assertEquals(t.broker.metrics.deadLetteredMaxlen, length);
});

Deno.test("a dead letter without a way is dropped and counted", () => {
  const t = new TestBroker();
  t.queue("nowhere", deadLetterTo("missing"));
  t.queue("unrouted", deadLetterTo("", "no-such-queue"));
  t.queue("full", { "x-max-length": 0, "x-overflow": "reject-publish" });
  t.queue("into-full", deadLetterTo("", "full"));
  for (const name of ["nowhere", "unrouted", "into-full"]) {
    t.publish(name, "m");
    reject(t, name);
  }
  assertEquals(t.broker.metrics.deadLettersDropped, 3);
  assertEquals(t.broker.store.liveMessageCount, 0);
});

/** A queue that is full and hands on to `next`. */
function fullQueue(t: TestBroker, name: string, next: Plain): void {
  t.queue(name, { "x-max-length": 0, "x-overflow": "reject-publish-dlx", ...next });
}

function summary(seen: Seen): string[] {
  return deaths(seen).map(plain).map(({ queue, reason, count }) => `${queue} ${reason} ${count}`);
}

Deno.test("a dead letter goes on to the dead-letter exchange of a full target, with one more death", () => {
  const t = new TestBroker();
  t.queue("dead");
  fullQueue(t, "full", deadLetterTo("", "dead"));
  t.queue("q", deadLetterTo("", "full"));
  t.publish("q", "m", { headers: new Map([["own", textField("x")]]) });
  reject(t, "q");
  const seen = taken(t, "dead");
  assertEquals([seen.body, seen.exchange, seen.routingKey], ["m", "", "dead"]);
  assertEquals(summary(seen), ["full maxlen 1", "q rejected 1"]);
  assertEquals(plain(deaths(seen)[0]!)["routing-keys"], ["full"]);
  const { headers } = seen.properties;
  assertEquals(headers?.get("own"), textField("x"));
  assertEquals(headers?.get("x-first-death-queue"), textField("q"));
  assertEquals(headers?.get("x-last-death-queue"), textField("full"));
  const { deadLetteredRejected, deadLetteredMaxlen, deadLettersDropped } = t.broker.metrics;
  assertEquals([deadLetteredRejected, deadLetteredMaxlen, deadLettersDropped], [1, 1, 0]);
});

Deno.test("a dead letter passes any number of full queues, and a loop of them drops it", () => {
  const t = new TestBroker();
  t.queue("dead");
  const length = 60;
  for (let index = 1; index <= length; index++) {
    fullQueue(t, `full${index}`, deadLetterTo("", index === length ? "dead" : `full${index + 1}`));
  }
  t.queue("q", deadLetterTo("", "full1"));
  t.publish("q", "m");
  reject(t, "q");
  assertEquals(deaths(taken(t, "dead")).length, length + 1);
  fullQueue(t, "a", deadLetterTo("", "b"));
  fullQueue(t, "b", deadLetterTo("", "a"));
  fullQueue(t, "self", deadLetterTo("", "self"));
  for (const target of ["a", "self"]) {
    t.queue(`into-${target}`, deadLetterTo("", target));
    t.publish(`into-${target}`, "m");
    reject(t, `into-${target}`);
  }
  assertEquals(t.broker.metrics.deadLettersDropped, 2);
  assertEquals([t.broker.deadLetters.backlog, t.broker.store.liveMessageCount], [0, 1]);
});

Deno.test("what a consumer has rejected may come back to its queue through a full one", () => {
  const t = new TestBroker();
  fullQueue(t, "full", deadLetterTo("", "q"));
  t.queue("q", deadLetterTo("", "full"));
  t.publish("q", "m");
  reject(t, "q");
  assertEquals(summary(taken(t, "q")), ["full maxlen 1", "q rejected 1"]);
});

Deno.test("of several targets of a dead letter, those with room keep it and full ones pass it on", () => {
  const t = new TestBroker();
  t.vhost.declareExchange({
    name: "fan",
    type: "fanout",
    durable: false,
    autoDelete: false,
    internal: false,
    args: new Map(),
  });
  t.queue("dead");
  t.queue("open");
  t.queue("closed", { "x-max-length": 0, "x-overflow": "reject-publish" });
  fullQueue(t, "nowhere", {});
  fullQueue(t, "full", deadLetterTo("", "dead"));
  for (const queue of ["open", "closed", "nowhere", "full"]) {
    t.vhost.bindQueue({ queue, exchange: "fan", routingKey: "", args: new Map() }, t.owner);
  }
  t.queue("q", deadLetterTo("fan"));
  t.publish("q", "m");
  reject(t, "q");
  assertEquals(summary(taken(t, "open")), ["q rejected 1"]);
  assertEquals(summary(taken(t, "dead")), ["full maxlen 1", "q rejected 1"]);
  assertEquals(t.broker.metrics.deadLettersDropped, 2);
  assertEquals(t.broker.store.liveMessageCount, 2);
});

Deno.test("a published x-death is continued when it is well-formed and ignored when it is not", () => {
  const t = new TestBroker();
  t.queue("dead");
  t.queue("q", deadLetterTo("", "dead"));
  t.publish("q", "first");
  reject(t, "q");
  const { headers } = taken(t, "dead").properties;
  t.publish("q", "again", { headers: headers! });
  reject(t, "q");
  assertEquals(plain(deaths(taken(t, "dead"))[0]!).count, 2);
  const malformed: Properties = { headers: new Map([["x-death", textField("mine")]]) };
  t.publish("q", "forged", malformed);
  reject(t, "q");
  assertEquals(plain(deaths(taken(t, "dead"))[0]!).count, 1);
});

Deno.test("a death does not keep the queue's expired messages from others behind it", () => {
  const t = new TestBroker();
  t.queue("dead");
  const queue = t.queue("q", deadLetterTo("", "dead"));
  for (let i = 0; i < 10_000; i++) {
    t.publish("q", `${i}`, { expiration: i % 2 === 0 ? "5" : "500" });
  }
  t.turn(5);
  assertEquals([queue.readyCount, t.vhost.queues.get("dead")!.readyCount], [5000, 5000]);
  t.turn(495);
  assertEquals([queue.readyCount, t.vhost.queues.get("dead")!.readyCount], [0, 10_000]);
});
