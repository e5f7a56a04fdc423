// The library: a broker inside your own program, for tests and tools, on real ports and with a clock
// that can be virtual. It starts the server that server.ts composes and never exits the process.

import { defaultConfig } from "./config.ts";
import { type GivenOptions, readOptions } from "./config/options.ts";
import type { Config } from "./config/settings.ts";
import type { UserInput } from "./config/users.ts";
import type { Limits } from "./broker/limits.ts";
import type { Logger } from "./lib/logger.ts";
import { loadRuntime } from "./runtime/load.ts";
import { formatAddress } from "./runtime/listen_error.ts";
import { SystemClock } from "./runtime/system_clock.ts";
import { SystemLoop } from "./runtime/system_loop.ts";
import { VirtualLoop } from "./runtime/virtual_loop.ts";
import type { Clock } from "./schedule/clock.ts";
import { VirtualClock } from "./schedule/virtual_clock.ts";
import type { HostLoop } from "./session/host_loop.ts";
import { type Address, Server } from "./server.ts";
import { storageOf } from "./storage.ts";

export type { Limits } from "./broker/limits.ts";
export type { LogFields, Logger, LogLevel } from "./lib/logger.ts";
export { ConfigError } from "./config/config_error.ts";
export type { UserInput } from "./config/users.ts";
export { ListenError } from "./runtime/listen_error.ts";
export type { Address } from "./server.ts";
export { StorageError } from "./storage.ts";
export { VERSION } from "./version.ts";

/** Where a port of the broker is opened. */
export interface PortOptions {
  /** Address to listen on; 127.0.0.1 when left out. */
  host?: string;
  /** Port to listen on, 0 for any free one. */
  port?: number;
}

/** Limits by name. A limit that counts bytes may also be text like `512M`. */
export type LimitOptions = {
  [Name in keyof Limits]?: Name extends `${string}Bytes${string}` ? number | string : number;
};

/** Options of {@linkcode Broker.start}; all of them may be left out. */
export interface BrokerOptions {
  /** Where AMQP clients connect: port 5672 when left out. */
  amqp?: PortOptions;
  /**
   * Where the HTTP API answers: port 15672 when the port is left out. False, the default, means no
   * HTTP API.
   */
  http?: PortOptions | false;
  /** Who may log in. When left out: guest with password guest, from this machine. */
  users?: readonly UserInput[];
  /** Limits that differ from the defaults. */
  limits?: LimitOptions;
  /**
   * Folder that keeps durable queues and persistent messages. Only one broker at a time may use it.
   * When left out, everything is in memory and ends with the broker.
   */
  dataDir?: string;
  /**
   * Confirms messages before they are on the disk. This is faster, but a power failure can lose them.
   */
  noSync?: boolean;
  /** Publishers wait while the disk has less room than this: bytes, or text like `512M`. */
  diskFreeMin?: number | string;
  /** Memory that the whole process should stay below: bytes, or text like `2G`. */
  maxMemory?: number | string;
  /**
   * `system`, the default, is real time. With `virtual`, time stands still until
   * `broker.clock.advance` moves it. Delays, expirations and timeouts happen only then, and clients
   * need not send heartbeats.
   */
  clock?: "system" | "virtual";
  /**
   * Milliseconds since the epoch at which a virtual clock starts; the real time when left out. The
   * clock never starts before the time that the data folder has reached.
   */
  startTime?: number;
  /** Seed of jitter and generated names, which makes a run repeatable; random when left out. */
  seed?: number;
  /** Receives log lines; they are dropped when it is left out. */
  logger?: Logger;
  /** Called when the broker stops because of a fault of its own. */
  onFailure?: (error: unknown) => void;
}

/** The broker's time. */
export interface BrokerClock {
  /** Broker time now, milliseconds since the epoch. */
  readonly now: number;
  /**
   * Lets `ms` milliseconds pass at once: everything that is due within them happens in order, each
   * event at its own time. Resolves when all of it has been done and handed to the clients' sockets.
   * Only for virtual clocks.
   */
  advance(ms: number): Promise<void>;
}

/** `advance` waits at most this many rounds of the event loop for clients that do not read. */
const FLUSH_ROUNDS_MAX = 200;

