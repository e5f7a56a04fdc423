// The current process for Deno: node/process.ts, which Deno can run, except for functions that need a
// Deno permission or have another source.

export {
  args,
  exit,
  onSignal,
  onUncaught,
  processId,
  readTextFile,
  writeError,
  writeOut,
} from "../node/process.ts";

/** Returns the version of the runtime. */
export function version(): string {
  return Deno.version.deno;
}

/** Returns the whole environment. Throws when it may not be read. */
export function environment(): Record<string, string> {
  return Deno.env.toObject();
}

/** Returns the name of this machine; `localhost` without the permission to read it. */
export function hostName(): string {
  const { state } = Deno.permissions.querySync({ name: "sys", kind: "hostname" });
  return state === "granted" ? Deno.hostname() : "localhost";
}

/** Returns the memory of the whole process as the operating system counts it, bytes. */
export function residentBytes(): number {
  return Deno.memoryUsage().rss;
}
