// Tests of making, finding and losing bindings through the vhost.

import { assertEquals, assertFalse, assertNotEquals } from "@std/assert";
import type { PlainObject } from "../../../../src/amqp/field_json.ts";
import type { VHost } from "../../../../src/broker/topology/vhost.ts";
import {
  ALICE,
  args,
  bindExchange,
  bindQueue,
  BOB,
  declareExchange,
  declareQueue,
  makeVHost,
  message,
  queueSpec,
  refusalOf,
  routed,
} from "../support/topology.ts";

function named(exchange: string, queue: string, key = "", values: PlainObject = {}) {
  return { exchange, queue, routingKey: key, args: args(values) };
}

function explicitBindings(vhost: VHost): string[] {
  return [...vhost.bindings()].filter((binding) => binding.source !== "")
    .map((binding) =>
      `${binding.source}>${binding.destinationType}:${binding.destination} ${binding.propertiesKey}`
    ).sort();
}

Deno.test("bindQueue() twice makes one binding", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q");
  for (let i = 0; i < 2; i++) vhost.bindQueue(named("amq.direct", "q", "k", { a: 1, b: 2 }), ALICE);
  vhost.bindQueue(named("amq.direct", "q", "k", { b: 2, a: 1 }), ALICE);
  assertEquals(vhost.bindingCount, 1);
  vhost.bindQueue(named("amq.direct", "q", "k"), ALICE);
  assertEquals(vhost.bindingCount, 2);
});

Deno.test("bindQueue() and bindExchange() refuse the default exchange", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q");
  const text = "403 ACCESS_REFUSED - operation not permitted on the default exchange";
  const ends = { routingKey: "", args: args() };
  assertEquals(refusalOf(() => vhost.bindQueue(named("", "q"), ALICE)), text);
  assertEquals(refusalOf(() => vhost.unbindQueue(named("", "q"), ALICE)), text);
  for (
    const ofBoth of [
      { ...ends, source: "", destination: "amq.fanout" },
      { ...ends, source: "amq.fanout", destination: "" },
    ]
  ) {
    assertEquals(refusalOf(() => vhost.bindExchange(ofBoth)), text);
    assertEquals(refusalOf(() => vhost.unbindExchange(ofBoth)), text);
  }
});

Deno.test("binding answers 404 for the first missing end, the exchange first", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q");
  assertEquals(
    refusalOf(() => vhost.bindQueue(named("x", "missing"), ALICE)),
    "404 NOT_FOUND - no exchange 'x' in vhost '/'",
  );
  assertEquals(
    refusalOf(() => vhost.bindQueue(named("amq.fanout", "missing"), ALICE)),
    "404 NOT_FOUND - no queue 'missing' in vhost '/'",
  );
  assertEquals(
    refusalOf(() => bindExchange(vhost, "amq.fanout", "missing")),
    "404 NOT_FOUND - no exchange 'missing' in vhost '/'",
  );
  assertEquals(vhost.bindingCount, 0);
});

Deno.test("binding and unbinding an exclusive queue is its connection's right alone", () => {
  const vhost = makeVHost();
  vhost.declareQueue(queueSpec("q", { exclusive: true }), ALICE);
  assertEquals(refusalOf(() => vhost.bindQueue(named("amq.fanout", "q"), BOB)).slice(0, 3), "405");
  vhost.bindQueue(named("amq.fanout", "q"), ALICE);
  assertEquals(
    refusalOf(() => vhost.unbindQueue(named("amq.fanout", "q"), BOB)).slice(0, 3),
    "405",
  );
  vhost.unbindQueue(named("amq.fanout", "q"), ALICE);
  vhost.unbindQueue(named("amq.fanout", "q"), BOB);
});

Deno.test("unbinding what is not there is nothing", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q");
  const epoch = vhost.topologyEpoch;
  vhost.unbindQueue(named("amq.fanout", "q"), ALICE);
  vhost.unbindQueue(named("missing", "q"), ALICE);
  vhost.unbindQueue(named("amq.fanout", "missing"), ALICE);
  const routing = { routingKey: "", args: args() };
  vhost.unbindExchange({ source: "amq.fanout", destination: "amq.direct", ...routing });
  vhost.unbindExchange({ source: "missing", destination: "amq.direct", ...routing });
  vhost.unbindExchange({ source: "amq.direct", destination: "missing", ...routing });
  assertEquals(vhost.topologyEpoch, epoch);
});

Deno.test("unbinding needs the same key and arguments", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q");
  vhost.bindQueue(named("amq.direct", "q", "k", { a: 1 }), ALICE);
  vhost.unbindQueue(named("amq.direct", "q", "k"), ALICE);
  vhost.unbindQueue(named("amq.direct", "q", "other", { a: 1 }), ALICE);
  assertEquals(vhost.bindingCount, 1);
  vhost.unbindQueue(named("amq.direct", "q", "k", { a: 1 }), ALICE);
  assertEquals(vhost.bindingCount, 0);
});

