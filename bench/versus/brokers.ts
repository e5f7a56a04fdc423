// The brokers that are measured beside each other, each started as a child process on a free port of
// this machine and stopped by its id. Peers come from the system's packages; one that is not installed
// is left out. Used by main.ts only.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const READY_MS = 60_000;
const READY_POLL_MS = 500;
const STOP_POLL_MS = 20;
const CLOCK_TICKS_PER_SECOND = 100;
const RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server";
const ROOT = new URL("../..", import.meta.url).pathname;

/** A broker that runs. */
export interface RunningBroker {
  readonly port: number;
  /** 0 where nobody asks for it. */
  readonly httpPort: number;
  /** Processor seconds it has used so far, its children's included. */
  cpuSeconds(): number;
  /** Resident memory, MiB. */
  residentMiB(): number;
  stop(): Promise<void>;
}

/** A broker that can be started. */
export interface Subject {
  readonly name: string;
  /** `flags` are for Reprise alone. */
  start(isDurable: boolean, flags?: readonly string[]): Promise<RunningBroker>;
}

/** How each runtime runs the broker; a runtime that is not given is left out. */
export interface RuntimeCommands {
  readonly deno?: string;
  readonly bun?: string;
  readonly node?: string;
}

/** A broker that the caller brings. */
export interface Peer {
  readonly name: string;
  /**
   * A shell command that runs the broker until SIGTERM. `{port}` in it becomes the port on which the
   * broker is to listen, `{dir}` an empty folder that is removed afterwards.
   */
  readonly command: string;
}

/** What can be measured here. */
export function subjects(commands: RuntimeCommands, peers: readonly Peer[] = []): Subject[] {
  const found: Subject[] = [];
  if (existsSync(RABBITMQ)) found.push({ name: "RabbitMQ", start: startRabbit });
  for (const peer of peers) found.push({ name: peer.name, start: () => startPeer(peer) });
  const { bun, deno, node } = commands;
  if (bun !== undefined) found.push(reprise("Reprise on Bun", [bun, "src/main.ts"]));
  if (deno !== undefined) {
    found.push(reprise("Reprise on Deno", [deno, "run", "-A", "src/main.ts"]));
  }
  if (node !== undefined) found.push(reprise("Reprise on Node", [node, "src/main.ts"]));
  return found;
}

function reprise(name: string, command: readonly string[]): Subject {
  return {
    name,
    start: (isDurable, flags = []) => startReprise([...command, ...flags], isDurable),
  };
}

async function startReprise(
  command: readonly string[],
  isDurable: boolean,
): Promise<RunningBroker> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-bench-"));
  const store = isDurable ? ["--data-dir", folder] : ["--memory"];
  const args = [...command.slice(1), "--amqp-port", "0", "--http-port", "0", ...store];
  const child = spawn(command[0]!, args, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  const ports = await new Promise<Ports>((resolve, reject) => {
    let text = "";
    child.stdout!.on("data", (bytes) => {
      text += bytes;
      const match = /amqp=\S+:(\d+) http=\S+:(\d+)\n/.exec(text);
      if (match !== null) resolve({ port: Number(match[1]), httpPort: Number(match[2]) });
    });
    child.once("exit", (code) => reject(new Error(`${command[0]} ended with ${code}: ${text}`)));
  });
  return running(child, ports, folder);
}

async function startRabbit(): Promise<RunningBroker> {
  const folder = mkdtempSync(join(tmpdir(), "rabbit-bench-"));
  const [port, distPort] = [await freePort(), await freePort()];
  mkdirSync(join(folder, "log"));
  const child = spawn(RABBITMQ, [], {
    detached: true,
    stdio: "ignore",
    env: {
      ...process.env,
      HOME: folder,
      ERL_EPMD_ADDRESS: "127.0.0.1",
      RABBITMQ_NODENAME: `bench${port}@localhost`,
      RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(distPort),
      RABBITMQ_MNESIA_BASE: join(folder, "mnesia"),
      RABBITMQ_LOG_BASE: join(folder, "log"),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "plugins"),
      RABBITMQ_CONFIG_FILE: join(folder, "none"),
    },
  });
  await answers(port);
  return running(child, { port, httpPort: 0 }, folder);
}

async function startPeer({ name, command }: Peer): Promise<RunningBroker> {
  const folder = mkdtempSync(join(tmpdir(), "peer-bench-"));
  const port = await freePort();
  const filled = command.replaceAll("{port}", String(port)).replaceAll("{dir}", folder);
  const child = spawn("/bin/sh", ["-c", filled], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = new Promise<never>((_, reject) => {
    child.once("exit", (code) => reject(new Error(`${name} ended with ${code}: ${filled}`)));
  });
  await Promise.race([answers(port), ended]);
  ended.catch(() => "it is stopped after the measurement");
  return running(child, { port, httpPort: 0 }, folder);
}

interface Ports {
  readonly port: number;
  readonly httpPort: number;
}

function running(child: ChildProcess, ports: Ports, folder: string): RunningBroker {
  const pid = child.pid!;
  return {
    ...ports,
    cpuSeconds: () => sum(family(pid), cpuSecondsOf),
    residentMiB: () => Math.round(sum(family(pid), residentMiBOf)),
    stop: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      const all = family(pid);
      for (const one of all) signal(one, "SIGTERM");
      await ended;
      // A shell ends before what it has started.
      while (all.some((one) => signal(one, 0))) await pause(STOP_POLL_MS);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

// Returns false if the process has ended by itself.
function signal(pid: number, name: "SIGTERM" | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

function sum(pids: readonly number[], of: (pid: number) => number): number {
  return pids.reduce((total, pid) => total + of(pid), 0);
}

// A process and all that descend from it.
function family(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (/^\d+$/.test(name)) parents.set(Number(name), Number(statOf(Number(name))[1]));
  }
  const found = [pid];
  for (let index = 0; index < found.length; index++) {
    for (const [child, parent] of parents) if (parent === found[index]) found.push(child);
  }
  return found;
}

// Fields of /proc/PID/stat behind the name, which may hold spaces: state, parent, …
function statOf(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

function cpuSecondsOf(pid: number): number {
  const stat = statOf(pid);
  return (Number(stat[11] ?? 0) + Number(stat[12] ?? 0)) / CLOCK_TICKS_PER_SECOND;
}

function residentMiBOf(pid: number): number {
  return (Number(statOf(pid)[21] ?? 0) * 4096) / 1048576;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? address!.port : 0));
    });
  });
}

/** Waits until somebody accepts connections on a port and answers a protocol header. */
async function answers(port: number): Promise<void> {
  const { connect } = await import("node:net");
  const deadline = Date.now() + READY_MS;
  while (Date.now() < deadline) {
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => socket.write("AMQP\0\0\x09\x01"));
      socket.once("data", () => resolve(true)).once("error", () => resolve(false));
      socket.once("data", () => socket.destroy());
    });
    if (isUp) return;
    await pause(READY_POLL_MS);
  }
  throw new Error(`nobody answers on port ${port}`);
}
