// Tests of src/lib/assert.ts: what is thrown, and that a condition that holds throws nothing.
// Run by every unit test run.

import { assertThrows } from "@std/assert";
import { assert, AssertionError, unreachable } from "../../../src/lib/assert.ts";

Deno.test("assert() returns when the condition holds", () => {
  assert(true, "never seen");
});

Deno.test("assert() throws AssertionError with its message when the condition fails", () => {
  assertThrows(() => assert(false, "ring is full"), AssertionError, "ring is full");
});

Deno.test("unreachable() throws AssertionError when it is reached", () => {
  assertThrows(() => unreachable("tag"), AssertionError, "unreachable: tag");
});
