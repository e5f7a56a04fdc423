// The store under tests that are about something else. They run on the memory store; with TEST_STORE=disk
// in the environment they run on the file store over a disk in memory, where everything that can be kept
// is kept: queues are durable and messages persistent, also those that did not ask for it.

import process from "node:process";
import type { FileStore, FileStoreOptions } from "../../src/store/file_store.ts";
import type { DiskError, FileHandle, OpenMode } from "../../src/store/file_system.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { type MessageSource, RECORD_PERSISTENT, type Store } from "../../src/store/port.ts";
import { openStore } from "./disk_store.ts";
import { MemoryDisk } from "./memory_disk.ts";

/** Whether tests run on the file store. */
export const IS_ON_DISK: boolean = process.env["TEST_STORE"] === "disk";

/** A new store of the kind that tests run on; `soon` is how its syncs and reads end. */
export function chosenStore(soon: (callback: () => void) => void): Store {
  return IS_ON_DISK ? keepingStore(soon) : new MemoryStore();
}

/** A file store that takes every message for persistent; its syncs and reads end by `soon`. */
export function keepingStore(
  soon: (callback: () => void) => void,
  options: Partial<FileStoreOptions> = {},
): FileStore {
  const store = openStore(new PromptDisk(soon), { seed: 1, ...options });
  const append = store.append.bind(store);
  store.append = (message: MessageSource, holderCount: number): number => {
    message.flags |= RECORD_PERSISTENT;
    return append(message, holderCount);
  };
  return store;
}

/** A disk whose syncs and reads end by themselves. */
class PromptDisk extends MemoryDisk {
  readonly #soon: (callback: () => void) => void;

  constructor(soon: (callback: () => void) => void) {
    super();
    this.#soon = soon;
  }

  override open(path: string, mode: OpenMode): FileHandle {
    const handle = super.open(path, mode);
    const sync = handle.sync.bind(handle);
    const read = handle.read.bind(handle);
    handle.sync = (done) => {
      sync(done);
      this.#soon(() => void this.finish());
    };
    handle.read = (offset, length, done) => {
      read(offset, length, done);
      this.#soon(() => void this.finish());
    };
    return handle;
  }

  override removeLater(path: string, done: (error: DiskError | null) => void): void {
    super.removeLater(path, done);
    this.#soon(() => void this.finish());
  }

  override syncFolderLater(folder: string, done: (error: DiskError | null) => void): void {
    super.syncFolderLater(folder, done);
    this.#soon(() => void this.finish());
  }
}
