// The command line of the programs in this folder: `--name=value`, or `--name value`. They ask it; what
// a value means is theirs.

import process from "node:process";
import type { Peer, RuntimeCommands } from "./brokers.ts";

/** The value of an option, if it was given. */
export function option(name: string): string | undefined {
  return optionValues(name)[0];
}

function optionValues(name: string): string[] {
  const { argv } = process;
  return argv.flatMap((arg, index) => {
    if (arg.startsWith(`--${name}=`)) return [arg.slice(name.length + 3)];
    return arg === `--${name}` && index + 1 < argv.length ? [argv[index + 1]!] : [];
  });
}

/** The brokers that were given as `--peer name='command with {port} {dir}'`. */
export function peers(): Peer[] {
  return optionValues("peer").map((text) => {
    const at = text.indexOf("=");
    const [name, command] = [text.slice(0, at), text.slice(at + 1)];
    if (at < 1 || !command.includes("{port}")) {
      throw new Error(`--peer ${text}: use name='command with {port} {dir}'`);
    }
    return { name, command };
  });
}

/** The runtimes that were given, by their paths. */
export function runtimeCommands(): RuntimeCommands {
  const names = ["bun", "deno", "node"] as const;
  const given = names.filter((name) => option(name) !== undefined);
  return Object.fromEntries(given.map((name) => [name, option(name)]));
}
