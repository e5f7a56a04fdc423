// Stands in for the one function of Deno that our tests use, so that the same test files run under
// Bun and Node. bun_preload.ts and node_register.ts give it their runner's own way to add a test.
// It offers nothing else of Deno: a test that reaches for more fails there, as it should.

/** What a test may say about itself besides its name and its function. */
export interface TestOptions {
  /** Do not run it; it is counted as skipped. */
  ignore?: boolean;
}

/** The function of a test; the shim passes it no context, our tests use none. */
export type TestFunction = () => void | Promise<void>;

/** The whole definition in one object, the other form `Deno.test` accepts. */
export interface TestDefinition extends TestOptions {
  /** The name under which the test is reported. */
  name: string;
  /** What to run. */
  fn: TestFunction;
}

/** Adds one test to the runner at hand. */
export type Register = (definition: TestDefinition) => void;

/** Puts `Deno.test` on the global object, backed by the given runner. */
export function installDenoTest(register: Register): void {
  const test = (
    first: string | TestDefinition,
    second?: TestOptions | TestFunction,
    third?: TestFunction,
  ): void => register(normalize(first, second, third));
  const ignored = (name: string, fn: TestFunction): void => register({ name, fn, ignore: true });
  const shim = { test: Object.assign(test, { ignore: ignored }) };
  Object.defineProperty(globalThis, "Deno", { value: shim, configurable: true });
}

/** Brings the accepted forms of `Deno.test` arguments into one. */
export function normalize(
  first: string | TestDefinition,
  second?: TestOptions | TestFunction,
  third?: TestFunction,
): TestDefinition {
  if (typeof first !== "string") return first;
  if (typeof second === "function") return { name: first, fn: second };
  if (typeof third === "function") return { ...second, name: first, fn: third };
  throw new TypeError(`test "${first}" has no function`);
}
