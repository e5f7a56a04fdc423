// Tests of the default exchange.

import { assertEquals, assertThrows } from "@std/assert";
import { Binding } from "../../../../src/broker/routing/binding.ts";
import { AssertionError } from "../../../../src/lib/assert.ts";
import { args, declareQueue, makeVHost, message, routed } from "../support/topology.ts";

Deno.test("the default exchange routes to the queue named by the key", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "a");
  declareQueue(vhost, "b");
  assertEquals(routed(vhost, "", message("a")), ["a"]);
  assertEquals(routed(vhost, "", message("missing")), []);
  assertEquals(routed(vhost, "", message("a", { extraKeys: ["b", "a"] })), ["a", "b"]);
});

Deno.test("the default exchange does not reach retry queues", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q", { "x-delayed-retry-min": 100 });
  assertEquals(routed(vhost, "", message("q")), ["q"]);
  assertEquals(routed(vhost, "", message("amq.retry-q")), []);
});

Deno.test("the default exchange takes no bindings", () => {
  const vhost = makeVHost();
  const source = vhost.exchanges.get("")!;
  const destination = vhost.exchanges.get("amq.fanout")!;
  const binding = new Binding(
    { source, destination, type: "exchange" },
    { routingKey: "", args: args() },
    { key: "", propertiesKey: "" },
  );
  assertThrows(() => source.table.bind(binding), AssertionError);
  assertThrows(() => source.table.unbind(binding), AssertionError);
});
