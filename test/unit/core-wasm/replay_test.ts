// The shared vectors and the shared trace on this runtime: the results every host must reproduce.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { assertEquals } from "@std/assert";
import { replayTrace, wrongDelays } from "../../../core-wasm/hosts/javascript/replay.ts";

function read(name: string): Promise<string> {
  return readFile(new URL(`../../../core-wasm/vectors/${name}`, import.meta.url), "utf8");
}

function sha256Of(bytes: Uint8Array): Promise<string> {
  return Promise.resolve(createHash("sha256").update(bytes).digest("hex"));
}

Deno.test("replayTrace() gives the recorded result", async () => {
  const expected = JSON.parse(await read("trace_result.json"));
  assertEquals(await replayTrace(await read("trace.txt"), sha256Of), expected);
});

Deno.test("wrongDelays() finds none in the shared vectors", async () => {
  assertEquals(wrongDelays(JSON.parse(await read("delay.json"))), 0);
});
