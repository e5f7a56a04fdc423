// Counting what Python's unittest reports at its end.
import { assertEquals } from "@std/assert";
import { countUnittest } from "../../../scripts/lib/pika.ts";
import { emptyTally, type Tally } from "../../../scripts/lib/tally.ts";

function count(output: string): Tally {
  const tally = emptyTally();
  countUnittest(output, "pika", tally);
  return tally;
}

Deno.test("countUnittest() counts passed, failed, broken and skipped tests", () => {
  assertEquals(count("Ran 12 tests in 1.2s\n\nOK\n"), { ...emptyTally(), passed: 12 });
  const ok = count("Ran 12 tests in 1.2s\n\nOK (skipped=2)\n");
  assertEquals(ok, { ...emptyTally(), passed: 10, skipped: 2 });
  const bad = [
    "FAIL: test_nack (retry_test.Retry.test_nack)",
    "ERROR: test_get (basic_test.Basic.test_get)",
    "Ran 12 tests in 1.2s",
    "",
    "FAILED (failures=1, errors=1, skipped=3)",
  ];
  assertEquals(count(bad.join("\n")), {
    passed: 7,
    failed: 2,
    skipped: 3,
    failures: [
      "pika: test_nack (retry_test.Retry.test_nack)",
      "pika: test_get (basic_test.Basic.test_get)",
    ],
  });
});

Deno.test("countUnittest() takes no test at all as a failure", () => {
  assertEquals(count("Ran 0 tests in 0.0s\n\nNO TESTS RAN\n").failed, 1);
  assertEquals(count("Traceback").failed, 1);
});
