// A broker without sessions over a file store on a disk in memory, that can be killed and started again
// with what is on the disk. Syncs and reads end when `settle` says so. Tests only.

import { restoreBroker } from "../../src/broker/recovery.ts";
import type { Queue } from "../../src/broker/queue/queue.ts";
import type { FileStore } from "../../src/store/file_store.ts";
import { openStore } from "./disk_store.ts";
import { type Crash, MemoryDisk } from "./memory_disk.ts";
import { type Seen, TestBroker, type TestChannel } from "./test_broker.ts";

/** What a publish needs to be kept. */
export const PERSISTENT = { deliveryMode: 2 };

/** One life of a node. */
export class DiskNode {
  readonly disk: MemoryDisk;
  readonly store: FileStore;
  readonly t: TestBroker;
  readonly logs: string[] = [];

  /** Starts from what is on `disk`, at `nowMs` or the last time that the disk knows. */
  constructor(disk: MemoryDisk = new MemoryDisk(), nowMs = 1_000_000) {
    this.disk = disk;
    this.store = openStore(disk, {
      logger: { log: (_level, message) => void this.logs.push(message) },
    });
    this.t = new TestBroker({
      store: this.store,
      nowMs: Math.max(nowMs, this.store.recovered.lastTimeMs),
      logger: { log: (_level, message) => void this.logs.push(message) },
    });
    restoreBroker(this.t.broker, this.store);
  }

  queue(name: string): Queue {
    return this.t.vhost.queues.get(name)!;
  }

  /** Turns, each `byMs` after the one before, after which every sync and read ends. */
  settle(turns = 1, byMs = 0): void {
    for (let i = 0; i < turns; i++) {
      this.t.turn(byMs);
      this.disk.finishAll();
    }
  }

  /** basic.get; reads what has to be read first. Null when the queue is empty. */
  get(name: string, channel: TestChannel): Seen | null {
    for (;;) {
      const seen = this.t.get(this.queue(name), channel);
      if (seen !== null || this.disk.pendingCount === 0) return seen;
      this.disk.finishAll();
    }
  }

  /** The node that starts after this one was killed, `downMs` later. */
  restart(downMs = 0, how: Crash = { kind: "process" }): DiskNode {
    return new DiskNode(this.disk.crash(how), this.t.nowMs + downMs);
  }
}
