// Loaded by `bun test` before the test files (see bunfig.toml): gives them `Deno.test`, backed by
// Bun's own runner. "@std/assert" needs nothing here, Bun reads the paths of tsconfig.json.

import { installDenoTest } from "./shim.ts";

// Through a variable: Deno type-checks this file too and refuses to resolve the name.
const module = "bun:test";
const { test } = await import(module);

installDenoTest(({ name, fn, ignore }) => {
  // The wrapper has no parameters: Bun takes a function with one for callback style.
  if (ignore) test.skip(name, () => fn());
  else test(name, () => fn());
});
