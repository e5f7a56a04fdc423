// Tests of the fanout exchange.

import { assertEquals } from "@std/assert";
import {
  bindQueue,
  declareExchange,
  declareQueue,
  makeVHost,
  message,
  routed,
} from "../support/topology.ts";

Deno.test("FANOUT routes to every bound queue once, whatever the keys", () => {
  const vhost = makeVHost();
  declareExchange(vhost, "x", "fanout");
  for (const name of ["a", "b", "c"]) declareQueue(vhost, name);
  bindQueue(vhost, "x", "a", { key: "k" });
  bindQueue(vhost, "x", "a", { key: "other" });
  bindQueue(vhost, "x", "b");
  assertEquals(routed(vhost, "x", message("anything", { extraKeys: ["c"] })), ["a", "b"]);
});
