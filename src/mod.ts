// The library door: a broker inside your own program, for tests and for tools, on real ports and with
// time that can be moved by hand. It starts what server.ts composes and never exits the process.

import { defaultConfig } from "./config.ts";
import { type GivenOptions, readOptions } from "./config/options.ts";
import type { Config } from "./config/settings.ts";
import type { UserInput } from "./config/users.ts";
import type { Limits } from "./broker/limits.ts";
import type { Logger } from "./lib/logger.ts";
import { loadRuntime } from "./runtime/detect.ts";
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

/** Limits by their names; one that counts bytes may be text like `512M` as well. */
export type LimitOptions = {
  [Name in keyof Limits]?: Name extends `${string}Bytes${string}` ? number | string : number;
};

/** What {@linkcode Broker.start} can be told; everything may be left out. */
export interface BrokerOptions {
  /** Where AMQP clients connect: port 5672 when left out. */
  amqp?: PortOptions;
  /** Where the HTTP API answers: port 15672 when the port is left out; false, the default, for none. */
  http?: PortOptions | false;
  /** Who may log in: guest with password guest, from this machine, when left out. */
  users?: readonly UserInput[];
  /** Limits that differ from the defaults. */
  limits?: LimitOptions;
  /**
   * Folder that keeps durable queues and persistent messages; one broker at a time may use it. When
   * left out, everything is in memory and ends with the broker.
   */
  dataDir?: string;
  /** Confirms messages before the disk has them: faster, and lost if the machine loses power. */
  noSync?: boolean;
  /** Publishers wait while the disk has less room than this: bytes, or text like `512M`. */
  diskFreeMin?: number | string;
  /** Memory the whole process is to stay below: bytes, or text like `2G`. */
  maxMemory?: number | string;
  /**
   * `system` for real time, the default. With `virtual` time stands still until `broker.clock.advance`
   * moves it: delays, expirations and timeouts happen then and only then, and clients need not send
   * heartbeats.
   */
  clock?: "system" | "virtual";
  /**
   * Milliseconds since the epoch at which a virtual clock starts; the real time when left out, and
   * never before the time that the data folder has reached.
   */
  startTime?: number;
  /** Seed of jitter and generated names, to make a run repeatable; random when left out. */
  seed?: number;
  /** Receives log lines; dropped when left out. */
  logger?: Logger;
  /** Told when the broker stops because of a fault of its own. */
  onFailure?: (error: unknown) => void;
}

/** The broker's time. */
export interface BrokerClock {
  /** Broker time now, milliseconds since the epoch. */
  readonly now: number;
  /**
   * Lets `ms` milliseconds pass at once: everything due in them happens in order, each thing at its own
   * time. Resolves when it has been done and handed to the clients' sockets. Virtual clocks only.
   */
  advance(ms: number): Promise<void>;
}

/** Rounds of the event loop that `advance` waits for clients that do not read. */
const FLUSH_ROUNDS_MAX = 200;

/** A broker that runs inside this program; {@linkcode Broker.start} makes one. */
export interface Broker extends AsyncDisposable {
  /** AMQP address of this broker with the login of its first user. */
  readonly url: string;
  /** Address of the HTTP API without a path; null when there is none. */
  readonly httpUrl: string | null;
  /** The broker's time, to be moved by hand if it is virtual. */
  readonly clock: BrokerClock;
  /**
   * Closes every connection with 320 CONNECTION_FORCED and both ports; resolves when nothing is left
   * open. Calling it again is allowed.
   */
  close(): Promise<void>;
}

/** Starts brokers. */
export const Broker: {
  /**
   * Starts a broker and resolves when it accepts clients. Rejects with {@linkcode ConfigError} for an
   * option that cannot be used, with {@linkcode StorageError} when the data folder cannot be used, and
   * with {@linkcode ListenError} when a port cannot be opened.
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

// Runtimes that do not know the symbol cannot dispose of anything: there the member is left out.
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

/** An address a client on this machine can connect to. */
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

// What the kernel has not taken by then belongs to clients that do not read.
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
