// The stand-in for Deno.test under Bun and Node understands every form that our tests use.
import { assertEquals, assertThrows } from "@std/assert";
import { normalize } from "../../support/runners/shim.ts";

const fn = (): void => {};

Deno.test("normalize() accepts name and function, options between, and one object", () => {
  assertEquals(normalize("a", fn), { name: "a", fn });
  assertEquals(normalize("a", { ignore: true }, fn), { name: "a", fn, ignore: true });
  assertEquals(normalize({ name: "a", fn, ignore: true }), { name: "a", fn, ignore: true });
});

Deno.test("normalize() refuses a test without a function", () => {
  assertThrows(() => normalize("a"), TypeError, '"a"');
  assertThrows(() => normalize("a", { ignore: true }), TypeError, '"a"');
});
