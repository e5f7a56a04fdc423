// Reading back what the test command of the README printed.
import { assertEquals } from "@std/assert";
import { readClosingLine } from "../../../scripts/lib/bare_clone.ts";

Deno.test("readClosingLine() reads the counts and the names of failures", () => {
  const output = "noise\nfailed: deno: one\nfailed: deno: two\n7 passed, 2 failed, 1 skipped\n";
  assertEquals(readClosingLine(output), {
    passed: 7,
    failed: 2,
    skipped: 1,
    failures: ["deno: one", "deno: two"],
  });
});

Deno.test("readClosingLine() takes a missing line as a failure", () => {
  assertEquals(readClosingLine("ok | 7 passed | 0 failed\n").failed, 1);
});
