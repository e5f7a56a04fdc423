// Loaded by `deno test` before the test files (`--preload`): bounds the time of each test, which the
// runners of Bun and Node do by an option. Without it one test that never ends would hold up the run
// and nobody would know which it was.

import { normalize, type TestDefinition, type TestFunction, type TestOptions } from "./shim.ts";
import { TEST_TIMEOUT_MS } from "./timeout.ts";

const denoTest = Deno.test;

function boundedTest(
  first: string | TestDefinition,
  second?: TestOptions | TestFunction,
  third?: TestFunction,
): void {
  denoTest({ timeout: TEST_TIMEOUT_MS, ...normalize(first, second, third) });
}

Object.defineProperty(Deno, "test", { value: Object.assign(boundedTest, denoTest) });
