// Tests of declaring and deleting exchanges: every refusal text, what is reserved, what goes by itself.

import { assert, assertEquals, assertFalse, assertStrictEquals } from "@std/assert";
import type { ExchangeSpec } from "../../../../src/broker/names.ts";
import {
  ALICE,
  args,
  bindExchange,
  bindQueue,
  declareExchange,
  declareQueue,
  exchangeSpec,
  makeVHost,
  refusalOf,
} from "../support/topology.ts";

Deno.test("VHost has the exchanges every vhost has", () => {
  const vhost = makeVHost();
  const types = Object.fromEntries([...vhost.exchanges.values()].map((x) => [x.name, x.type]));
  assertEquals(types, {
    "": "direct",
    "amq.direct": "direct",
    "amq.fanout": "fanout",
    "amq.headers": "headers",
    "amq.match": "headers",
    "amq.topic": "topic",
  });
  for (const exchange of vhost.exchanges.values()) assert(exchange.durable);
});

Deno.test("declareExchange() gives back the exchange that was declared just so", () => {
  const vhost = makeVHost();
  const more: Partial<ExchangeSpec> = { durable: true, autoDelete: true, internal: true };
  const exchange = declareExchange(vhost, "x", "topic", more);
  assertStrictEquals(declareExchange(vhost, "x", "topic", more), exchange);
  assertStrictEquals(
    declareExchange(vhost, "amq.topic", "topic", { durable: true }),
    vhost.exchanges.get("amq.topic")!,
  );
});

Deno.test("declareExchange() refuses other properties with RabbitMQ's texts", () => {
  const vhost = makeVHost();
  declareExchange(vhost, "x", "direct");
  const refusal = (more: Partial<ExchangeSpec>) =>
    refusalOf(() => vhost.declareExchange(exchangeSpec("x", more)));
  const text = (arg: string, received: string, current: string) =>
    `406 PRECONDITION_FAILED - inequivalent arg '${arg}' for exchange 'x' in vhost '/': ` +
    `received ${received} but current is ${current}`;
  assertEquals(refusal({ type: "fanout" }), text("type", "'fanout'", "'direct'"));
  assertEquals(refusal({ durable: true }), text("durable", "'true'", "'false'"));
  assertEquals(refusal({ autoDelete: true }), text("auto_delete", "'true'", "'false'"));
  assertEquals(refusal({ internal: true }), text("internal", "'true'", "'false'"));
  assertEquals(
    refusal({ args: args({ "alternate-exchange": "y" }) }),
    text("alternate-exchange", "the value 'y' of type 'longstr'", "none"),
  );
});

Deno.test("declareExchange() compares no arguments but the alternate exchange", () => {
  const vhost = makeVHost();
  const exchange = declareExchange(vhost, "x", "direct", { args: args({ note: 1 }) });
  assertStrictEquals(declareExchange(vhost, "x"), exchange);
  declareExchange(vhost, "y", "direct", { args: args({ "alternate-exchange": "x" }) });
  assertEquals(
    refusalOf(() =>
      declareExchange(vhost, "y", "direct", { args: args({ "alternate-exchange": "z" }) })
    ),
    "406 PRECONDITION_FAILED - inequivalent arg 'alternate-exchange' for exchange 'y' in vhost '/': " +
      "received 'z' but current is 'x'",
  );
});

Deno.test("declareExchange() refuses reserved names, the default exchange and unknown types", () => {
  const vhost = makeVHost();
  assertEquals(
    refusalOf(() => declareExchange(vhost, "amq.mine")),
    "403 ACCESS_REFUSED - exchange name 'amq.mine' contains reserved prefix 'amq.*'",
  );
  assertEquals(
    refusalOf(() => declareExchange(vhost, "")),
    "403 ACCESS_REFUSED - operation not permitted on the default exchange",
  );
  assertEquals(
    refusalOf(() => declareExchange(vhost, "x", "x-delayed-message")),
    "406 PRECONDITION_FAILED - exchange type 'x-delayed-message' is not supported yet",
  );
  assertEquals(
    refusalOf(() => declareExchange(vhost, "x", "odd")),
    "406 PRECONDITION_FAILED - unknown exchange type 'odd'",
  );
  assertFalse(vhost.exchanges.has("x"));
});

Deno.test("declareExchange() refuses arguments it cannot follow", () => {
  const vhost = makeVHost();
  const declare = (values: Parameters<typeof args>[0]) => () =>
    declareExchange(vhost, "x", "direct", { args: args(values) });
  assertEquals(
    refusalOf(declare({ "alternate-exchange": 5 })),
    "406 PRECONDITION_FAILED - invalid type 'long' for arg 'alternate-exchange' in exchange 'x' in vhost '/'",
  );
  assertEquals(
    refusalOf(declare({ "alternate-exchange": "x".repeat(256) })),
    "406 PRECONDITION_FAILED - invalid arg 'alternate-exchange' for exchange 'x' in vhost '/': longer than 255 bytes",
  );
  assertEquals(
    refusalOf(declare({ "x-message-deduplication": true })),
    "406 PRECONDITION_FAILED - invalid arg 'x-message-deduplication' for exchange 'x' in vhost '/': not supported yet",
  );
  declare({ "x-message-deduplication": false, "x-whatever": 1 })();
});

