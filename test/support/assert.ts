// The part of @std/assert that our tests use, written here because the registry that publishes the
// original is not reachable everywhere the tests run. deno.json, tsconfig.json and the Node runner
// map "@std/assert" to this file; `deno task test:jsr` runs the tests with the original instead.
// Same names, same arguments, same meaning; only the wording of messages is our own.

import { diffLines } from "./assert/diff.ts";
import { equal } from "./assert/equal.ts";
import { AssertionError, withReason } from "./assert/error.ts";
import { format } from "./assert/format.ts";

export { AssertionError, equal };

/** Any class, abstract ones included, whose instances are `T`. */
export type AnyConstructor<T> = abstract new (...args: never[]) => T;

/** Fails unless the expression is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** Fails unless the expression is falsy. */
export function assertFalse(expr: unknown, msg?: string): asserts expr is false {
  if (expr) {
    throw new AssertionError(withReason(`Expected a falsy value, got ${format(expr)}`, msg));
  }
}

/** Fails at once, for a line that must not be reached. */
export function fail(msg?: string): never {
  throw new AssertionError(withReason("Failed assertion", msg));
}

/** Fails unless both values are deeply equal. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) return;
  throw new AssertionError(
    `${withReason("Values are not equal", msg)}\n${describe(actual, expected)}`,
  );
}

/** Fails if both values are deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  if (!equal(actual, expected)) return;
  throw new AssertionError(
    withReason(`Expected values to differ, both are ${format(actual)}`, msg),
  );
}

/** Fails unless both are the same value by `Object.is`: here 0 and -0 differ. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  msg?: string,
): asserts actual is T {
  if (Object.is(actual, expected)) return;
  const text = equal(actual, expected)
    ? "Values have the same content but are not the same value"
    : "Values are not strictly equal";
  throw new AssertionError(`${withReason(text, msg)}\n${describe(actual, expected)}`);
}

function describe(actual: unknown, expected: unknown): string {
  const left = format(actual);
  const right = format(expected);
  if (left === right) return `\n  both print as\n\n${left}`;
  return `\n- actual\n+ expected\n\n${diffLines(left, right)}`;
}

/**
 * Fails unless two numbers differ by no more than the tolerance, by default a ten-millionth of the
 * expected value.
 */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance?: number,
  msg?: string,
): void {
  if (Object.is(actual, expected)) return;
  const delta = Math.abs(expected - actual);
  const allowed = tolerance ?? (isFinite(expected) ? Math.abs(expected * 1e-7) : 1e-7);
  if (delta <= allowed) return;
  throw new AssertionError(
    withReason(
      `Expected ${actual} to be within ${allowed} of ${expected}, it is ${delta} away`,
      msg,
    ),
  );
}

/** Fails unless `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  if (actual > expected) return;
  throw new AssertionError(withReason(`Expected ${format(actual)} > ${format(expected)}`, msg));
}

/** Fails unless `actual >= expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (actual >= expected) return;
  throw new AssertionError(withReason(`Expected ${format(actual)} >= ${format(expected)}`, msg));
}

/** Fails unless `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  if (actual < expected) return;
  throw new AssertionError(withReason(`Expected ${format(actual)} < ${format(expected)}`, msg));
}

/** Fails unless `actual <= expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (actual <= expected) return;
  throw new AssertionError(withReason(`Expected ${format(actual)} <= ${format(expected)}`, msg));
}

/** Fails unless the text matches the pattern. */
export function assertMatch(actual: string, expected: RegExp, msg?: string): void {
  if (expected.test(actual)) return;
  throw new AssertionError(withReason(`Expected ${format(actual)} to match ${expected}`, msg));
}

/** Fails unless the text contains the other. */
export function assertStringIncludes(actual: string, expected: string, msg?: string): void {
  if (actual.includes(expected)) return;
  throw new AssertionError(
    withReason(`Expected ${format(actual)} to contain ${format(expected)}`, msg),
  );
}

/** Fails unless the value is an instance of the class. */
export function assertInstanceOf<T>(
  actual: unknown,
  expectedType: AnyConstructor<T>,
  msg?: string,
): asserts actual is T {
  if (actual instanceof expectedType) return;
  const text = `Expected an instance of ${expectedType.name}, got ${kindOf(actual)}`;
  throw new AssertionError(withReason(text, msg));
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  return value.constructor?.name ?? "an object without a class";
}

/** Fails if the value is null or undefined. */
export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T> {
  if (actual === undefined || actual === null) {
    throw new AssertionError(withReason(`Expected a value, got ${actual}`, msg));
  }
}

/** Fails unless the function throws an error of the class with the text in its message; returns it. */
export function assertThrows<E extends Error>(
  fn: () => unknown,
  errorClass: AnyConstructor<E>,
  msgIncludes?: string,
  msg?: string,
): E;
/** Fails unless the function throws anything; returns what it threw. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
export function assertThrows(
  fn: () => unknown,
  classOrMsg?: AnyConstructor<Error> | string,
  msgIncludes?: string,
  msg?: string,
): unknown {
  const reason = typeof classOrMsg === "string" ? classOrMsg : msg;
  let result: unknown;
  try {
    result = fn();
  } catch (error) {
    if (typeof classOrMsg === "function") checkError(error, classOrMsg, msgIncludes, reason);
    return error;
  }
  const hint = result instanceof Promise ? " (it returned a promise: use assertRejects)" : "";
  throw new AssertionError(withReason(`Expected function to throw${hint}`, reason));
}

/** Fails unless the promise rejects with an error of the class with the text in its message. */
export function assertRejects<E extends Error>(
  fn: () => PromiseLike<unknown>,
  errorClass: AnyConstructor<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
/** Fails unless the promise rejects with anything; resolves to the reason. */
export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  classOrMsg?: AnyConstructor<Error> | string,
  msgIncludes?: string,
  msg?: string,
): Promise<unknown> {
  const reason = typeof classOrMsg === "string" ? classOrMsg : msg;
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch (error) {
    throw new AssertionError(withReason("Function throws when expected to reject", reason), {
      cause: error,
    });
  }
  try {
    await promise;
  } catch (error) {
    if (typeof classOrMsg === "function") checkError(error, classOrMsg, msgIncludes, reason);
    return error;
  }
  throw new AssertionError(withReason("Expected function to reject", reason));
}

function checkError(
  error: unknown,
  errorClass: AnyConstructor<Error>,
  msgIncludes: string | undefined,
  reason: string | undefined,
): void {
  if (!(error instanceof Error)) {
    const text = `Expected an error, but a non-Error was thrown: ${format(error)}`;
    throw new AssertionError(withReason(text, reason));
  }
  const { message } = error;
  if (!(error instanceof errorClass)) {
    const text = `Expected a ${errorClass.name}, got ${kindOf(error)}: ${message}`;
    throw new AssertionError(withReason(text, reason), { cause: error });
  }
  if (msgIncludes !== undefined && !message.includes(msgIncludes)) {
    const text = `Expected error message to contain ${format(msgIncludes)}, got ${format(message)}`;
    throw new AssertionError(withReason(text, reason), { cause: error });
  }
}
