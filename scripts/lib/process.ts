// Runs child processes for the scripts: waits for the end, bounds the time, and leaves nothing of the
// child's family behind. Works on every runtime; it never interprets what the child prints.

import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";

/** How to run a command. */
export interface RunOptions {
  /** Folder to run in; the current one by default. */
  cwd?: string;
  /** Environment on top of our own; undefined removes a variable. */
  env?: Record<string, string | undefined>;
  /** Ends the command and its children after this time; an hour by default. */
  timeoutMs?: number;
  /** Keeps what the command prints instead of passing it on. */
  quiet?: boolean;
}

/** How a command ended. */
export interface RunResult {
  /** Exit code; -1 if it was ended by a signal, by the time limit or never started. */
  code: number;
  /** What it printed on both streams, with `quiet` only. */
  output: string;
  /** True if it was ended for taking too long. */
  timedOut: boolean;
}

const TIMEOUT_MS = 3_600_000;
const LINGER_MS = 5_000;

/** Our environment without colours, changed as asked. */
export function environment(changes: Record<string, string | undefined> = {}): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: "1", ...changes };
  for (const [name, value] of Object.entries(env)) if (value === undefined) delete env[name];
  // Set by an outer runner, it would overrule NO_COLOR and warn about it.
  delete env["FORCE_COLOR"];
  return env;
}

const running = new Set<ChildProcess>();

/** Groups of their own do not hear the terminal: what ends us must end them too. */
function endAllAndExit(): void {
  for (const child of running) endGroup(child);
  process.exit(130);
}

function track(child: ChildProcess): void {
  if (running.size === 0) {
    process.on("SIGINT", endAllAndExit);
    process.on("SIGTERM", endAllAndExit);
  }
  running.add(child);
  const untrack = (): void => {
    if (!running.delete(child) || running.size > 0) return;
    process.off("SIGINT", endAllAndExit);
    process.off("SIGTERM", endAllAndExit);
  };
  child.once("exit", untrack);
  child.once("error", untrack);
}

/** Starts a command in a process group of its own, so that {@linkcode endGroup} reaches all of it. */
export function start(command: readonly string[], options: RunOptions = {}): ChildProcess {
  const [file, ...args] = command;
  const output = options.quiet ? "pipe" : "inherit";
  const child = spawn(file!, args, {
    cwd: options.cwd,
    env: environment(options.env),
    detached: true,
    stdio: ["ignore", output, output],
  });
  track(child);
  return child;
}

/** Sends a signal to a command started here and to its children; true if there was anybody. */
export function endGroup(child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): boolean {
  if (child.pid === undefined) return false;
  try {
    process.kill(-child.pid, signal);
    return true;
  } catch {
    return false; // The group is gone already.
  }
}

/** Runs a command to its end; never rejects, a command that cannot be started has code -1. */
export function run(command: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const child = start(command, options);
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => chunks.push(chunk));
  }
  return new Promise((resolve) => {
    let timedOut = false;
    const limit = setTimeout(() => {
      timedOut = true;
      endGroup(child);
    }, options.timeoutMs ?? TIMEOUT_MS);
    let linger: ReturnType<typeof setTimeout> | undefined;
    // A grandchild may hold the pipes open after the command itself has ended.
    child.once("exit", () => {
      linger = setTimeout(() => endGroup(child), LINGER_MS);
    });
    const finish = (code: number | null): void => {
      clearTimeout(limit);
      clearTimeout(linger);
      resolve({ code: timedOut ? -1 : code ?? -1, output: chunks.join(""), timedOut });
    };
    child.once("close", finish);
    child.once("error", (error) => {
      chunks.push(String(error));
      finish(-1);
    });
  });
}
