// The broker as a program of its own, under the runtime that runs the tests: started with arguments,
// read line by line, sent signals. Used by the end-to-end tests; never by unit tests.

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { detectRuntime } from "../../../src/runtime/detect.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Folder of the bundles, when it is those that the tests run against; the tests are compiled then. */
const DIST = process.env["TEST_DIST"];
const BUNDLED: readonly string[] = ["--no-config", "--node-modules-dir=manual"];

/** How a program is to be started. */
export interface ProgramOptions {
  /** Variables of ours on top of the environment. */
  env?: Record<string, string>;
  /** Flags of Deno instead of `-A`; ignored elsewhere. */
  denoFlags?: readonly string[];
  /** File to run instead of src/main.ts, relative to the project; null when the command is whole. */
  file?: string | null;
  /** Folder to run in instead of the project's. */
  cwd?: string;
  /** Whether it leads a process group of its own, as what is started in a terminal does. */
  isGroup?: boolean;
  /** What runs the file instead of the runtime at hand. */
  command?: readonly string[];
}

/** How a program ended and what it said. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A started program. */
export class Program {
  /** Resolves when the program has ended and its output is complete. */
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  #stdout = "";
  #stderr = "";
  #wake: () => void = () => {};

  /** Starts it. */
  constructor(args: readonly string[], options: ProgramOptions = {}) {
    const [file, ...rest] = commandFor(options);
    this.#child = spawn(file!, [...rest, ...args], {
      cwd: options.cwd ?? ROOT,
      env: { ...cleanEnvironment(), ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: options.isGroup === true,
    });
    this.#child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
      this.#wake();
    });
    this.#child.stderr!.setEncoding("utf8").on("data", (text: string) => this.#stderr += text);
    this.ended = new Promise((resolve) => {
      this.#child.once("close", (code) => {
        resolve({ code, stdout: this.#stdout, stderr: this.#stderr });
        this.#wake();
      });
    });
  }

  /** The first line of standard output; rejects when the program ends without one. */
  async firstLine(): Promise<string> {
    let isOver = false;
    this.ended.then(() => isOver = true);
    while (!this.#stdout.includes("\n")) {
      if (isOver) throw new Error(`ended without a line: ${this.#stderr}`);
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    return this.#stdout.slice(0, this.#stdout.indexOf("\n"));
  }

  /** Sends a signal; nothing happens when the program has ended. */
  signal(name: NodeJS.Signals): void {
    this.#kill(this.#child.pid!, name);
  }

  /** Sends a signal to everybody in its group, as a terminal does. */
  signalGroup(name: NodeJS.Signals): void {
    this.#kill(-this.#child.pid!, name);
  }

  #kill(pid: number, name: NodeJS.Signals): void {
    try {
      // Deno's `child.kill` would report the signal as the way the child ended, whatever it did.
      process.kill(pid, name);
    } catch {
      return;
    }
  }
}

/** A broker that has said it is ready. */
export interface ReadyBroker {
  readonly program: Program;
  readonly url: string;
  readonly httpUrl: string;
}

const READY = /^reprise ready amqp=(\S+:\d+) http=(\S+:\d+)$/;

/** Starts a broker on free ports and waits for its ready line. */
export async function startBroker(
  args: readonly string[] = [],
  options: ProgramOptions = {},
): Promise<ReadyBroker> {
  const isPlaced = options.cwd !== undefined ||
    args.some((arg) => arg === "--memory" || arg.startsWith("--data-dir"));
  // The default is a folder in the working directory, which here is the project's.
  const place = isPlaced ? [] : ["--memory"];
  const program = new Program(["--amqp-port", "0", "--http-port", "0", ...place, ...args], options);
  const line = await program.firstLine();
  const [, amqp, http] = READY.exec(line) ?? [];
  if (amqp === undefined) {
    program.signal("SIGKILL");
    throw new Error(`not the ready line: ${line}`);
  }
  return { program, url: `amqp://guest:guest@${amqp}`, httpUrl: `http://${http}` };
}

/** Starts a broker, runs something with it and ends it by SIGTERM. */
export async function withBroker(
  run: (broker: ReadyBroker) => Promise<void>,
  args: readonly string[] = [],
  options: ProgramOptions = {},
): Promise<void> {
  const broker = await startBroker(args, options);
  try {
    await run(broker);
  } finally {
    broker.program.signal("SIGTERM");
    await broker.program.ended;
  }
}

function commandFor(
  { file = "src/main.ts", denoFlags = ["-A"], command }: ProgramOptions,
): string[] {
  if (file === null) return [...command ?? []];
  const path = pathOf(file);
  if (command !== undefined) return [...command, path];
  if (detectRuntime() !== "deno") return [process.execPath, path];
  const config = DIST === undefined ? [`--config=${join(ROOT, "deno.json")}`] : BUNDLED;
  return [process.execPath, "run", "--no-check", ...config, ...denoFlags, path];
}

function pathOf(file: string): string {
  if (DIST === undefined) return join(ROOT, file);
  return file === "src/main.ts" ? join(DIST, "reprise.js") : join(ROOT, file.replace(/ts$/, "js"));
}

// Settings of whoever runs the tests must not reach the brokers of the tests.
function cleanEnvironment(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => !name.startsWith("REPRISE_"));
  const kept = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  return { ...kept, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" };
}
