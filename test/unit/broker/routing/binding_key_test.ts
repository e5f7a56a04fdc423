// Tests of the two names of a binding: identity and properties_key.

import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { bindingKey, propertiesKey } from "../../../../src/broker/routing/binding_key.ts";
import { args } from "../support/topology.ts";

Deno.test("bindingKey() differs wherever one part of the identity differs", () => {
  const identity = {
    destination: "a",
    destinationType: "queue" as const,
    routingKey: "b",
    args: args({ x: 1 }),
  };
  const variants = [
    identity,
    { ...identity, destination: "ab", routingKey: "" },
    { ...identity, destination: "", routingKey: "ab" },
    { ...identity, destinationType: "exchange" as const },
    { ...identity, args: args() },
    { ...identity, args: args({ x: 2 }) },
    { ...identity, args: args({ x: "1" }) },
    { ...identity, routingKey: "b{1:xi1;}", args: args() },
  ];
  assertEquals(new Set(variants.map(bindingKey)).size, variants.length);
});

Deno.test("bindingKey() ignores the order of arguments and the width of integers", () => {
  const identity = { destination: "a", destinationType: "queue" as const, routingKey: "b" };
  const narrow = new Map(
    [["x", { tag: "b", value: 1 }], ["y", { tag: "t", value: true }]] as const,
  );
  assertEquals(
    bindingKey({ ...identity, args: args({ y: true, x: 1 }) }),
    bindingKey({ ...identity, args: narrow }),
  );
});

Deno.test("propertiesKey() is ~ without key and arguments, as in RabbitMQ", () => {
  assertEquals(propertiesKey("", args()), "~");
});

Deno.test("propertiesKey() quotes the key so that ~ can separate the hash", () => {
  assertEquals(propertiesKey("a.b-c_d", args()), "a.b-c_d");
  assertEquals(propertiesKey("a b/~é", args()), "a+b%2F%7E%C3%A9");
});

Deno.test("propertiesKey() leaves letters, digits, - . and _ as they are, and no other character", () => {
  for (let code = 1; code < 128; code++) {
    const key = String.fromCharCode(code);
    const escape = key === " " ? "+" : `%${code.toString(16).toUpperCase().padStart(2, "0")}`;
    assertEquals(propertiesKey(key, args()), /[-._0-9A-Za-z]/.test(key) ? key : escape);
  }
});

Deno.test("propertiesKey() tells bindings with different arguments apart", () => {
  const one = propertiesKey("k", args({ x: 1 }));
  assertMatch(one, /^k~[0-9a-f]{16}$/);
  assertNotEquals(one, propertiesKey("k", args({ x: 2 })));
  assertEquals(one, propertiesKey("k", args({ x: 1 })));
  assertMatch(propertiesKey("", args({ x: 1 })), /^~[0-9a-f]{16}$/);
});
