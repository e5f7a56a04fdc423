// The process around us on node:process and node:fs, for Node and (through deno/process.ts and
// bun/process.ts) for the others. Called by main.ts and server.ts; never by a feature.

import { readFileSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";

const STDOUT = 1;
const STDERR = 2;

/** Version of the runtime itself. */
export function version(): string {
  return process.versions.node;
}

/** Command line arguments after the program's own name. */
export function args(): string[] {
  return process.argv.slice(2);
}

/** The whole environment; throws when it may not be read. */
export function environment(): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

/** Reads a UTF-8 file; throws when it is missing or may not be read. */
export function readTextFile(path: string): string {
  return readFileSync(path, "utf8");
}

/** Writes text to standard output now. */
export function writeOut(text: string): void {
  writeAll(STDOUT, text);
}

/** Writes text to standard error now. */
export function writeError(text: string): void {
  writeAll(STDERR, text);
}

// A pipe that nobody reads any more, or that is full and does not block, must not stop the broker:
// what cannot be written is lost.
function writeAll(descriptor: number, text: string): void {
  const bytes = Buffer.from(text, "utf8");
  let at = 0;
  try {
    while (at < bytes.length) at += writeSync(descriptor, bytes, at);
  } catch {
    return;
  }
}

/** Calls back for SIGTERM and SIGINT; returns how to stop listening. */
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

/** Calls back for an error nobody caught; returns how to stop listening. */
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

/** Number of this process. */
export function processId(): number {
  return process.pid;
}

/** Name of this machine. */
export function hostName(): string {
  return hostname();
}

/** Memory of the whole process as the operating system counts it, bytes. */
export function residentBytes(): number {
  return process.memoryUsage.rss();
}
