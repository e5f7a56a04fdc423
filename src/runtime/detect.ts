// Finds out which runtime the program runs on. Bun is checked first, because a test shim there provides
// a `Deno` object that has nothing but `test`.

import type { RuntimeName } from "./port.ts";

interface RuntimeGlobals {
  Bun?: { version: string };
  Deno?: { version?: { deno?: string } };
  process?: { versions?: { node?: string } };
}

/** Returns the name of the runtime that this program runs on. */
export function detectRuntime(globals: object = globalThis): RuntimeName {
  const { Bun, Deno } = globals as RuntimeGlobals;
  if (Bun !== undefined) return "bun";
  return Deno?.version?.deno === undefined ? "node" : "deno";
}
