// A broker over a file store that has hardly any memory, on a simulated disk: backlogs of some hundred
// messages are written to pages and read back. Time, syncs, reads and crashes are the test's.

import { restoreBroker } from "../../../../src/broker/recovery.ts";
import type { Queue } from "../../../../src/broker/queue/queue.ts";
import type { FileStore } from "../../../../src/store/file_store.ts";
import type { StoreSizes } from "../../../../src/store/folder/sizes.ts";
import { openStore } from "../../../support/disk_store.ts";
import type { Crash, MemoryDisk } from "../../../support/memory_disk.ts";
import { type Plain, type Seen, TestBroker, TestChannel } from "../../../support/test_broker.ts";

/** Delivery mode 2. */
export const PERSISTENT = { deliveryMode: 2 };

/** Sizes at which everything happens all the time. */
const TINY: Partial<StoreSizes> = {
  logFileBytes: 16 * 1024,
  snapshotLogBytes: 40 * 1024,
  snapshotPieceBytes: 2048,
  snapshotPieceRefs: 64,
  segmentFileBytes: 16 * 1024,
  heldBackBytesMax: 64 * 1024,
  moveGroupBytes: 2048,
  moveGroupRecords: 16,
  moveSlackBytes: 64 * 1024,
  laneFirstSlots: 4,
  laneSlots: 16,
  pageBytes: 2048,
  pageGroupBytes: 8192,
  pagesInFlightBytes: 64 * 1024,
  sparePageMessagesMin: 4,
};

/** What a node is made of. */
export interface PagedNodeOptions {
  residentBytesMax?: number;
  freeBytesMin?: number;
  sizes?: Partial<StoreSizes>;
  nowMs?: number;
}

/** One node over one disk. */
export class PagedNode {
  readonly store: FileStore;
  readonly t: TestBroker;
  readonly disk: MemoryDisk;
  /** What the store has complained about. */
  readonly errors: string[] = [];
  readonly #options: PagedNodeOptions;

  constructor(disk: MemoryDisk, options: PagedNodeOptions = {}) {
    this.disk = disk;
    this.#options = options;
    this.store = openStore(disk, {
      logger: { log: (level, message) => void (level === "error" && this.errors.push(message)) },
      residentBytesMax: options.residentBytesMax ?? 16 * 1024,
      freeBytesMin: options.freeBytesMin ?? 0,
      sizes: { ...TINY, ...options.sizes },
    });
    const nowMs = Math.max(options.nowMs ?? 1_000_000, this.store.recovered.lastTimeMs);
    this.t = new TestBroker({ store: this.store, nowMs });
    restoreBroker(this.t.broker, this.store);
  }

  /** A durable queue. */
  queue(name: string, args: Plain = {}, durable = true): Queue {
    return this.t.queue(name, args, { durable });
  }

  find(name: string): Queue {
    return this.t.vhost.queues.get(name)!;
  }

  /** Publishes `count` messages numbered from `first`, some in each turn. */
  publish(name: string, first: number, count: number, properties = PERSISTENT as object): void {
    for (let number = first; number < first + count; number++) {
      this.t.publish(name, `${number}`.padStart(40, "."), properties);
      if (number % 8 === 0) this.settle();
    }
    this.settle();
  }

  /** Ends the turn and everything under way until nothing happens any more. */
  settle(): void {
    do this.t.turn(); while (this.disk.finishAll() > 0);
  }

  /** Takes up to `count` messages with basic.get and acks them; their numbers. */
  take(name: string, count: number): number[] {
    const channel = new TestChannel();
    const numbers: number[] = [];
    while (numbers.length < count) {
      const seen = this.get(name, channel);
      if (seen === null) break;
      numbers.push(numberOf(seen));
      channel.unacked.ack(seen.tag, false);
      if (numbers.length % 8 === 0) this.settle();
    }
    this.settle();
    return numbers;
  }

  /** basic.get that waits for what has to be read; null when the queue is empty. */
  get(name: string, channel: TestChannel): Seen | null {
    const queue = this.find(name);
    for (let reads = 0; reads < 100; reads++) {
      const seen = this.t.get(queue, channel);
      if (seen !== null || queue.readyCount === 0) return seen;
      this.t.turn();
      this.disk.finishAll();
    }
    throw new Error("the head is never read");
  }

  /** Ends this node and starts the next one on what it has left. */
  crash(how: Crash = { kind: "process" }, options = this.#options): PagedNode {
    return new PagedNode(this.disk.crash(how), { ...options, nowMs: this.t.nowMs });
  }

  /** Files of one kind. */
  files(kind: string): string[] {
    return this.disk.paths().filter((path) => path.startsWith(kind));
  }
}

/** The number that `publish` gave a message. */
export function numberOf(seen: Seen): number {
  return Number(seen.body.replaceAll(".", ""));
}

/** `[first, first + count)`. */
export function range(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}
