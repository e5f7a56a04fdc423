// The process around us for Deno: node's module, which Deno implements, but for what may be refused
// by a permission or is told differently.

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

/** Version of the runtime itself. */
export function version(): string {
  return Deno.version.deno;
}

/** The whole environment; throws when it may not be read. */
export function environment(): Record<string, string> {
  return Deno.env.toObject();
}

/** Name of this machine; `localhost` when it may not be asked. */
export function hostName(): string {
  const { state } = Deno.permissions.querySync({ name: "sys", kind: "hostname" });
  return state === "granted" ? Deno.hostname() : "localhost";
}

/** Memory of the whole process as the operating system counts it, bytes. */
export function residentBytes(): number {
  return Deno.memoryUsage().rss;
}