Deno.test("declareExchange() drops line breaks from the name", () => {
  const vhost = makeVHost();
  assertEquals(declareExchange(vhost, "a\r\nb").name, "ab");
  assert(vhost.exchanges.has("ab"));
});

Deno.test("declareExchange() refuses more exchanges than the limit", () => {
  const vhost = makeVHost({ exchangeCountMax: 7 });
  declareExchange(vhost, "x");
  assertEquals(
    refusalOf(() => declareExchange(vhost, "y")),
    "406 PRECONDITION_FAILED - cannot declare exchange 'y': exchange limit (7) is reached",
  );
  declareExchange(vhost, "x");
});

Deno.test("passiveExchange() finds an exchange or answers 404", () => {
  const vhost = makeVHost();
  const exchange = declareExchange(vhost, "x");
  assertStrictEquals(vhost.passiveExchange("x"), exchange);
  assertEquals(
    refusalOf(() => vhost.passiveExchange("y")),
    "404 NOT_FOUND - no exchange 'y' in vhost '/'",
  );
  assertEquals(
    refusalOf(() => vhost.passiveExchange("")),
    "403 ACCESS_REFUSED - operation not permitted on the default exchange",
  );
});

Deno.test("deleteExchange() refuses system exchanges and ignores missing ones", () => {
  const vhost = makeVHost();
  assertEquals(
    refusalOf(() => vhost.deleteExchange("amq.direct", false)),
    "403 ACCESS_REFUSED - deletion of system exchange 'amq.direct' in vhost '/' not allowed",
  );
  assertEquals(
    refusalOf(() => vhost.deleteExchange("", false)),
    "403 ACCESS_REFUSED - operation not permitted on the default exchange",
  );
  vhost.deleteExchange("missing", false);
  vhost.deleteExchange("missing", true);
});

Deno.test("deleteExchange() with if-unused refuses a source of bindings only", () => {
  const vhost = makeVHost();
  for (const name of ["x", "y"]) declareExchange(vhost, name);
  bindExchange(vhost, "x", "y");
  assertEquals(
    refusalOf(() => vhost.deleteExchange("x", true)),
    "406 PRECONDITION_FAILED - exchange 'x' in vhost '/' in use",
  );
  vhost.deleteExchange("y", true);
  assertEquals(vhost.bindingCount, 0);
  vhost.deleteExchange("x", true);
  assertFalse(vhost.exchanges.has("x"));
});

Deno.test("an auto-delete exchange goes with its last binding, not before its first", () => {
  const vhost = makeVHost();
  declareExchange(vhost, "x", "direct", { autoDelete: true });
  declareQueue(vhost, "q");
  bindQueue(vhost, "x", "q", { key: "a" });
  bindQueue(vhost, "x", "q", { key: "b" });
  const named = { exchange: "x", queue: "q", args: args() };
  vhost.unbindQueue({ ...named, routingKey: "a" }, ALICE);
  assert(vhost.exchanges.has("x"));
  vhost.unbindQueue({ ...named, routingKey: "b" }, ALICE);
  assertFalse(vhost.exchanges.has("x"));
});

Deno.test("an auto-delete exchange goes with the queue it was bound to", () => {
  const vhost = makeVHost();
  declareExchange(vhost, "x", "direct", { autoDelete: true });
  const queue = declareQueue(vhost, "q");
  bindQueue(vhost, "x", "q", { key: "a" });
  bindQueue(vhost, "x", "q", { key: "b" });
  vhost.removeQueue(queue);
  assertFalse(vhost.exchanges.has("x"));
  assertEquals(vhost.bindingCount, 0);
});

Deno.test("a chain of auto-delete exchanges of any length goes at once", () => {
  const vhost = makeVHost();
  const count = 20_000;
  for (let i = 0; i < count; i++) declareExchange(vhost, `x${i}`, "fanout", { autoDelete: true });
  for (let i = 1; i < count; i++) bindExchange(vhost, `x${i - 1}`, `x${i}`);
  vhost.deleteExchange(`x${count - 1}`, false);
  assertEquals(vhost.exchanges.size, 6);
  assertEquals(vhost.bindingCount, 0);
});

Deno.test("a deleted exchange takes its bindings in both directions along", () => {
  const vhost = makeVHost();
  for (const name of ["a", "b", "c"]) declareExchange(vhost, name, "fanout");
  bindExchange(vhost, "a", "b");
  bindExchange(vhost, "b", "c");
  bindExchange(vhost, "b", "b");
  vhost.deleteExchange("b", false);
  assertEquals(vhost.bindingCount, 0);
  assertEquals(vhost.exchanges.get("a")!.bindings.size, 0);
  declareExchange(vhost, "b", "fanout");
  assertEquals(vhost.exchanges.get("b")!.bindings.size, 0);
});
