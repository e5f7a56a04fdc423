// The composition root: builds the layers in the order in which they need each other and takes them
// down in the opposite order. main.ts and mod.ts start it; no other file knows every layer.

import type { Limits } from "./broker/limits.ts";
import { residentBytesOf } from "./config/memory_split.ts";
import { Broker } from "./broker/broker.ts";
import { type UserConfig, Users } from "./broker/access/users.ts";
import { BoundedLogger } from "./lib/bounded_logger.ts";
import type { Logger } from "./lib/logger.ts";
import { Prng } from "./lib/prng.ts";
import { createApp, type ManagementApp } from "./management/app.ts";
import type { ConnectionTotals, ListenerInfo, NodeInfo } from "./management/context.ts";
import { Pauses } from "./management/pauses.ts";
import { SAMPLE_INTERVAL_MS } from "./management/rates.ts";
import { Descriptors, processDescriptors } from "./runtime/descriptors.ts";
import type { Listener, Runtime, StreamListener } from "./runtime/port.ts";
import { BrokerTime } from "./schedule/broker_time.ts";
import type { Clock } from "./schedule/clock.ts";
import { Scheduler } from "./schedule/scheduler.ts";
import { Engine } from "./session/engine.ts";
import type { HostLoop } from "./session/host_loop.ts";
import { FOLLOWED_RABBITMQ_VERSION } from "./session/server_properties.ts";
import { Storage, type StorageOptions } from "./storage.ts";
import { MemoryStore } from "./store/memory_store.ts";
import { VERSION } from "./version.ts";

/** Clients have this long to answer connection.close when the node stops. */
const CLOSE_GRACE_MS = 3_000;
/** Bytes written to sockets that are being closed have this long to be sent. */
const FLUSH_GRACE_MS = 500;
/** A node with a data folder runs a turn at least this often. */
const HOUSEKEEPING_INTERVAL_MS = 500;

/** How often the log reports the number of lines that were left out. */
const LOG_FLUSH_INTERVAL_MS = 1_000;

/** An address to listen on. */
export interface Address {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

/** The parts and settings that a server is made of. */
export interface ServerOptions {
  readonly runtime: Runtime;
  readonly amqp: Address;
  /** Null for no HTTP API. */
  readonly http: Address | null;
  readonly users: readonly UserConfig[];
  readonly limits: Limits;
  /** The data folder and how it is written; null for a node in memory alone. */
  readonly storage: StorageOptions | null;
  readonly clock: Clock;
  /** Sets a virtual clock to the time that the data folder has reached. */
  readonly setWall?: (wallMs: number) => void;
  readonly loop: HostLoop;
  readonly logger: Logger;
  /** Whether connections of peers that send no heartbeats are closed. */
  readonly watchesPeers: boolean;
  /** Seed of everything random in the broker. */
  readonly seed: number;
  /** Called when the broker itself has failed. Nothing may be written any more. */
  readonly onFatal: (error: unknown) => void;
}

/** One running node. */
export class Server {
  readonly engine: Engine;
  readonly broker: Broker;
  readonly #options: ServerOptions;
  readonly #logger: BoundedLogger;
  readonly #node: NodeInfo;
  readonly #storage: Storage | null;
  readonly #time: BrokerTime;
  readonly #descriptors: Descriptors;
  readonly #pauses = new Pauses();
  #failure: { readonly error: unknown } | null = null;
  #amqp: StreamListener | null = null;
  #http: Listener | null = null;
  #sampler: ReturnType<typeof setInterval> | undefined;
  #housekeeper: ReturnType<typeof setInterval> | undefined;
  #logFlusher: ReturnType<typeof setInterval> | undefined;
  #stopping: Promise<void> | null = null;

  /** Puts the layers together. {@linkcode Server.start} also restores the data and listens. */
  constructor(options: ServerOptions, storage: Storage | null, logger: BoundedLogger) {
    const { runtime, loop, limits } = options;
    const random = new Prng(options.seed);
    const nextRandom = () => random.nextFloat();
    this.#options = options;
    this.#logger = logger;
    this.#node = nodeInfo(runtime);
    this.#storage = storage;
    this.#descriptors = new Descriptors(processDescriptors(), logger);
    const lastTimeMs = storage?.lastTimeMs ?? 0;
    if (lastTimeMs > options.clock.wallMs()) options.setWall?.(lastTimeMs);
    this.#time = new BrokerTime(options.clock, lastTimeMs);
    this.broker = new Broker({
      store: storage?.store ?? new MemoryStore({ heldBytesMax: limits.memoryBytesMax }),
      scheduler: new Scheduler(),
      limits,
      logger,
      users: new Users(options.users),
      random: nextRandom,
    });
    this.broker.logins.isOn = options.watchesPeers;
    this.engine = new Engine({
      broker: this.broker,
      time: this.#time,
      loop,
      logger,
      random: nextRandom,
      watchesPeers: options.watchesPeers,
      product: {
        version: VERSION,
        platform: this.#node.platform,
        clusterName: this.#node.name,
      },
      fatal: (error) => this.#fail(error),
    });
  }

