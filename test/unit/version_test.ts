// The version shown by the program and the one of the package are the same.

import { assertEquals } from "@std/assert";
import { readFileSync } from "node:fs";
import { VERSION } from "../../src/version.ts";

Deno.test("VERSION is the version of the package", () => {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  assertEquals(VERSION, JSON.parse(text).version);
});
