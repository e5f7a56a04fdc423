// Answers that wait, and that they do not outlive the node.

import { assertEquals } from "@std/assert";
import { Pauses } from "../../../src/management/pauses.ts";

Deno.test("Pauses.end() ends current and later pauses", async () => {
  const pauses = new Pauses();
  const ended: number[] = [];
  const waiting = [1, 2].map((number) => pauses.sleep(1e9).then(() => ended.push(number)));
  pauses.end();
  await Promise.all(waiting);
  await pauses.sleep(1e9);
  assertEquals(ended, [1, 2]);
});
