// A whole node without a machine: engine and broker on the store that is chosen for the tests, virtual
// time, wires in memory. One call makes it, `connect` gives clients, `advance` lets time pass.

import type { Limits } from "../../src/broker/limits.ts";
import { DEFAULT_LIMITS } from "../../src/broker/limits.ts";
import { Broker } from "../../src/broker/broker.ts";
import type { UserConfig } from "../../src/broker/access/users.ts";
import { DEFAULT_USER, Users } from "../../src/broker/access/users.ts";
import type { Queue } from "../../src/broker/queue/queue.ts";
import type { LogFields, LogLevel } from "../../src/lib/logger.ts";
import { Prng } from "../../src/lib/prng.ts";
import { BrokerTime } from "../../src/schedule/broker_time.ts";
import { Scheduler } from "../../src/schedule/scheduler.ts";
import { VirtualClock } from "../../src/schedule/virtual_clock.ts";
import { Engine } from "../../src/session/engine.ts";
import type { TransportInfo } from "../../src/session/transport.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import type { Store } from "../../src/store/port.ts";
import { AmqpClient } from "./amqp_client.ts";
import type { LoginOptions } from "./amqp_client.ts";
import { chosenStore } from "./chosen_store.ts";
import { MemoryWire } from "./memory_wire.ts";
import { TestLoop } from "./test_loop.ts";

/** What a node may be told. */
export interface NodeOptions {
  limits?: Partial<Limits>;
  users?: UserConfig[];
  store?: Store;
  scheduler?: Scheduler;
  seed?: number;
  /** Turns have to be run by hand with `loop.step` or `settle`. */
  isManual?: boolean;
  /** What the wall clock says at the start; `START_MS` if nothing else is said. */
  wallMs?: number;
  /** Whether silent peers are given up; they are unless something else is said. */
  watchesPeers?: boolean;
  /** The broker time that an earlier life has reached. */
  lastTimeMs?: number;
}

/** Time at which every test node starts. */
export const START_MS = 1_700_000_000_000;

/** A node in memory. */
export class TestNode {
  readonly clock: VirtualClock;
  readonly loop: TestLoop;
  readonly broker: Broker;
  readonly engine: Engine;
  readonly logs: { level: LogLevel; message: string; fields: LogFields | undefined }[] = [];
  readonly fatalErrors: unknown[] = [];
  isManual: boolean;
  #nextPort = 40_000;

  constructor(options: NodeOptions = {}) {
    this.isManual = options.isManual ?? false;
    this.clock = new VirtualClock(options.wallMs ?? START_MS);
    this.loop = new TestLoop(this.clock);
    const prng = new Prng(options.seed ?? 1);
    const random = () => prng.nextFloat();
    const logger = {
      log: (level: LogLevel, message: string, fields?: LogFields) => {
        this.logs.push({ level, message, fields });
      },
    };
    this.broker = new Broker({
      store: options.store ?? this.#store(),
      scheduler: options.scheduler ?? new Scheduler(),
      limits: { ...DEFAULT_LIMITS, ...options.limits },
      logger,
      users: new Users(options.users ?? [DEFAULT_USER]),
      random,
    });
    this.engine = new Engine({
      broker: this.broker,
      time: new BrokerTime(this.clock, options.lastTimeMs),
      loop: this.loop,
      logger,
      random,
      product: { version: "0.0.0", platform: "test", clusterName: "test" },
      watchesPeers: options.watchesPeers ?? true,
      fatal: (error) => this.fatalErrors.push(error),
    });
  }

  // Where turns are run by hand they are counted, and nothing is to wait for a disk.
  #store(): Store {
    return this.isManual ? new MemoryStore() : chosenStore(this.loop.soon);
  }

  /** A client whose stream is accepted and that has said nothing. */
  stream(info: Partial<TransportInfo> = {}): AmqpClient & { wire: MemoryWire } {
    return this.attach(new AmqpClient(), info);
  }

  /** Accepts the stream of a client made elsewhere. */
  attach<T extends AmqpClient>(
    bare: T,
    info: Partial<TransportInfo> = {},
  ): T & { wire: MemoryWire } {
    const client = bare as T & { wire: MemoryWire };
    const wire = new SettlingWire(client, this);
    client.wire = wire;
    wire.attach(this.engine.accept(wire, {
      peerHost: "127.0.0.1",
      peerPort: this.#nextPort++,
      localHost: "127.0.0.1",
      localPort: 5672,
      isTls: false,
      ...info,
    }));
    this.settle();
    return client;
  }

  /** A client that has logged in. */
  connect(options: LoginOptions = {}): AmqpClient & { wire: MemoryWire } {
    return this.stream().login(options);
  }

  queue(name: string): Queue {
    const queue = this.broker.vhosts.get("/")!.queues.get(name);
    if (queue === undefined) throw new Error(`no queue ${name}`);
    return queue;
  }

  /** Lets everything happen that can happen now; throws if the broker failed. */
  settle(): void {
    if (!this.isManual) this.loop.settle();
    if (this.fatalErrors.length > 0) throw this.fatalErrors[0];
  }

  advance(elapsedMs: number): void {
    this.loop.advance(elapsedMs);
    this.settle();
  }
}

/** A wire after whose events the loop is run, so that tests see the result at once. */
class SettlingWire extends MemoryWire {
  readonly #node: TestNode;

  constructor(client: AmqpClient, node: TestNode) {
    super(client, node.loop.soon);
    this.#node = node;
  }

  override send(bytes: Uint8Array): void {
    super.send(bytes);
    this.#node.settle();
  }

  override read(): void {
    super.read();
    this.#node.settle();
  }

  override drop(): void {
    super.drop();
    this.#node.settle();
  }
}
