// The current process through node:process and node:fs, for Node and, by way of deno/process.ts and
// bun/process.ts, for the other runtimes. main.ts and server.ts call it; features never do.

import { readFileSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";

const STDOUT = 1;
const STDERR = 2;

/** Returns the version of the runtime. */
export function version(): string {
  return process.versions.node;
}

/** Returns the command line arguments after the program's own name. */
export function args(): string[] {
  return process.argv.slice(2);
}

/** Returns the whole environment. Throws when it may not be read. */
export function environment(): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

/** Reads a UTF-8 file. Throws when it is missing or may not be read. */
export function readTextFile(path: string): string {
  return readFileSync(path, "utf8");
}

/** Writes text to standard output before it returns. */
export function writeOut(text: string): void {
  writeAll(STDOUT, text);
}

/** Writes text to standard error before it returns. */
export function writeError(text: string): void {
  writeAll(STDERR, text);
}

// A pipe without a reader, or a full pipe that does not block, must not stop the broker: text that
// cannot be written is lost.
function writeAll(descriptor: number, text: string): void {
  const bytes = Buffer.from(text, "utf8");
  let at = 0;
  try {
    while (at < bytes.length) at += writeSync(descriptor, bytes, at);
  } catch {
    return;
  }
}

/** Calls back for SIGTERM and SIGINT. Returns a function that stops it. */
export function onSignal(callback: (signal: string) => void): () => void {
  const terminated = () => callback("SIGTERM");
  const interrupted = () => callback("SIGINT");
  process.on("SIGTERM", terminated);
  process.on("SIGINT", interrupted);
  return () => {
    process.off("SIGTERM", terminated);
    process.off("SIGINT", interrupted);
  };
}

/** Calls back for an uncaught error. Returns a function that stops it. */
export function onUncaught(callback: (error: unknown) => void): () => void {
  process.on("uncaughtException", callback);
  process.on("unhandledRejection", callback);
  return () => {
    process.off("uncaughtException", callback);
    process.off("unhandledRejection", callback);
  };
}

/** Ends the process now. */
export function exit(code: number): never {
  process.exit(code);
}

/** Returns the id of this process. */
export function processId(): number {
  return process.pid;
}

/** Returns the name of this machine. */
export function hostName(): string {
  return hostname();
}

/** Returns the memory of the whole process as the operating system counts it, bytes. */
export function residentBytes(): number {
  return process.memoryUsage.rss();
}
