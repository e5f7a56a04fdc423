// A program that keeps running while others talk to it: started, awaited until it says that it is
// ready, ended by SIGTERM. The checks of README commands and the Python client tests start brokers
// this way; it knows nothing of brokers but the line they print.

import { endGroup, type RunOptions, start } from "./process.ts";

/** A running program. */
export interface Background {
  /** The line it was waited for. */
  line: string;
  /** Asks it to end and waits; resolves to its exit code, -1 if it had to be killed. */
  stop(): Promise<number>;
}

const STOP_MS = 15_000;

/** Starts a program and waits until it prints a line with the text; rejects if it ends or is late. */
export function startUntil(
  command: readonly string[],
  text: string,
  options: RunOptions = {},
): Promise<Background> {
  const child = start(command, { ...options, quiet: true });
  const chunks: string[] = [];
  const ended = new Promise<number>((resolve) => {
    child.once("close", (code) => resolve(code ?? -1));
    child.once("error", () => resolve(-1));
  });
  const stop = async (): Promise<number> => {
    endGroup(child, "SIGTERM");
    const limit = setTimeout(() => endGroup(child), STOP_MS);
    const code = await ended;
    clearTimeout(limit);
    // npx and task runners may end before what they started.
    endGroup(child);
    return code;
  };
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      reject(new Error(`${command.join(" ")} ${why}:\n${chunks.join("")}`));
    };
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      endGroup(child);
    }, options.timeoutMs ?? 120_000);
    const look = (chunk: string): void => {
      chunks.push(chunk);
      const line = chunks.join("").split("\n").slice(0, -1).find((one) => one.includes(text));
      if (line === undefined) return;
      clearTimeout(limit);
      chunks.length = 0;
      resolve({ line, stop });
    };
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", look);
    ended.then((code) => {
      clearTimeout(limit);
      fail(isLate ? `did not print "${text}" in time` : `ended with code ${code}`);
    });
  });
}
