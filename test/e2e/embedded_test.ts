// A program with a broker inside ends when its broker is closed: no timer, no socket, no handle is left.

import { assertEquals } from "@std/assert";
import { Program } from "./support/program.ts";

Deno.test("close() leaves nothing that keeps the process alive", async () => {
  const program = new Program([], { file: "test/e2e/support/embedded.ts" });
  assertEquals(await program.ended, { code: 0, stdout: "closed\n", stderr: "" });
});
