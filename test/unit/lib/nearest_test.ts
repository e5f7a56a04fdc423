// Distances between names, and which one was meant.
import { assertEquals } from "@std/assert";
import { distanceOf, nearestOf, slipOf } from "../../../src/lib/nearest.ts";

Deno.test("distanceOf() counts letters put in, left out, replaced and swapped", () => {
  const cases: [string, string, number][] = [
    ["", "", 0],
    ["", "abc", 3],
    ["abc", "abc", 0],
    ["ABC", "abc", 0],
    ["abc", "abd", 1],
    ["abc", "ab", 1],
    ["abc", "xabc", 1],
    ["prot", "port", 2 - 1],
    ["kitten", "sitting", 3],
  ];
  for (const [a, b, distance] of cases) {
    assertEquals(distanceOf(a, b), distance, `${a} ${b}`);
    assertEquals(distanceOf(b, a), distance, `${b} ${a}`);
  }
});

Deno.test("distanceOf() looks at the beginning of long texts only", () => {
  assertEquals(distanceOf("a".repeat(1_000_000), "a".repeat(64)), 0);
});

Deno.test("nearestOf() gives the first of the nearest, slipOf() only one that is near", () => {
  assertEquals(nearestOf("x", []), undefined);
  assertEquals(nearestOf("minimum", ["max", "min"]), "min");
  assertEquals(nearestOf("ab", ["ac", "ad"]), "ac");
  assertEquals(slipOf("amqpPrt", ["bind", "amqpPort"]), "amqpPort");
  assertEquals(slipOf("port", ["bind", "amqpPort"]), undefined);
  assertEquals(slipOf("x", []), undefined);
  assertEquals(slipOf("admin", ["monitoring", "administrator"]), "administrator");
  assertEquals(slipOf("dataDirectory", ["bind", "dataDir"]), "dataDir");
  assertEquals(slipOf("ad", ["monitoring", "administrator"]), undefined);
});
