// Comparing versions of runtimes, on which the choice between an installed and a brought one rests.
import { assert, assertFalse } from "@std/assert";
import { isAtLeast } from "../../../scripts/lib/runtimes.ts";

Deno.test("isAtLeast() compares numbers, not texts", () => {
  assert(isAtLeast("22.18.0", "22.18.0"));
  assert(isAtLeast("26.1.0", "22.18.0"));
  assert(isAtLeast("22.100.0", "22.18.0"));
  assert(isAtLeast("2.9.6-rc.1", "2.9.6"));
  assertFalse(isAtLeast("22.17.9", "22.18.0"));
  assertFalse(isAtLeast("20.20.2", "22.18.0"));
  assertFalse(isAtLeast("9.0.0", "22.18.0"));
});