/** A broker that runs inside this program; {@linkcode Broker.start} makes one. */
export interface Broker extends AsyncDisposable {
  /** AMQP address of this broker with the login of its first user. */
  readonly url: string;
  /** Address of the HTTP API without a path; null when there is none. */
  readonly httpUrl: string | null;
  /** The broker's time, which can be moved by hand if it is virtual. */
  readonly clock: BrokerClock;
  /**
   * Closes every connection with 320 CONNECTION_FORCED and closes both ports. Resolves when nothing
   * is left open. It may be called again.
   */
  close(): Promise<void>;
}

/** Starts brokers. */
export const Broker: {
  /**
   * Starts a broker and resolves when it accepts clients. Rejects with {@linkcode ConfigError} for an
   * option that cannot be used, with {@linkcode StorageError} when the data folder cannot be used,
   * and with {@linkcode ListenError} when a port cannot be opened.
   *
   * @example
   * ```ts
   * import { Broker } from "reprise";
   *
   * const broker = await Broker.start({ amqp: { port: 0 }, clock: "virtual" });
   * try {
   *   const connection = await connect(broker.url); // any AMQP 0-9-1 client
   *   // … reject a message of a queue with x-delayed-retry-min: 30000 …
   *   await broker.clock.advance(30_000); // it is delivered again now
   *   await connection.close();
   * } finally {
   *   await broker.close();
   * }
   * ```
   */
  start(options?: BrokerOptions): Promise<Broker>;
} = { start };

async function start(options: BrokerOptions = {}): Promise<Broker> {
  const given = readOptions(options, { ...defaultConfig(), isInMemory: true });
  const { config } = given;
  const time = timeOf(given);
  const server = await Server.start({
    runtime: await loadRuntime(),
    amqp: given.amqp,
    http: given.http,
    users: config.users,
    limits: config.limits,
    storage: storageOf(config),
    clock: time.clock,
    ...(time.setWall === undefined ? {} : { setWall: time.setWall }),
    loop: time.loop,
    logger: given.logger,
    // Clients send heartbeats in real time, which has nothing to do with a virtual clock.
    watchesPeers: time.virtual === null,
    seed: given.seed ?? crypto.getRandomValues(new Uint32Array(1))[0]!,
    onFatal: given.onFailure,
  });
  return disposable({
    url: urlOf(server, config),
    httpUrl: server.http === null ? null : `http://${reachable(server.http)}`,
    clock: brokerClock(server, time),
    close: () => server.stop(),
  });
}

// A runtime that does not know the symbol cannot dispose of anything, so the member is left out.
function disposable(broker: Omit<Broker, typeof Symbol.asyncDispose>): Broker {
  if (typeof Symbol.asyncDispose !== "symbol") return broker as Broker;
  return Object.assign(broker, { [Symbol.asyncDispose]: () => broker.close() });
}

function urlOf(server: Server, config: Config): string {
  const { name, password } = config.users[0]!;
  const login = `${encodeURIComponent(name)}:${encodeURIComponent(password)}`;
  return `amqp://${login}@${reachable(server.amqp)}`;
}

interface Time {
  readonly clock: Clock;
  readonly loop: HostLoop;
  readonly virtual: VirtualLoop | null;
  readonly setWall?: (wallMs: number) => void;
}

function timeOf(options: GivenOptions): Time {
  if (options.clock !== "virtual") {
    return { clock: new SystemClock(), loop: new SystemLoop(), virtual: null };
  }
  const clock = new VirtualClock(options.startTime ?? Date.now());
  const loop = new VirtualLoop(clock);
  return { clock, loop, virtual: loop, setWall: (wallMs) => clock.setWall(wallMs) };
}

/** Returns an address that a client on this machine can connect to. */
function reachable({ host, port }: Address): string {
  const isAny = host === "0.0.0.0" || host === "::";
  return formatAddress(isAny ? "127.0.0.1" : host, port);
}

function brokerClock(server: Server, time: Time): BrokerClock {
  return {
    get now() {
      return server.nowMs;
    },
    async advance(ms: number): Promise<void> {
      if (time.virtual === null) {
        throw new Error('start the broker with clock: "virtual" to advance');
      }
      await time.virtual.advance(ms);
      await flushed(server);
    },
  };
}

// Output that the kernel has not taken after these rounds belongs to clients that do not read.
async function flushed(server: Server): Promise<void> {
  for (let round = 0; round < FLUSH_ROUNDS_MAX && hasOutput(server); round++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function hasOutput(server: Server): boolean {
  for (const connection of server.engine.connections) {
    if (connection.outbox.waitingBytes > 0) return true;
  }
  return false;
}
