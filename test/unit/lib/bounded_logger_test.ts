// A flood of lines comes out as a few and their number, and hides no line of another kind.
import { assertEquals, assertLess } from "@std/assert";
import { BoundedLogger, LINES_AT_ONCE } from "../../../src/lib/bounded_logger.ts";
import type { LogFields, LogLevel } from "../../../src/lib/logger.ts";

function bounded() {
  const lines: [LogLevel, string, LogFields | undefined][] = [];
  const clock = { nowMs: 0 };
  const log = (...line: [LogLevel, string, LogFields?]) => void lines.push([...line] as never);
  const logger = new BoundedLogger({ log }, () => clock.nowMs);
  return { logger, lines, clock };
}

Deno.test("log() passes what is within the bound through as it is", () => {
  const { logger, lines } = bounded();
  for (let i = 0; i < LINES_AT_ONCE; i++) logger.log("info", "a", { i });
  logger.flush();
  assertEquals(lines.length, LINES_AT_ONCE);
  assertEquals(lines[5], ["info", "a", { i: 5 }]);
});

Deno.test("log() writes one line a second of a flood, with the number of those left out", () => {
  const { logger, lines, clock } = bounded();
  for (let i = 0; i < 1000; i++) logger.log("warn", "a");
  assertEquals(lines.length, LINES_AT_ONCE);
  logger.log("info", "b");
  assertEquals(lines.at(-1), ["info", "b", undefined]);
  clock.nowMs = 1000;
  for (let i = 0; i < 1000; i++) logger.log("warn", "a");
  assertEquals(lines.slice(LINES_AT_ONCE + 1), [
    ["warn", "lines like one above were left out", { like: "a", count: 900 }],
    ["warn", "a", undefined],
  ]);
});

Deno.test("log() writes a number of lines that time bounds, however many come", () => {
  const { logger, lines, clock } = bounded();
  for (let second = 0; second < 60; second++) {
    for (let i = 0; i < 100; i++) {
      clock.nowMs += 10;
      logger.log("warn", "a");
      logger.flush();
    }
  }
  assertLess(lines.length, LINES_AT_ONCE + 2 * 61);
});

Deno.test("flush() writes how many lines were left out once the flood is over, and at the end at once", () => {
  const { logger, lines, clock } = bounded();
  for (let i = 0; i < LINES_AT_ONCE + 5; i++) logger.log("warn", "a");
  logger.flush();
  assertEquals(lines.length, LINES_AT_ONCE);
  clock.nowMs = 1000;
  logger.flush();
  logger.flush();
  const told = ["warn", "lines like one above were left out", { like: "a", count: 5 }];
  assertEquals(lines.slice(LINES_AT_ONCE), [told] as never);
  logger.log("warn", "a");
  logger.flush(true);
  assertEquals(lines.at(-1), ["warn", "lines like one above were left out", {
    like: "a",
    count: 1,
  }]);
});

Deno.test("log() cuts long texts and leaves the rest alone", () => {
  const { logger, lines } = bounded();
  logger.log("info", "a", { text: "x".repeat(1_000_000), n: 1, no: null });
  const fields = lines[0]![2]!;
  assertLess(String(fields["text"]).length, 5000);
  assertEquals([fields["n"], fields["no"]], [1, null]);
});
