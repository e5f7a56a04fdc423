// Tests of src/lib/logger.ts: the order of levels and the silent logger. Run by every unit test run.
// Where lines go and how they look is tested with the runtime that writes them.

import { assert, assertEquals, assertFalse } from "@std/assert";
import { isLogged, LOG_LEVELS, SILENT_LOGGER } from "../../../src/lib/logger.ts";

Deno.test("isLogged() lets through a level when it is at least the threshold", () => {
  assert(isLogged("error", "warn"));
  assert(isLogged("warn", "warn"));
  assertFalse(isLogged("info", "warn"));
  assertEquals(LOG_LEVELS.filter((level) => isLogged(level, "info")), ["info", "warn", "error"]);
});

Deno.test("SILENT_LOGGER.log() does nothing when called", () => {
  assertEquals(SILENT_LOGGER.log("error", "x", { a: 1 }), undefined);
});
