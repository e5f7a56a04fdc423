// How values and differences are printed when an assertion fails.
import { assert, assertEquals, assertLess } from "@std/assert";
import { diffLines } from "../../support/assert/diff.ts";
import { format } from "../../support/assert/format.ts";

Deno.test("format() prints the same on every runtime", () => {
  assertEquals(format({ b: 1, a: "x", "c-d": null }), '{ "c-d": null, a: "x", b: 1 }');
  assertEquals(format([1, -0, 2n, undefined]), "[ 1, -0, 2n, undefined ]");
  assertEquals(format(new Uint8Array([1, 2])), "Uint8Array(2) [ 1, 2 ]");
  assertEquals(format(new Map([["b", 1], ["a", 2]])), 'Map { "a" => 2, "b" => 1 }');
  assertEquals(format(new Set([2, 1])), "Set { 1, 2 }");
  assertEquals(format(new TypeError("t")), 'TypeError: "t"');
  assertEquals(format(new Date(0)), "Date 1970-01-01T00:00:00.000Z");
  assertEquals(format(new Date(NaN)), "Date NaN");
  assertEquals(format(Object.create(null)), "[Object: null prototype] {}");
  assertEquals(format({}), "{}");
  assertEquals(format({ [Symbol("s")]: 1 }), "{ [Symbol(s)]: 1 }");
  assertEquals(format(function name() {}), "[Function name]");
});

Deno.test("format() survives cycles, depth and throwing accessors", () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  assertEquals(format(cycle), "{ self: [Circular] }");
  let deep: unknown = 1;
  for (let i = 0; i < 100; i++) deep = { deep };
  assert(format(deep).includes("[...]"));
  const thrower = {
    get a(): number {
      throw new Error("no");
    },
  };
  assertEquals(format(thrower), "[unprintable: no]");
});

Deno.test("format() breaks long values into one member a line and cuts huge ones", () => {
  const text = format({ first: "x".repeat(50), second: "y".repeat(50) });
  assertEquals(text.split("\n").length, 4);
  const huge = format(new Uint8Array(1_000_000));
  assert(huge.includes("... 998000 more"));
});

Deno.test("diffLines() marks lines of one side only", () => {
  assertEquals(diffLines("a\nb\nc", "a\nx\nc"), "  a\n- b\n+ x\n  c");
  assertEquals(diffLines("a\nb", "a\nb\nc"), "  a\n  b\n+ c");
  assertEquals(diffLines("a\nb\nc", "b\nc"), "- a\n  b\n  c");
});

Deno.test("diffLines() leaves out what is far from a change and ends in bounded time", () => {
  const lines = Array.from({ length: 50 }, (_, i) => `line ${i}`);
  const text = diffLines(lines.join("\n"), [...lines.slice(0, 49), "other"].join("\n"));
  assertEquals(text.split("\n").length, 6);
  assert(text.startsWith("  ...\n"));
  const left = Array.from({ length: 20_000 }, (_, i) => `l${i}`).join("\n");
  const right = Array.from({ length: 20_000 }, (_, i) => `r${i}`).join("\n");
  assertLess(diffLines(left, right).split("\n").length, 300);
});
