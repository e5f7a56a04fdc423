// Loads the adapters of the runtime that the program runs on, and of no other. main.ts and mod.ts call
// it once.

import { detectRuntime } from "./detect.ts";
import type { Runtime } from "./port.ts";

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
