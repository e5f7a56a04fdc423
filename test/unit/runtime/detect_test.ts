// Which runtime this is, and that its adapters load.

import { assertEquals, assertMatch } from "@std/assert";
import { detectRuntime } from "../../../src/runtime/detect.ts";
import { loadRuntime } from "../../../src/runtime/load.ts";

Deno.test("detectRuntime() asks for Bun first, then for a real Deno", () => {
  assertEquals(detectRuntime({ Bun: {}, Deno: { version: { deno: "2.9.6" } } }), "bun");
  assertEquals(detectRuntime({ Bun: {}, process: {} }), "bun");
  assertEquals(detectRuntime({ Deno: { version: { deno: "2.9.6" } }, process: {} }), "deno");
  assertEquals(detectRuntime({ Deno: { test() {} }, process: {} }), "node");
  assertEquals(detectRuntime({ process: {} }), "node");
});

Deno.test("loadRuntime() loads the adapters of the runtime at hand", async () => {
  const runtime = await loadRuntime();
  assertEquals(runtime.name, detectRuntime());
  assertMatch(runtime.version, /^\d+\.\d+\.\d+/);
  assertEquals(runtime.process.residentBytes() > 1_000_000, true);
  assertEquals(Number.isInteger(runtime.process.processId()), true);
});
