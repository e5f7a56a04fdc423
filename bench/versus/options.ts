// The command line of the programs in this folder: `--name=value`. main.ts and retries.ts ask it; what
// a value means is theirs.

import process from "node:process";
import type { RuntimeCommands } from "./brokers.ts";

/** The value of an option, if it was given. */
export function option(name: string): string | undefined {
  const found = process.argv.find((arg) => arg.startsWith(`--${name}=`));
  return found?.slice(name.length + 3);
}

/** The runtimes that were given, by their paths. */
export function runtimeCommands(): RuntimeCommands {
  const names = ["bun", "deno", "node"] as const;
  const given = names.filter((name) => option(name) !== undefined);
  return Object.fromEntries(given.map((name) => [name, option(name)]));
}
