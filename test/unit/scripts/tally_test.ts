// The counting that the closing line of every test run rests on.
import { assertEquals } from "@std/assert";
import {
  addCheck,
  addTally,
  closingLine,
  emptyTally,
  readClosingLine,
  readJunit,
} from "../../../scripts/lib/tally.ts";

Deno.test("readJunit() counts each runner's form of passed, failed and skipped", () => {
  const xml = `<testsuites tests="9"><testsuite name="a" failures="9">
    <testcase name="one" time="1"/>
    <testcase name="two" line="3" assertions="0" />
    <testcase name="three" time="1"></testcase>
    <testcase name="four &lt;a&gt; &quot;b&quot;"><failure message="x > y">text</failure></testcase>
    <testcase name="five"><error>text</error></testcase>
    <testcase name="six"><skipped type="skipped" message="true"/></testcase>
    <testcase name="seven">
      <system-out>a failure and an error and &lt;skipped&gt; in words</system-out>
    </testcase>
  </testsuite></testsuites>`;
  assertEquals(readJunit(xml, "deno"), {
    passed: 4,
    failed: 2,
    skipped: 1,
    failures: ['deno: four <a> "b"', "deno: five"],
  });
});

Deno.test("addTally() and addCheck() sum, closingLine() prints", () => {
  const total = emptyTally();
  addTally(total, { passed: 2, failed: 1, skipped: 3, failures: ["x"] });
  addCheck(total, "lint", true);
  addCheck(total, "types", false);
  assertEquals(total.failures, ["x", "types"]);
  assertEquals(closingLine(total), "3 passed, 2 failed, 3 skipped");
});

Deno.test("readClosingLine() reads the counts and the names of failures", () => {
  const inner = "failed: deno: one\n1 passed, 1 failed, 0 skipped\n";
  const output =
    `${inner}noise\nfailed: deno: one\nfailed: deno: two\n7 passed, 2 failed, 1 skipped\n`;
  assertEquals(readClosingLine(output, "deno"), {
    passed: 7,
    failed: 2,
    skipped: 1,
    failures: ["deno: one", "deno: two"],
  });
});

Deno.test("readClosingLine() takes a missing line as a failure", () => {
  assertEquals(readClosingLine("ok | 7 passed | 0 failed\n", "deno").failed, 1);
});
