// Running programs, in real time because they are real: what they print, how they end, and that their
// children end with them.
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { startUntil } from "../../../scripts/lib/background.ts";
import { run } from "../../../scripts/lib/process.ts";

Deno.test("run() reports exit code and output", async () => {
  const command = ["sh", "-c", "echo out; echo err >&2; echo $WORD; exit 3"];
  const result = await run(command, { quiet: true, env: { WORD: "from us" } });
  assertEquals(result.code, 3);
  for (const text of ["out", "err", "from us"]) assertStringIncludes(result.output, text);
});

Deno.test("run() reports a command that does not exist", async () => {
  const result = await run(["no-such-command-here"], { quiet: true });
  assertEquals(result.code, -1);
});

Deno.test("run() ends the command and its children when time is up", async () => {
  const command = ["sh", "-c", "sleep 600 & sleep 600"];
  const result = await run(command, { quiet: true, timeoutMs: 50 });
  assert(result.timedOut);
  assertEquals(result.code, -1);
});

Deno.test("startUntil() resolves with the line and stop() with the exit code", async () => {
  const script =
    "trap 'exit 7' TERM; echo starting; echo ready port=1; while :; do sleep 0.01; done";
  const program = await startUntil(["sh", "-c", script], "ready");
  assertEquals(program.line, "ready port=1");
  assertEquals(await program.stop(), 7);
});

Deno.test("startUntil() rejects with the output when the program ends or is late", async () => {
  await assertRejects(() => startUntil(["sh", "-c", "echo oh; exit 1"], "ready"), Error, "oh");
  const late = () => startUntil(["sleep", "600"], "ready", { timeoutMs: 50 });
  await assertRejects(late, Error, "in time");
});
