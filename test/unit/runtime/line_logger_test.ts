// Log lines as JSON.

import { assertEquals } from "@std/assert";
import { LineLogger } from "../../../src/runtime/line_logger.ts";

Deno.test("log() writes one JSON object per line and drops what is not severe enough", () => {
  const lines: string[] = [];
  const logger = new LineLogger({
    minimum: "warn",
    nowMs: () => 0,
    write: (line) => lines.push(line),
  });
  logger.log("info", "not shown");
  logger.log("error", "shown\n", { queue: "a", count: 2, isOpen: false, reason: null });
  const expected = {
    time: "1970-01-01T00:00:00.000Z",
    level: "error",
    message: "shown\n",
    queue: "a",
    count: 2,
    isOpen: false,
    reason: null,
  };
  assertEquals(lines, [`${JSON.stringify(expected)}\n`]);
});
