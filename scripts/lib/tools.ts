// Puts the runtimes, and a Python with pika, where a shell finds them by their plain names. Used by the
// README check and the Python client tests; everything lands below `.cache`.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { CACHE } from "./packages.ts";
import { environment } from "./process.ts";
import {
  bunCommand,
  denoCommand,
  nodeCommand,
  runFileCommand,
  runtimeCommand,
  type RuntimeName,
} from "./runtimes.ts";

/** The AMQP client for Python that the client tests and examples use. */
const PIKA_VERSION = "1.3.2";

const TYPESCRIPT = "npm:typescript@6.0.3/tsc";

/** The TypeScript compiler, for writing types and for looking at packages as their users do. */
export function tscCommand(): string[] {
  return [...denoCommand(), "run", "-A", "--no-lock", "--node-modules-dir=none", TYPESCRIPT];
}

function execPath(command: string[]): string {
  const print = "console.log(process.execPath)";
  const [file, ...args] = [...command, command[0]!.includes("deno") ? "eval" : "-e", print];
  const { stdout, status } = spawnSync(file!, args, { encoding: "utf8", env: environment() });
  if (status !== 0) throw new Error(`${command.join(" ")} does not run`);
  return stdout.trim();
}

/** The command that runs a file of the project, without wrappers that would take signals for it. */
export function runFileDirectly(runtime: RuntimeName, file: string): string[] {
  const [, ...args] = runFileCommand(runtime, file).slice(runtimeCommand(runtime).length - 1);
  return [execPath(runtimeCommand(runtime)), ...args];
}

/** A folder to put before PATH in which the named runtimes are found. */
export function runtimesFolder(names: readonly string[]): string {
  const folder = join(CACHE, `bin-${[...names].sort().join("-")}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of names) symlinkSync(execPath(commandOf(name)), join(folder, name));
  return folder;
}

function commandOf(name: string): string[] {
  if (name === "deno") return denoCommand();
  if (name === "bun") return bunCommand();
  if (name === "node") return nodeCommand();
  throw new Error(`no such runtime: ${name}`);
}

/** A Python with pika, in a virtual environment made on first use. */
export function pythonWithPika(): string {
  const folder = join(CACHE, `pika-${PIKA_VERSION}`);
  const python = join(folder, "bin/python");
  const works = ["-c", "import pika"];
  if (existsSync(python) && spawnSync(python, works).status === 0) return python;
  rmSync(folder, { recursive: true, force: true });
  step(["python3", "-m", "venv", folder]);
  step([python, "-m", "pip", "install", "--quiet", `pika==${PIKA_VERSION}`]);
  step([python, ...works]);
  return python;
}

function step(command: string[]): void {
  const [file, ...args] = command;
  const { status, stderr } = spawnSync(file!, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command.join(" ")} failed: ${stderr ?? "not found"}`);
}