  /**
   * Starts a node with what its data folder holds. Rejects with `StorageError` when the folder cannot
   * be used and with `ListenError` when a port cannot be opened; nothing stays open then.
   */
  static async start(options: ServerOptions): Promise<Server> {
    const startMs = options.clock.monotonicMs();
    const logger = new BoundedLogger(options.logger, () => performance.now());
    const server = new Server(options, openStorage(options, logger), logger);
    server.#restore(() => options.clock.monotonicMs() - startMs);
    try {
      await server.#listen();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  /** Broker time now, ms since the epoch. */
  get nowMs(): number {
    return this.#time.nowMs();
  }

  /** Where AMQP clients connect. */
  get amqp(): Address {
    if (this.#amqp === null) throw new Error("the server is not listening");
    return { host: this.#amqp.host, port: this.#amqp.port };
  }

  /** Where the HTTP API answers; null without one. */
  get http(): Address | null {
    return this.#http === null ? null : { host: this.#http.host, port: this.#http.port };
  }

  /**
   * Stops accepting, closes every connection with 320 CONNECTION_FORCED and leaves no handle open.
   * Resolves when all is closed. Further calls return the same promise.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  #restore(elapsedMs: () => number): void {
    const storage = this.#storage;
    if (storage === null) return;
    try {
      this.engine.turn(() => storage.restore(this.broker, elapsedMs));
    } catch (error) {
      this.engine.halt();
      storage.abandon();
      throw error;
    }
    if (this.#failure !== null) throw this.#failure.error;
    // Some work is done at turns even when no client causes one: syncing entries that no client waits
    // for, checking whether a full disk has room again, and repairing a broken log.
    this.#housekeeper = setInterval(() => this.engine.turn(() => {}), HOUSEKEEPING_INTERVAL_MS);
  }

  async #listen(): Promise<void> {
    this.#logFlusher = setInterval(() => this.#logger.flush(), LOG_FLUSH_INTERVAL_MS);
    const { runtime, amqp, http } = this.#options;
    this.#amqp = await runtime.net.listen({
      ...amqp,
      accept: (transport, info) => this.engine.accept(transport, info),
      room: this.#descriptors,
    });
    if (http === null) return;
    const app = this.#createApp();
    this.#http = await runtime.http.serve({
      ...http,
      handler: (request, peer) => app.fetch(request, { peerHost: peer.host, dropPeer: peer.drop }),
      connectionCountMax: this.#options.limits.httpConnectionCountMax,
      room: this.#descriptors,
    });
    this.#sampler = setInterval(() => void app.sample(), SAMPLE_INTERVAL_MS);
  }

  #createApp(): ManagementApp {
    const { clock, runtime } = this.#options;
    return createApp({
      broker: this.broker,
      node: this.#node,
      listeners: () => this.#listeners(),
      turn: (run) => this.engine.turn(run),
      totals: () => this.#totals(),
      acceptsConnections: () => !this.#descriptors.isShort,
      monotonicMs: () => clock.monotonicMs(),
      nowMs: () => this.nowMs,
      // A timer lets the event loop serve the sockets on every runtime.
      pause: (delayMs) => this.#pauses.sleep(delayMs),
      residentBytes: () => runtime.process.residentBytes(),
      storage: () => this.#storage?.info() ?? null,
    });
  }

  #listeners(): ListenerInfo[] {
    const listeners: ListenerInfo[] = [{ protocol: "amqp", ...this.amqp }];
    const { http } = this;
    if (http !== null) listeners.push({ protocol: "http", ...http });
    return listeners;
  }

  #totals(): ConnectionTotals {
    let connectionCount = 0;
    let channelCount = 0;
    for (const connection of this.engine.connections) {
      connectionCount += 1;
      channelCount += connection.channelCount;
    }
    return { connectionCount, channelCount };
  }

  async #stop(): Promise<void> {
    clearInterval(this.#sampler);
    await this.#amqp?.close();
    // The engine bounds its own wait by broker time, and a virtual clock need not move.
    await withinRealTime(CLOSE_GRACE_MS, this.engine.close(CLOSE_GRACE_MS));
    await this.#tearDown(FLUSH_GRACE_MS);
  }

  async #tearDown(graceMs: number): Promise<void> {
    clearInterval(this.#sampler);
    clearInterval(this.#housekeeper);
    clearInterval(this.#logFlusher);
    this.#logger.flush(true);
    this.#pauses.end();
    await this.#http?.close();
    await this.#amqp?.closeStreams(graceMs);
    this.engine.halt();
    // After a failure the folder has already been given back as it was on the disk.
    if (this.#failure === null) await this.#storage?.close(this.#time.nowMs());
  }

  // No client may see state that is half applied: nothing more is written, no close frames are sent,
  // and the streams just end.
  #fail(error: unknown): void {
    this.#failure = { error };
    this.#storage?.abandon();
    const text = error instanceof Error ? error.stack ?? error.message : String(error);
    this.#logger.log("error", "the broker failed and stops", { error: text });
    this.#stopping ??= Promise.resolve(this.#amqp?.close()).then(() => this.#tearDown(0));
    this.#options.onFatal(error);
  }
}

function openStorage(options: ServerOptions, logger: Logger): Storage | null {
  const { storage, limits, seed } = options;
  if (storage === null) return null;
  const residentBytesMax = residentBytesOf(limits.memoryBytesMax);
  return Storage.open(storage, { logger, residentBytesMax, seed });
}

function nodeInfo(runtime: Runtime): NodeInfo {
  return {
    name: `rabbit@${runtime.process.hostName()}`,
    version: VERSION,
    rabbitmqVersion: FOLLOWED_RABBITMQ_VERSION,
    platform: `${runtime.name} ${runtime.version}`,
  };
}

async function withinRealTime(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<void>((resolve) => timer = setTimeout(resolve, limitMs));
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
