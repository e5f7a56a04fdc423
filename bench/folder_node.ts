// A broker over a data folder in the process of a bench, without sockets, so that what is measured is
// the broker and its store: turns that give way to the disk, messages to publish, a consumer that
// keeps what it gets. Used by backlog.ts and boot.ts; what is measured is theirs.

import * as fs from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers";
import type { FieldTable } from "../src/amqp/field_value.ts";
import { type Properties, writeProperties } from "../src/amqp/properties.ts";
import { Broker } from "../src/broker/broker.ts";
import type { Consumer } from "../src/broker/queue/consumer.ts";
import type { Delivery } from "../src/broker/queue/delivery.ts";
import { DEFAULT_LIMITS, type Limits } from "../src/broker/limits.ts";
import { emptySource } from "../src/broker/publish/publisher.ts";
import type { Queue } from "../src/broker/queue/queue.ts";
import { restoreBroker, type RestoredCounts } from "../src/broker/recovery.ts";
import { Unacked } from "../src/broker/queue/unacked.ts";
import { Users } from "../src/broker/access/users.ts";
import type { VHost } from "../src/broker/topology/vhost.ts";
import { residentBytesOf } from "../src/config/memory_split.ts";
import { ByteWriter } from "../src/lib/byte_writer.ts";
import { Prng } from "../src/lib/prng.ts";
import { FolderFileSystem } from "../src/runtime/file_system.ts";
import { Scheduler } from "../src/schedule/scheduler.ts";
import { FileStore } from "../src/store/file_store.ts";
import { PauseClock, pauseMs, type Step } from "./steps.ts";

const OWNER = { name: "bench" };

/** A broker over a folder. */
export class FolderNode {
  readonly store: FileStore;
  readonly broker: Broker;
  readonly vhost: VHost;
  readonly restored: RestoredCounts;
  longestTurnMs = 0;
  /** By how much its clock is ahead of the machine's, ms. */
  aheadMs = 0;
  /** Told of every turn. */
  onTurn: (turn: Step) => void = () => {};
  /** Told of what clients did in it. */
  onWork: (work: Step) => void = () => {};
  readonly #clock = new PauseClock();
  readonly #workClock = new PauseClock();

  /** Starts from what is in `dir`; `memory` bytes are its limit. */
  constructor({ dir, memory }: { dir: string; memory: number }, limits: Partial<Limits> = {}) {
    this.store = FileStore.open({
      fs: new FolderFileSystem(dir),
      logger: { log: (level, message, fields) => console.error(level, message, fields) },
      isSynced: true,
      freeBytesMin: 0,
      residentBytesMax: residentBytesOf(memory),
      seed: 1,
    });
    const prng = new Prng(1);
    this.broker = new Broker({
      store: this.store,
      scheduler: new Scheduler(),
      limits: { ...DEFAULT_LIMITS, memoryBytesMax: memory, ...limits },
      logger: { log() {} },
      users: new Users([]),
      random: () => prng.nextFloat(),
    });
    this.broker.beginTurn(Math.max(Date.now(), this.store.recovered.lastTimeMs));
    this.restored = restoreBroker(this.broker, this.store);
    this.vhost = this.broker.vhosts.get("/")!;
  }

  /** A durable queue, declared unless it is there. */
  queue(name: string, args: FieldTable): Queue {
    const flags = { durable: true, exclusive: false, autoDelete: false };
    return this.vhost.queues.get(name) ?? this.vhost.declareQueue({ name, ...flags, args }, OWNER);
  }

  /** One turn around `work`, then whatever the disk has finished. */
  async turn(work: () => void): Promise<void> {
    const clock = this.#clock.start();
    this.broker.beginTurn(Date.now() + this.aheadMs);
    const workClock = this.#workClock.start();
    work();
    this.onWork(workClock.end());
    this.broker.dispatch();
    this.broker.endTurn();
    const turn = clock.end();
    this.longestTurnMs = Math.max(this.longestTurnMs, pauseMs(turn));
    this.onTurn(turn);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** A message to a queue, to be published any number of times. */
export function messageTo(queueName: string, bodyBytes: number, properties: Properties) {
  const out = new ByteWriter();
  out.shortString("");
  out.shortString(queueName);
  const propertiesStart = out.byteCount;
  writeProperties(out, properties);
  return Object.assign(emptySource(), {
    address: out.bytes,
    addressStart: 0,
    addressEnd: propertiesStart,
    properties: out.bytes,
    propertiesStart,
    propertiesEnd: out.byteCount,
    body: new Uint8Array(bodyBytes).fill(120),
    bodyStart: 0,
    bodyEnd: bodyBytes,
  });
}

/** A consumer that keeps what it gets, to be settled a turn later. */
export class Taker {
  taken = 0;
  readonly unacked: Unacked = new Unacked();

  hasCapacity(): boolean {
    return true;
  }

  deliver(consumer: Consumer, delivery: Delivery): void {
    this.unacked.push(++this.taken, consumer, delivery);
  }

  cancelled(): void {
    throw new Error("the queue was closed");
  }
}

/** Bytes of all files in a folder. */
export function folderBytes(dir: string): number {
  return fs.readdirSync(dir).reduce((sum, name) => sum + fs.statSync(join(dir, name)).size, 0);
}

/** Whole mebibytes. */
export function mib(bytes: number): number {
  return Math.round(bytes / 1_048_576);
}
