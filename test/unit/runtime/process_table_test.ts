// The processes above this one: the kernel's files and `ps` say the same.

import { assertEquals, assertGreater } from "@std/assert";
import process from "node:process";
import { lineage } from "../../../src/runtime/process_table.ts";

Deno.test("lineage() begins with this process and goes up parent by parent", () => {
  const found = lineage();
  assertEquals(found[0]!.identity.pid, process.pid);
  assertEquals(found[1]!.identity.pid, process.ppid);
  assertGreater(found.length, 1);
  for (const [index, { parentPid }] of found.slice(0, -1).entries()) {
    assertEquals(found[index + 1]!.identity.pid, parentPid);
  }
});

Deno.test("lineage() asks ps where there is no /proc", () => {
  const facts = (proc?: string) =>
    lineage(process.pid, proc).slice(0, 2).map(({ identity, parentPid, groupId, command }) => [
      ...[identity.pid, parentPid, groupId],
      command.split(" ")[0],
    ]);
  assertEquals(facts("/nowhere"), facts());
});
