// The data folder of a node: takes the lock of the folder, opens the store in it, gives the recovered
// state to the broker, and releases both in the end. server.ts creates one for a node that keeps
// data; the files are the business of src/store.

import type { Broker } from "./broker/broker.ts";
import { Histogram } from "./broker/metrics.ts";
import { restoreBroker, type RestoredCounts, RestoreError } from "./broker/recovery.ts";
import type { Logger } from "./lib/logger.ts";
import type { StorageInfo } from "./management/context.ts";
import { FolderFileSystem } from "./runtime/file_system.ts";
import { type FolderLock, FolderLockedError, takeFolderLock } from "./runtime/folder_lock.ts";
import { TimedFileSystem } from "./runtime/timed_file_system.ts";
import { FileStore } from "./store/file_store.ts";
import { DiskError, type FileSystem } from "./store/file_system.ts";
import { StoreFormatError } from "./store/folder/manifest.ts";

/** Upper bounds of the histogram of sync durations, seconds. */
const SYNC_BOUNDS_SECONDS = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2];

const KINDS = ["log", "snapshot", "segment"] as const;

/** The data folder of a node and how it is written. */
export interface StorageOptions {
  /** The data folder; it is created when it does not exist. */
  readonly folder: string;
  /** False: messages count as safe once the operating system has them. */
  readonly isSynced: boolean;
  /** Publishers wait while the disk has less room than this, bytes. */
  readonly diskFreeBytesMin: number;
}

/** Returns the storage options of a node with these settings; null for a node in memory alone. */
export function storageOf(
  settings: { dataDir: string; isInMemory: boolean; isSynced: boolean; diskFreeBytesMin: number },
): StorageOptions | null {
  const { dataDir, isInMemory, isSynced, diskFreeBytesMin } = settings;
  return isInMemory ? null : { folder: dataDir, isSynced, diskFreeBytesMin };
}

/** Further parts that {@linkcode Storage.open} needs. */
export interface StorageParts {
  readonly logger: Logger;
  /** Message contents kept in memory before those that are also on disk are dropped from it, bytes. */
  readonly residentBytesMax: number;
  /** Seed of the checksums of a new folder: a random number below 2^32. */
  readonly seed: number;
}

/** The data folder cannot be used; `message` is one clear line. */
export class StorageError extends Error {
  override readonly name = "StorageError";
}

/** An open data folder. */
export class Storage {
  readonly store: FileStore;
  readonly #options: StorageOptions;
  readonly #logger: Logger;
  readonly #fs: FileSystem;
  readonly #lock: FolderLock;
  readonly #syncSeconds: Histogram;

  constructor(
    store: FileStore,
    parts: { options: StorageOptions; logger: Logger; opened: OpenedFolder },
  ) {
    this.store = store;
    this.#options = parts.options;
    this.#logger = parts.logger;
    this.#fs = parts.opened.fs;
    this.#lock = parts.opened.lock;
    this.#syncSeconds = parts.opened.syncSeconds;
  }

  /**
   * Locks a folder and reads what it holds.
   * @throws StorageError when the folder is in use, has a newer format or a damaged or missing manifest,
   * or when the disk fails; the folder is unchanged then
   */
  static open(options: StorageOptions, parts: StorageParts): Storage {
    const { logger } = parts;
    const opened = openFolder(options.folder);
    try {
      const store = FileStore.open({
        fs: opened.fs,
        logger,
        isSynced: options.isSynced,
        freeBytesMin: options.diskFreeBytesMin,
        residentBytesMax: parts.residentBytesMax,
        seed: parts.seed,
      });
      if (!options.isSynced) {
        const text = "messages are not synced: a loss of power loses some that were confirmed";
        logger.log("warn", text, { folder: opened.lock.folder });
      }
      return new Storage(store, { options, logger, opened });
    } catch (error) {
      opened.lock.release();
      throw refusal(options.folder, error);
    }
  }