Deno.test("names lose their line breaks when they are bound and unbound", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q");
  vhost.bindQueue(named("amq.\nfanout", "q\r\n"), ALICE);
  assertEquals(routed(vhost, "amq.fanout", message("")), ["q"]);
  vhost.unbindQueue(named("amq.fanout\r", "\nq"), ALICE);
  assertEquals(vhost.bindingCount, 0);
});

Deno.test("a queue and an exchange of one name are different destinations", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "same");
  declareExchange(vhost, "same");
  bindQueue(vhost, "amq.fanout", "same");
  bindExchange(vhost, "amq.fanout", "same");
  assertEquals(explicitBindings(vhost), ["amq.fanout>exchange:same ~", "amq.fanout>queue:same ~"]);
  vhost.deleteExchange("same", false);
  assertEquals(explicitBindings(vhost), ["amq.fanout>queue:same ~"]);
});

Deno.test("bindings() lists implied and made ones with their properties keys", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q 1");
  bindQueue(vhost, "amq.topic", "q 1", { key: "a.#" });
  bindQueue(vhost, "amq.headers", "q 1", { args: { a: 1 } });
  const listed = [...vhost.bindings()];
  assertEquals(listed.map(({ source, propertiesKey }) => `${source} ${propertiesKey}`), [
    " q+1",
    "amq.topic a.%23",
    `amq.headers ${listed[2]!.propertiesKey}`,
  ]);
  assertEquals(listed[1], {
    source: "amq.topic",
    destination: "q 1",
    destinationType: "queue",
    routingKey: "a.#",
    args: args(),
    propertiesKey: "a.%23",
  });
});

Deno.test("bindQueue() refuses more bindings than the limit", () => {
  const vhost = makeVHost({ bindingCountMax: 1 });
  declareQueue(vhost, "q");
  bindQueue(vhost, "amq.fanout", "q", { key: "a" });
  assertEquals(
    refusalOf(() => bindQueue(vhost, "amq.fanout", "q", { key: "b" })),
    "406 PRECONDITION_FAILED - cannot bind queue 'q': binding limit (1) is reached",
  );
  bindQueue(vhost, "amq.fanout", "q", { key: "a" });
  assertEquals(vhost.exchanges.get("amq.fanout")!.bindings.size, 1);
});

Deno.test("bindQueue() refuses a routing key that no client could send", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q");
  assertEquals(
    refusalOf(() => bindQueue(vhost, "amq.direct", "q", { key: "k".repeat(256) })),
    "406 PRECONDITION_FAILED - routing key is longer than 255 bytes",
  );
});

Deno.test("topologyEpoch grows at every change and only then", () => {
  const vhost = makeVHost();
  let last = vhost.topologyEpoch;
  const grows = (run: () => unknown) => {
    run();
    assertNotEquals(vhost.topologyEpoch, last);
    last = vhost.topologyEpoch;
  };
  const stays = (run: () => unknown) => {
    run();
    assertEquals(vhost.topologyEpoch, last);
  };
  grows(() => declareQueue(vhost, "q"));
  stays(() => declareQueue(vhost, "q"));
  grows(() => declareExchange(vhost, "x"));
  stays(() => declareExchange(vhost, "x"));
  grows(() => bindQueue(vhost, "x", "q"));
  stays(() => bindQueue(vhost, "x", "q"));
  grows(() => bindExchange(vhost, "x", "amq.fanout"));
  grows(() => vhost.unbindQueue(named("x", "q"), ALICE));
  stays(() => vhost.unbindQueue(named("x", "q"), ALICE));
  stays(() => vhost.passiveExchange("x"));
  stays(() => routed(vhost, "x", message("k")));
  grows(() => vhost.deleteExchange("x", false));
  grows(() => vhost.deleteQueue("q", { ifUnused: false, ifEmpty: false }, ALICE));
  stays(() => vhost.deleteQueue("q", { ifUnused: false, ifEmpty: false }, ALICE));
});

Deno.test("removing a queue takes its bindings away and no others", () => {
  const vhost = makeVHost();
  for (const name of ["a", "b"]) declareQueue(vhost, name);
  for (const queue of ["a", "b"]) {
    for (const exchange of ["amq.direct", "amq.fanout", "amq.topic", "amq.headers"]) {
      bindQueue(vhost, exchange, queue, { key: "k" });
    }
  }
  vhost.removeQueue(vhost.queues.get("a")!);
  assertEquals(vhost.bindingCount, 4);
  for (const exchange of ["amq.direct", "amq.fanout", "amq.topic", "amq.headers"]) {
    assertEquals(routed(vhost, exchange, message("k")), ["b"]);
  }
  assertFalse([...vhost.bindings()].some((binding) => binding.destination === "a"));
});
