// Finds out which runtime the program runs on and loads the adapters of that runtime only. main.ts and
// mod.ts call it once. Bun is checked first, because a test shim there provides a `Deno` object that
// has nothing but `test`.

import type { Runtime, RuntimeName } from "./port.ts";

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

/** Loads the adapters of the runtime that this program runs on. */
export function loadRuntime(): Promise<Runtime> {
  switch (detectRuntime()) {
    case "bun":
      return loadBun();
    case "deno":
      return loadDeno();
    case "node":
      return loadNode();
  }
}

async function loadBun(): Promise<Runtime> {
  const [net, http, process] = await Promise.all([
    import("./bun/net.ts"),
    import("./bun/http.ts"),
    import("./bun/process.ts"),
  ]);
  return { name: "bun", version: process.version(), net, http, process };
}

async function loadDeno(): Promise<Runtime> {
  const [net, http, process] = await Promise.all([
    import("./deno/net.ts"),
    import("./deno/http.ts"),
    import("./deno/process.ts"),
  ]);
  return { name: "deno", version: process.version(), net, http, process };
}

async function loadNode(): Promise<Runtime> {
  const [net, http, process] = await Promise.all([
    import("./node/net.ts"),
    import("./node/http.ts"),
    import("./node/process.ts"),
  ]);
  return { name: "node", version: process.version(), net, http, process };
}