  /** Latest broker time of the previous run, ms since the epoch; 0 when there was none. */
  get lastTimeMs(): number {
    return this.store.recovered.lastTimeMs;
  }

  /**
   * Gives the recovered state to a new broker in its first turn. `elapsedMs` returns how long the
   * start has taken so far.
   * @throws StorageError when a newer version has written a definition
   */
  restore(broker: Broker, elapsedMs: () => number): void {
    const { cuts, damages, replayedBytes } = this.store.recovered;
    for (const { file, offset, what } of cuts) {
      const text = "the log ends with what a crash has torn; it is not used";
      this.#logger.log("warn", text, { file, offset, what });
    }
    for (const { file, offset, what } of damages) {
      this.#logger.log("warn", "damage in the data folder", { file, offset, what });
    }
    const { queues, ready, delayed, dying, missing } = this.#restored(broker);
    if (missing > 0) {
      this.#logger.log("warn", "messages are missing with the file that held them", { missing });
    }
    this.#logger.log("info", "recovered", {
      folder: this.#lock.folder,
      queues,
      ready,
      delayed,
      deadLettering: dying,
      damages: damages.length,
      replayedBytes,
      milliseconds: Math.round(elapsedMs()),
    });
  }

  #restored(broker: Broker): RestoredCounts {
    try {
      return restoreBroker(broker, this.store);
    } catch (error) {
      throw refusal(this.#lock.folder, error);
    }
  }

  /** Returns the state of the folder, for metrics. */
  info(): StorageInfo {
    const { store } = this;
    return {
      folder: this.#lock.folder,
      isSynced: this.#options.isSynced,
      isReadOnly: store.isReadOnly,
      freeBytes: freeBytes(this.#fs),
      freeBytesMin: this.#options.diskFreeBytesMin,
      isDiskLow: store.isDiskLow,
      files: KINDS.map((kind) => ({ kind, ...store.usage(kind) })),
      loggedBytes: store.loggedBytes,
      syncSeconds: this.#syncSeconds,
    };
  }

  /**
   * Makes everything safe and releases the folder; no turn may follow. Rejects when not everything is
   * safe.
   */
  async close(nowMs: number): Promise<void> {
    try {
      await this.store.close(nowMs);
    } finally {
      this.#lock.release();
    }
  }

  /** Releases the folder as it is on disk, after the node has failed. */
  abandon(): void {
    this.store.abandon();
    this.#lock.release();
  }
}

interface OpenedFolder {
  readonly fs: FileSystem;
  readonly lock: FolderLock;
  readonly syncSeconds: Histogram;
}

function openFolder(folder: string): OpenedFolder {
  const syncSeconds = new Histogram(SYNC_BOUNDS_SECONDS);
  try {
    const real = new FolderFileSystem(folder);
    const fs = new TimedFileSystem(real, (elapsedMs) => syncSeconds.observe(elapsedMs / 1000));
    return { fs, lock: takeFolderLock(real.folder), syncSeconds };
  } catch (error) {
    throw refusal(folder, error);
  }
}

/**
 * Turns an error of the folder or the disk into a StorageError with one clear line. Returns any other
 * error unchanged.
 */
export function refusal(folder: string, error: unknown): unknown {
  if (error instanceof FolderLockedError) return new StorageError(error.message);
  if (error instanceof StoreFormatError || error instanceof RestoreError) {
    return new StorageError(`${folder}: ${error.message}`);
  }
  if (!(error instanceof DiskError)) return error;
  const { code, path } = error;
  const hint = code === "NotCapable" ? " (run Deno with --allow-read, --allow-write)" : "";
  const where = path === "" || path === folder ? "" : ` at ${path}`;
  return new StorageError(`cannot use the data folder ${folder}: ${code}${where}${hint}`);
}

function freeBytes(fs: FileSystem): number | null {
  try {
    return fs.freeBytes();
  } catch (error) {
    if (error instanceof DiskError) return null;
    throw error;
  }
}
