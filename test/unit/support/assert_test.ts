// Every assertion holds when it should, fails when it should, and says what it compared. Imported by
// path, not as "@std/assert": the wording is our own and must not be asked of the original.
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertExists,
  assertFalse,
  assertGreater,
  assertGreaterOrEqual,
  assertInstanceOf,
  AssertionError,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
  fail,
} from "../../support/assert.ts";

/** The text with which `fn` fails; itself built without assertThrows, which is under test here. */
function failure(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    if (error instanceof AssertionError) return error.message;
    throw error;
  }
  throw new Error("the assertion held");
}

async function rejection(fn: () => Promise<unknown>): Promise<string> {
  try {
    await fn();
  } catch (error) {
    if (error instanceof AssertionError) return error.message;
    throw error;
  }
  throw new Error("the assertion held");
}

function includes(text: string, ...parts: string[]): void {
  for (const part of parts) {
    if (!text.includes(part)) throw new Error(`${JSON.stringify(text)} lacks ${part}`);
  }
}

Deno.test("assert() and assertFalse() look at truth", () => {
  assert(1);
  assertFalse(0);
  includes(failure(() => assert("", "empty")), "empty");
  includes(failure(() => assertFalse("x", "why")), '"x"', "why");
});

Deno.test("assertEquals() shows a line diff with both sides", () => {
  assertEquals({ a: [1] }, { a: [1] });
  const left = { name: "queue", messages: [1, 2, 3], text: "a long enough text to break the line" };
  const text = failure(() => assertEquals(left, { ...left, messages: [1, 2, 4] }, "counts"));
  includes(text, "counts", "- actual", "+ expected", "-   messages: [ 1, 2, 3 ]");
  includes(text, "+   messages: [ 1, 2, 4 ]", '    name: "queue"');
});

Deno.test("assertEquals() says so when both sides print alike", () => {
  includes(failure(() => assertEquals(new Error("a"), new Error("a"))), "both print as", "Error");
});

Deno.test("assertNotEquals() fails on deeply equal values", () => {
  assertNotEquals<unknown>({ a: 1 }, { a: 2 });
  includes(failure(() => assertNotEquals({ a: 1 }, { a: 1 })), "differ", "{ a: 1 }");
});

Deno.test("assertStrictEquals() wants the same value", () => {
  assertStrictEquals(NaN, NaN);
  includes(failure(() => assertStrictEquals(0, -0)), "-0");
  includes(failure(() => assertStrictEquals({}, {})), "same content");
  includes(failure(() => assertStrictEquals(1, 2)), "- 1", "+ 2");
});

Deno.test("assertAlmostEquals() allows the tolerance and no more", () => {
  assertAlmostEquals(0.1 + 0.2, 0.3);
  assertAlmostEquals(10, 10.5, 0.5);
  assertAlmostEquals(Infinity, Infinity);
  includes(failure(() => assertAlmostEquals(1, 1.1)), "within");
  includes(failure(() => assertAlmostEquals(NaN, 1)), "NaN");
});

Deno.test("ordering assertions hold at the right side of their bound", () => {
  assertGreater(2, 1);
  assertGreaterOrEqual(1, 1);
  assertLess(1, 2);
  assertLessOrEqual(1, 1);
  includes(failure(() => assertGreater(1, 1)), "1 > 1");
  includes(failure(() => assertGreaterOrEqual(0, 1)), "0 >= 1");
  includes(failure(() => assertLess(1, 1)), "1 < 1");
  includes(failure(() => assertLessOrEqual(NaN, 1)), "NaN <= 1");
});

Deno.test("text assertions match patterns and parts", () => {
  assertMatch("reprise", /^rep/);
  assertStringIncludes("reprise", "pri");
  includes(failure(() => assertMatch("x", /y/)), "/y/");
  includes(failure(() => assertStringIncludes("x", "y")), '"y"');
});

Deno.test("assertInstanceOf() and assertExists() narrow their value", () => {
  assertInstanceOf(new TypeError(), Error);
  assertExists(0);
  includes(failure(() => assertInstanceOf({}, Date)), "Date", "Object");
  includes(failure(() => assertInstanceOf(null, Date)), "null");
  includes(failure(() => assertExists(null)), "null");
  includes(failure(() => assertExists(undefined)), "undefined");
});

Deno.test("assertThrows() returns the error and checks class and text", () => {
  const boom = () => {
    throw new TypeError("bad thing");
  };
  assertStrictEquals(assertThrows(boom, TypeError, "bad").message, "bad thing");
  assertInstanceOf(assertThrows(boom), TypeError);
  includes(failure(() => assertThrows(() => 1, "why")), "Expected function to throw", "why");
  includes(failure(() => assertThrows(boom, RangeError)), "RangeError", "TypeError", "bad thing");
  includes(failure(() => assertThrows(boom, TypeError, "good")), '"good"', '"bad thing"');
  const throwText = () => {
    throw "text";
  };
  includes(failure(() => assertThrows(throwText, Error)), "non-Error");
  assertStrictEquals(assertThrows(throwText), "text");
  includes(failure(() => assertThrows(() => Promise.resolve())), "assertRejects");
});

Deno.test("assertRejects() resolves to the error and checks class and text", async () => {
  const boom = () => Promise.reject(new TypeError("bad thing"));
  assertStrictEquals((await assertRejects(boom, TypeError, "bad")).message, "bad thing");
  assertInstanceOf(await assertRejects(boom), TypeError);
  includes(await rejection(() => assertRejects(() => Promise.resolve(1))), "to reject");
  includes(await rejection(() => assertRejects(boom, RangeError)), "RangeError");
  includes(await rejection(() => assertRejects(boom, TypeError, "good")), '"good"');
  const sync = () => {
    throw new Error("at once");
  };
  includes(await rejection(() => assertRejects(sync)), "throws when expected to reject");
});

Deno.test("fail() always fails", () => {
  includes(failure(() => fail("here")), "here");
});
