// A whole node over a file store on a disk in memory, with clients that speak frames: killed and started
// again with what is on the disk. Syncs and reads end by themselves, or when the test lets them. Tests only.

import type { Limits } from "../../src/broker/limits.ts";
import { restoreBroker } from "../../src/broker/recovery.ts";
import type { FileStore } from "../../src/store/file_store.ts";
import { openStore } from "./disk_store.ts";
import { type Crash, MemoryDisk } from "./memory_disk.ts";
import { START_MS, TestNode } from "./test_node.ts";

/** One life of a node. */
export class DurableNode {
  readonly disk: MemoryDisk;
  readonly store: FileStore;
  readonly node: TestNode;
  #isHeld = false;
  #soon: (callback: () => void) => void = (callback) => callback();

  /** Starts from what is on `disk` when the wall clock says `wallMs`. */
  constructor(
    disk: MemoryDisk = new MemoryDisk(),
    wallMs: number = START_MS,
    limits: Partial<Limits> = {},
  ) {
    this.disk = disk;
    this.#finishPromptly();
    this.store = openStore(disk, { seed: 7 });
    const { lastTimeMs } = this.store.recovered;
    this.node = new TestNode({ store: this.store, wallMs, lastTimeMs, limits });
    this.#soon = this.node.loop.soon;
    this.node.engine.turn(() => void restoreBroker(this.node.broker, this.store));
    this.node.settle();
  }

  /** From here on nothing is safe, and nothing is read, before `release`. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Ends what was held, and lets everything end by itself again. */
  release(): void {
    this.#isHeld = false;
    this.disk.finishAll();
    this.node.settle();
  }

  /** The node that starts after this one was killed, with its wall clock moved by `wallByMs`. */
  restart(wallByMs = 0, how: Crash = { kind: "process" }): DurableNode {
    return new DurableNode(this.disk.crash(how), this.node.clock.wallMs() + wallByMs);
  }

  #finishPromptly(): void {
    const open = this.disk.open.bind(this.disk);
    const removeLater = this.disk.removeLater.bind(this.disk);
    const syncFolderLater = this.disk.syncFolderLater.bind(this.disk);
    const later = (): void => {
      this.#soon(() => {
        if (!this.#isHeld && !this.disk.crashed) this.disk.finish();
      });
    };
    this.disk.removeLater = (path, done) => {
      removeLater(path, done);
      later();
    };
    this.disk.syncFolderLater = (folder, done) => {
      syncFolderLater(folder, done);
      later();
    };
    this.disk.open = (path, mode) => {
      const handle = open(path, mode);
      const sync = handle.sync.bind(handle);
      const read = handle.read.bind(handle);
      handle.sync = (done) => {
        sync(done);
        later();
      };
      handle.read = (offset, length, done) => {
        read(offset, length, done);
        later();
      };
      return handle;
    };
  }
}
