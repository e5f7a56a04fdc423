// Publisher: routing, its cache, the properties it reads, and what it refuses.

import { assertEquals, assertThrows } from "@std/assert";
import { type FieldValue, longField, textField } from "../../../../src/amqp/field_value.ts";
import { ChannelError } from "../../../../src/amqp/errors.ts";
import { PUBLISH_ROUTED } from "../../../../src/broker/publish/publisher.ts";
import { TestBroker, TestChannel } from "../../../support/test_broker.ts";

function keys(...values: string[]): FieldValue {
  return { tag: "A", value: values.map(textField) };
}

function exchange(t: TestBroker, name: string, type: string, internal = false): void {
  const spec = { name, type, durable: false, autoDelete: false, internal, args: new Map() };
  t.vhost.declareExchange(spec);
}

Deno.test("publish() finds new queues and forgets deleted ones at once", () => {
  const t = new TestBroker();
  assertEquals(t.publish("q", "1"), 0);
  const queue = t.queue("q");
  assertEquals(t.publish("q", "2"), PUBLISH_ROUTED);
  assertEquals(t.publish("q", "3"), PUBLISH_ROUTED);
  assertEquals(queue.readyCount, 2);
  t.vhost.deleteQueue("q", { ifUnused: false, ifEmpty: false }, t.owner);
  assertEquals(t.publish("q", "4"), 0);
  const again = t.queue("q");
  t.publish("q", "5");
  assertEquals(again.readyCount, 1);
});

Deno.test("publish() looks for the way to one address once, until another address or binding comes", () => {
  const t = new TestBroker();
  exchange(t, "x", "direct");
  for (const name of ["a", "b"]) t.queue(name);
  const bind = (queue: string, routingKey: string) =>
    t.vhost.bindQueue({ queue, exchange: "x", routingKey, args: new Map() }, t.owner);
  bind("a", "k");
  let lookedCount = 0;
  const route = t.vhost.route.bind(t.vhost);
  t.vhost.route = (from, message, result) => {
    lookedCount++;
    route(from, message, result);
  };
  const publish = (key: string) => {
    lookedCount = 0;
    for (const body of ["1", "2", "3"]) t.publish(key, body, {}, "x");
    return lookedCount;
  };
  assertEquals([publish("k"), publish("k"), publish("l"), publish("k")], [1, 0, 1, 1]);
  bind("b", "k");
  assertEquals(publish("k"), 1);
  assertEquals([t.vhost.queues.get("a")!.readyCount, t.vhost.queues.get("b")!.readyCount], [12, 3]);
});

Deno.test("publish() stores a message once per queue however many bindings match", () => {
  const t = new TestBroker();
  exchange(t, "x", "topic");
  const queue = t.queue("q");
  for (const routingKey of ["a.*", "a.#", "#"]) {
    t.vhost.bindQueue({ queue: "q", exchange: "x", routingKey, args: new Map() }, t.owner);
  }
  t.publish("a.b", "1", {}, "x");
  t.publish("a.b", "2", { headers: new Map([["CC", keys("a.c", "z")]]) }, "x");
  assertEquals(queue.readyCount, 2);
});

Deno.test("publish() routes by headers anew for every message", () => {
  const t = new TestBroker();
  exchange(t, "x", "headers");
  const queue = t.queue("q");
  const args = new Map([["kind", textField("a")]]);
  t.vhost.bindQueue({ queue: "q", exchange: "x", routingKey: "", args }, t.owner);
  for (const kind of ["a", "b", "a"]) {
    t.publish("", kind, { headers: new Map([["kind", textField(kind)]]) }, "x");
  }
  assertEquals(queue.readyCount, 2);
});

Deno.test("publish() sends to CC and BCC too and shows only CC", () => {
  const t = new TestBroker();
  const queues = ["q", "cc", "bcc"].map((name) => t.queue(name));
  const headers = new Map([["CC", keys("cc")], ["BCC", keys("bcc")], ["own", longField(1)]]);
  t.publish("q", "m", { headers });
  for (const queue of queues) {
    const seen = t.get(queue, new TestChannel())!;
    assertEquals([...seen.properties.headers!.keys()], ["CC", "own"]);
    assertEquals([seen.routingKey, seen.body], ["q", "m"]);
  }
});

Deno.test("publish() refuses CC and BCC that are no lists of keys", () => {
  const t = new TestBroker();
  t.queue("q");
  for (const name of ["CC", "BCC"]) {
    const headers = new Map([[name, textField("cc")]]);
    const text = `invalid message: {unacceptable_type_in_header,"${name}",longstr}`;
    assertThrows(() => t.publish("q", "m", { headers }), ChannelError, text);
  }
});

Deno.test("publish() passes over what is no key in CC and BCC, as RabbitMQ does", () => {
  const t = new TestBroker();
  const queues = ["cc", "bcc"].map((name) => t.queue(name));
  const mixed = (key: string): FieldValue => ({ tag: "A", value: [longField(1), textField(key)] });
  const headers = new Map([["CC", mixed("cc")], ["BCC", mixed("bcc")]]);
  t.publish("q", "m", { headers });
  assertEquals(queues.map((queue) => queue.readyCount), [1, 1]);
});

Deno.test("publish() refuses what is no expiration and says why", () => {
  const t = new TestBroker();
  const queue = t.queue("q");
  const cases: [string, string][] = [
    ["abc", "no_integer"],
    ["", "no_integer"],
    ["+", "no_integer"],
    ["+-1", "no_integer"],
    ["+315360000001", "{value_too_large,315360000001}"],
    ["10ms", '{leftover_string,<<"ms">>}'],
    ["1.5", '{leftover_string,<<".5">>}'],
    ["-1", "{value_negative,-1}"],
    ["315360000001", "{value_too_large,315360000001}"],
    ["9".repeat(30), `{value_too_large,${"9".repeat(30)}}`],
  ];
  for (const [expiration, why] of cases) {
    const text = `PRECONDITION_FAILED - invalid expiration '${expiration}': ${why}`;
    assertThrows(() => t.publish("q", "m", { expiration }), ChannelError, text);
  }
  assertEquals(queue.readyCount, 0);
});

Deno.test("publish() refuses unknown and internal exchanges", () => {
  const t = new TestBroker();
  exchange(t, "inside", "fanout", true);
  assertThrows(() => t.publish("k", "m", {}, "none"), ChannelError, "no exchange 'none' in vhost");
  for (let i = 0; i < 2; i++) {
    assertThrows(() => t.publish("k", "m", {}, "inside"), ChannelError, "internal exchange");
  }
});

Deno.test("publish() to a retry queue's name reaches nothing", () => {
  const t = new TestBroker();
  t.queue("q", { "x-delayed-retry-min": 10 });
  assertEquals(t.publish("amq.retry-q", "m"), 0);
});
