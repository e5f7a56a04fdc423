// Loaded by Node before the test files (`--import`): gives them `Deno.test`, backed by node:test,
// and resolves "@std/assert", which Node would look for among the installed packages.

import { registerHooks } from "node:module";
import { test } from "node:test";
import { installDenoTest } from "./shim.ts";

const assertUrl = new URL("../assert.ts", import.meta.url).href;

registerHooks({
  resolve(specifier, context, nextResolve) {
    return nextResolve(specifier === "@std/assert" ? assertUrl : specifier, context);
  },
});

installDenoTest(({ name, fn, ignore }) => {
  test(name, { skip: ignore === true }, () => fn());
});
