// A RabbitMQ of this machine's package, run as processes of our own with a folder and ports of its own.
// Nothing of a system service is used or touched. The fuzzer starts and stops it; quiet.erl in its node
// says when it has come to rest.

import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { endGroup, run, start } from "../../scripts/lib/process.ts";

/** The script of Debian's package; those in /usr/sbin insist on a user of their own. */
const SERVER = "/usr/lib/rabbitmq/bin/rabbitmq-server";
const START_MS_MAX = 90_000;
const STOP_MS_MAX = 30_000;
const POLL_MS = 100;

/** Whether this machine has the package, and Erlang's compiler with it. */
export function hasRabbitMq(): boolean {
  return existsSync(SERVER) && existsSync("/usr/bin/erlc");
}

/** A RabbitMQ that runs. */
export class RabbitMq {
  readonly port: number;
  readonly #folder: string;
  readonly #children: ChildProcess[];
  readonly #probe: Socket;
  #waiting: (() => void)[] = [];

  constructor(running: {
    port: number;
    folder: string;
    children: ChildProcess[];
    probe: Socket;
  }) {
    this.port = running.port;
    this.#folder = running.folder;
    this.#children = running.children;
    this.#probe = running.probe;
    this.#probe.on("data", (bytes) => {
      for (let lines = bytes.toString().split("\n").length - 1; lines > 0; lines--) {
        this.#waiting.shift()?.();
      }
    });
  }

  /** Starts one; rejects with what it printed when it does not come up. */
  static async start(): Promise<RabbitMq> {
    const folder = mkdtempSync(join(tmpdir(), "reprise-rabbitmq-"));
    const children: ChildProcess[] = [];
    // Also when the process is told to end amid a run.
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    try {
      const port = await freePort();
      const env = await prepare(folder, port);
      const epmdPort = env["ERL_EPMD_PORT"]!;
      children.push(start(["epmd", "-address", "127.0.0.1", "-port", epmdPort], { env }));
      const server = start([SERVER], { env, quiet: true });
      children.push(server);
      const output: string[] = [];
      for (const stream of [server.stdout!, server.stderr!]) {
        stream.setEncoding("utf8").on("data", (text: string) => output.push(text));
      }
      const deadline = Date.now() + START_MS_MAX;
      // The node starts the probe when the broker itself has come up.
      const portFile = join(folder, "probe.port");
      while (!existsSync(portFile) || readFileSync(portFile).length === 0) {
        if (Date.now() > deadline || server.exitCode !== null) {
          throw new Error(`RabbitMQ did not start:\n${output.join("")}`);
        }
        await pause(POLL_MS);
      }
      const probe = await connected(Number(readFileSync(portFile, "utf8")));
      return new RabbitMq({ port, folder, children, probe });
    } catch (error) {
      for (const child of children) endGroup(child);
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Resolves when the node has nothing left to do. */
  rest(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#probe.write("?\n");
    });
  }

  /** Ends it and its folder. */
  async stop(): Promise<void> {
    this.#probe.destroy();
    const [epmd, server] = this.#children;
    endGroup(server!, "SIGTERM");
    const deadline = Date.now() + STOP_MS_MAX;
    while (server!.exitCode === null && server!.signalCode === null && Date.now() < deadline) {
      await pause(POLL_MS);
    }
    endGroup(server!);
    endGroup(epmd!);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function prepare(folder: string, port: number): Promise<Record<string, string>> {
  const compiled = await run(["erlc", "-o", folder, join(import.meta.dirname!, "quiet.erl")], {
    quiet: true,
  });
  if (compiled.code !== 0) throw new Error(`erlc failed:\n${compiled.output}`);
  const config = join(folder, "rabbitmq.conf");
  const lines = [
    `listeners.tcp.1 = 127.0.0.1:${port}`,
    "log.console = true",
    "log.console.level = error",
    "log.file = false",
    "disk_free_limit.absolute = 1MB",
    "vm_memory_high_watermark.absolute = 2GB",
  ];
  writeFileSync(config, lines.join("\n") + "\n");
  const plugins = join(folder, "enabled_plugins");
  writeFileSync(plugins, "[].\n");
  mkdirSync(join(folder, "home"));
  const [epmdPort, distPort] = [await freePort(), await freePort()];
  return {
    HOME: join(folder, "home"),
    ERL_EPMD_PORT: `${epmdPort}`,
    ERL_EPMD_ADDRESS: "127.0.0.1",
    RABBITMQ_NODENAME: "reprise-fuzz@localhost",
    RABBITMQ_DIST_PORT: `${distPort}`,
    RABBITMQ_MNESIA_BASE: join(folder, "mnesia"),
    RABBITMQ_LOG_BASE: join(folder, "log"),
    RABBITMQ_CONFIG_FILE: config,
    RABBITMQ_ENABLED_PLUGINS_FILE: plugins,
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: `-pa ${folder} -run quiet start ${folder}/probe.port` +
      " -kernel inet_dist_use_interface {127,0,0,1}",
  };
}

/** A port that was free a moment ago. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.once("error", reject);
    socket.setNoDelay(true);
  });
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
