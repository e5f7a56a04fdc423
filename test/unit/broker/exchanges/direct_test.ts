// Tests of the direct exchange.

import { assertEquals } from "@std/assert";
import {
  ALICE,
  args,
  bindQueue,
  declareExchange,
  declareQueue,
  makeVHost,
  message,
  routed,
} from "../support/topology.ts";

Deno.test("DIRECT routes to every queue bound with exactly the key", () => {
  const vhost = makeVHost();
  declareExchange(vhost, "x");
  for (const name of ["a", "b", "c"]) declareQueue(vhost, name);
  bindQueue(vhost, "x", "a", { key: "k" });
  bindQueue(vhost, "x", "b", { key: "k" });
  bindQueue(vhost, "x", "c", { key: "other" });
  assertEquals(routed(vhost, "x", message("k")), ["a", "b"]);
  assertEquals(routed(vhost, "x", message("K")), []);
  assertEquals(routed(vhost, "x", message("")), []);
});

Deno.test("DIRECT keeps routing while one of two bindings to a queue is left", () => {
  const vhost = makeVHost();
  declareExchange(vhost, "x");
  declareQueue(vhost, "a");
  bindQueue(vhost, "x", "a", { key: "k" });
  bindQueue(vhost, "x", "a", { key: "k", args: { note: 1 } });
  assertEquals(routed(vhost, "x", message("k")), ["a"]);
  const unbind = { queue: "a", exchange: "x", routingKey: "k" };
  vhost.unbindQueue({ ...unbind, args: args() }, ALICE);
  assertEquals(routed(vhost, "x", message("k")), ["a"]);
  vhost.unbindQueue({ ...unbind, args: args({ note: 1 }) }, ALICE);
  assertEquals(routed(vhost, "x", message("k")), []);
});

Deno.test("DIRECT routes the keys of CC and BCC too, each queue once", () => {
  const vhost = makeVHost();
  declareExchange(vhost, "x");
  for (const name of ["a", "b"]) declareQueue(vhost, name);
  bindQueue(vhost, "x", "a", { key: "a" });
  bindQueue(vhost, "x", "a", { key: "also-a" });
  bindQueue(vhost, "x", "b", { key: "b" });
  assertEquals(routed(vhost, "x", message("a", { extraKeys: ["also-a", "b", "none"] })), [
    "a",
    "b",
  ]);
});
