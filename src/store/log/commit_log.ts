// The commit log: one batch a turn is appended to the current log file, and synced while later
// batches are collected (group commit, with one sync at a time). It tells which batches are
// decided: safe, or failed. FileStore owns it; it knows nothing of queues.
//
//   batches  … 41 42 43 | 44 45 46 47 | 48
//              safe       retained      open
//                         └ written, some of them being synced; kept in memory until they are safe
//
// A write that fails breaks the log: its batch has failed, and all retained batches are written to
// a fresh file as soon as one takes them. A failed sync is never repeated on the same file, because
// the system may have dropped the pages. The batches that it should have made safe go to a fresh
// file as well.

import { assert } from "../../lib/assert.ts";
import { EMPTY_BYTES } from "../../lib/bytes.ts";
import { DiskError, type FileHandle } from "../file_system.ts";
import { BatchWriter, renameFile } from "../format/batch_writer.ts";
import { BufferPool } from "./buffer_pool.ts";
import type { DataFile, DataFiles } from "../folder/data_files.ts";
import { FailedBatches } from "./failed_batches.ts";
import {
  type LogPlace,
  type LogRange,
  type Retained,
  RetainedBatches,
} from "./retained_batches.ts";
import type { StoreSizes } from "../folder/sizes.ts";

// Batches that no client waits for are synced when there are many of them, or after this time.
const LAZY_SYNC_MS = 500;
const REPAIR_INTERVAL_MS = 250;

/** Is told what happens outside a turn. */
export interface LogListener {
  /** A sync or a repair has decided a batch, and a turn should follow. */
  wake(): void;
  /** Records at `[offset, offset + byteCount)` of one file are at `toOffset` of another now. */
  relocated(from: LogRange, to: LogPlace): void;
  /** The disk refused an operation; `what` names it. */
  failed(what: string, error: DiskError): void;
  /** No log file takes writes, or the next one did not either. */
  broken(what: string, error: DiskError): void;
  /** A fresh file has taken over. */
  repaired(): void;
}

/** The parts of a {@link CommitLog}. */
export interface CommitLogOptions {
  files: DataFiles;
  listener: LogListener;
  /** Seed of every checksum in this folder. */
  seed: number;
  /** False: a batch counts as safe once it is written. */
  isSynced: boolean;
  /** Number of the first batch. */
  openBatch: number;
  /** Number of the batch before it, which was written last and is safe. */
  lastBatch: number;
  sizes: StoreSizes;
}

/** Appends batches to log files. */
export class CommitLog {
  /** The open batch. */
  readonly batch: BatchWriter;
  openBatch: number;
  /** The last batch that was not empty. */
  lastBatch: number;
  /** Bytes appended since the log was opened. */
  appendedBytes = 0;
  /**
   * While the log is broken: no fresh file is tried, because the rescue needs the room that is
   * left.
   */
  isRepairHeld = false;
  readonly #files: DataFiles;
  readonly #listener: LogListener;
  readonly #seed: number;
  readonly #isSynced: boolean;
  readonly #sizes: StoreSizes;
  readonly #recoveredBatch: number;
  #file!: DataFile;
  #handle!: FileHandle;
  readonly #buffers = new BufferPool();
  readonly #retained = new RetainedBatches(this.#buffers);
  readonly #failed = new FailedBatches();
  #isSyncing = false;
  #isBroken = false;
  /** The file that it writes to, or the manifest, has been removed. */
  #isLost = false;
  #isClosed = false;
  /** The last batch for which a client waits. */
  #wantedBatch = 0;
  #repairAtMs = 0;
  /** Full files with batches that are not safe yet. */
  #older: { file: DataFile; handle: FileHandle }[] = [];

  constructor(options: CommitLogOptions) {
    this.#files = options.files;
    this.#listener = options.listener;
    this.#seed = options.seed;
    this.#isSynced = options.isSynced;
    this.#sizes = options.sizes;
    this.openBatch = options.openBatch;
    this.lastBatch = options.lastBatch;
    this.#recoveredBatch = options.lastBatch;
    this.batch = new BatchWriter(options.seed);
    this.batch.open(this.#buffers.take());
    this.#openFile();
  }

  /** The file that the open batch will go to. */
  get file(): DataFile {
    return this.#file;
  }

  /** Returns where in its file offset `at` of the open batch will be. */
  offsetOf(at: number): number {
    return this.#file.byteLength + at;
  }

  /** Whether no log file takes writes. Durable publishes must be refused. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Every batch up to this one is decided. */
  get decidedBatch(): number {
    return (this.#retained.firstUndecided?.number ?? this.openBatch) - 1;
  }

  /** Whether nothing before the open batch waits for the disk. */
  get isAllDecided(): boolean {
    return this.decidedBatch === this.openBatch - 1;
  }

  /**
   * Every batch up to this one is on the disk. A failed batch is decided at once, but counts here
   * only when it has reached the disk after all.
   */
  get storedBatch(): number {
    return (this.#retained.first?.number ?? this.openBatch) - 1;
  }

  /** Bytes of batches kept in memory until they are safe. */
  get retainedBytes(): number {
    return this.#retained.byteCount;
  }

  /** Whether a decided batch has failed instead of being safe. */
  isFailed(batch: number): boolean {
    return this.#failed.has(batch);
  }

  /** Is told that a client waits for the open batch, or that its content must not be lost. */
  wantSync(): void {
    this.#wantedBatch = this.openBatch;
  }

  /** Starts the open batch anew, because nothing in it is needed any more. */
  forget(): void {
    this.batch.open(this.batch.out.bytes);
  }

  get #isSyncWanted(): boolean {
    return this.storedBatch < this.#wantedBatch;
  }

  /** Ends the open batch: writes it, and starts a sync if one is wanted and none is under way. */
  commit(nowMs: number): void {
    if (!this.batch.isEmpty) {
      this.#append(nowMs);
      this.batch.open(this.#buffers.take());
    }
    this.openBatch++;
    if (this.#isBroken && !this.isRepairHeld && nowMs >= this.#repairAtMs) this.#repair(nowMs);
    const isLazyOver = nowMs >= (this.#retained.first?.timeMs ?? Infinity) + LAZY_SYNC_MS ||
      this.#retained.byteCount > this.#sizes.lazySyncBytes;
    if (this.#isSyncWanted || isLazyOver) this.#sync();
  }

  /**
   * Is told that its file, or the manifest by which a start would find it, has been removed. A
   * fresh file would not bring back the content, so nothing counts as safe any more until the node
   * starts again.
   */
  lose(error: DiskError): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#isBroken = true;
    this.#failRetained();
    const what = "keep messages any more: somebody has removed the data folder or files in it; " +
      "publishers are refused until the broker is started again";
    this.#listener.failed(what, error);
  }

  /** Whether {@linkcode lose} has been called. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Makes the next batch begin a file, so that the file before it is complete. No batch may be
   * open.
   */
  rotate(nowMs: number): void {
    if (this.#isBroken || this.#file.byteLength === 0 || !this.batch.isEmpty) return;
    this.#rotate(nowMs);
  }

  /** Returns the offset in each file from which on batches are not safe, or not written at all. */
  unsafeRanges(): Map<number, number> {
    const ranges = new Map<number, number>();
    for (const { file, offset } of this.#retained.all) {
      if (!ranges.has(file.number)) ranges.set(file.number, offset);
    }
    return ranges;
  }

  /**
   * Goes on behind a batch up to which a snapshot says everything. No file needs to take these
   * batches any more.
   */
  goOnBehind(lastBatch: number, nowMs: number): void {
    this.#retained.dropUpTo(lastBatch);
    this.#repair(nowMs);
  }

  /** Writes the open batch and makes everything safe, then closes; for an orderly end. */
  close(nowMs: number, done: (error: DiskError | null) => void): void {
    this.commit(nowMs);
    if (this.#isBroken) this.#repair(nowMs);
    this.#isClosed = true;
    if (this.#isBroken) {
      this.#closeHandles();
      return done(new DiskError("EIO", this.#file.name));
    }
    const handles = [...this.#older.map(({ handle }) => handle), this.#handle];
    let left = handles.length;
    let failure: DiskError | null = null;
    const ended = (error: DiskError | null): void => {
      failure ??= error;
      if (--left > 0) return;
      this.#closeHandles();
      done(failure);
    };
    for (const handle of handles) handle.sync(ended);
  }

  /** Closes without writing anything. The node has failed. */
  abandon(): void {
    this.#isClosed = true;
    this.#closeHandles();
  }

  #closeHandles(): void {
    this.#handle.close();
    for (const { handle } of this.#older.splice(0)) handle.close();
  }

  // --- writing

  #append(nowMs: number): void {
    const { out } = this.batch;
    const safe = this.#isSynced ? this.storedBatch : this.#recoveredBatch;
    const chain = { previous: this.lastBatch, safe, file: this.#file.number };
    assert(chain.safe < this.openBatch, "a batch is said to be safe that was not written");
    assert(chain.previous < this.openBatch, "a batch is written twice");
    this.batch.finish(this.openBatch, nowMs, chain);
    this.lastBatch = this.openBatch;
    const retained: Retained = {
      number: this.openBatch,
      previous: chain.previous,
      timeMs: nowMs,
      buffer: out.bytes,
      byteCount: out.byteCount,
      file: this.#file,
      offset: this.#file.byteLength,
      isWritten: false,
      isFailed: false,
    };
    out.bytes = EMPTY_BYTES;
    out.byteCount = 0;
    this.appendedBytes += retained.byteCount;
    if (this.#isBroken) return this.#keepFailed(retained);
    try {
      this.#write(retained);
    } catch (error) {
      this.#cutTorn();
      this.#keepFailed(retained);
      this.#break("write to the commit log", error, nowMs);
      return;
    }
    if (this.#isSynced) this.#retained.add(retained);
    else this.#buffers.give(retained.buffer);
    if (this.#file.byteLength >= this.#sizes.logFileBytes) this.#rotate(nowMs);
  }

  #write(retained: Retained): void {
    const { buffer, byteCount } = retained;
    const offset = this.#file.byteLength;
    this.#handle.write(buffer, 0, byteCount, offset);
    retained.isWritten = true;
    this.#file.byteLength = offset + byteCount;
  }

  // Cuts off the part of a batch that was written. On a full disk its room may be all there is.
  #cutTorn(): void {
    try {
      this.#handle.truncate(this.#file.byteLength);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
    }
  }

  #keepFailed(retained: Retained): void {
    // Its records keep the place in the file that they would have had. No other batch gets that
    // place, because a broken file is never written again. When the records have a real place,
    // `relocated` is called.
    this.#file.byteLength += retained.byteCount;
    this.#markFailed(retained);
    this.#retained.add(retained);
  }

  #markFailed(batch: Retained): void {
    batch.isFailed = true;
    this.#failed.add(batch.number, batch.previous);
  }

  #openFile(): void {
    const { file, handle } = this.#files.create("log");
    file.isPinned = true;
    this.#file = file;
    this.#handle = handle;
  }

  #rotate(nowMs: number): void {
    const before = { file: this.#file, handle: this.#handle };
    try {
      this.#openFile();
    } catch (error) {
      return this.#break("open a log file", error, nowMs);
    }
    before.file.isPinned = false;
    this.#older.push(before);
    this.#closeOlder();
  }

  // --- syncing

  #sync(): void {
    if (this.#isSyncing || this.#isClosed || this.#isLost || !this.#isSynced) return;
    const first = this.#retained.firstToSync;
    if (first === undefined) return;
    this.#isSyncing = true;
    const { file } = first;
    const last = this.#retained.all.findLast((batch) => batch.isWritten && batch.file === file)!;
    const older = this.#older.find((one) => one.file === file);
    const handle = older === undefined ? this.#handle : older.handle;
    handle.sync((error) => this.#synced(file, last.number, error));
  }

  #synced(file: DataFile, lastNumber: number, error: DiskError | null): void {
    this.#isSyncing = false;
    if (this.#isClosed) return;
    if (error?.code === "ENOENT") {
      this.lose(error);
    } else if (error !== null) {
      this.#listener.failed("sync the commit log", error);
      for (const batch of this.#retained.all) if (batch.file === file) batch.isWritten = false;
      this.#startFresh(0);
    } else {
      this.#retained.dropSafe(file, lastNumber);
      this.#closeOlder();
    }
    if (this.#isSyncWanted || this.#retained.all.some((batch) => batch.file !== this.#file)) {
      this.#sync();
    }
    this.#listener.wake();
  }

  #closeOlder(): void {
    for (const { file, handle } of this.#older) if (!this.#retained.isIn(file)) handle.close();
    this.#older = this.#older.filter(({ file }) => this.#retained.isIn(file));
  }

  // --- failures

  #break(what: string, error: unknown, nowMs: number): void {
    if (!(error instanceof DiskError)) throw error;
    this.#isBroken = true;
    this.#repairAtMs = nowMs + REPAIR_INTERVAL_MS;
    this.#listener.broken(what, error);
  }

  #repair(nowMs: number): void {
    // A sync of the broken file may still make earlier batches safe. That decision comes first.
    if (!this.#isSyncing && !this.#isLost) this.#startFresh(nowMs);
  }

  // Writes all retained batches to a new file and goes on there. The new file gets its name when it
  // is whole, so that after a crash in between the old files still count.
  #startFresh(nowMs: number): void {
    try {
      const fresh = this.#files.createUnnamed("log");
      try {
        let offset = 0;
        for (const { buffer, byteCount } of this.#retained.all) {
          renameFile(buffer, byteCount, { file: fresh.file.number, seed: this.#seed });
          fresh.handle.write(buffer, 0, byteCount, offset);
          offset += byteCount;
        }
        fresh.name();
      } catch (error) {
        if (error instanceof DiskError) fresh.discard();
        throw error;
      }
      this.#goOnWith(fresh);
    } catch (error) {
      this.#failRetained();
      this.#break("open a fresh log file", error, nowMs);
    }
  }

  #failRetained(): void {
    for (const batch of this.#retained.all) if (!batch.isFailed) this.#markFailed(batch);
  }

  #goOnWith(fresh: { file: DataFile; handle: FileHandle }): void {
    this.#file.isPinned = false;
    this.#closeHandles();
    this.#file = fresh.file;
    this.#handle = fresh.handle;
    this.#file.isPinned = true;
    this.#retained.moveTo(this.#file, (from, to) => this.#listener.relocated(from, to));
    this.#isBroken = false;
    this.#listener.repaired();
    if (this.#isSynced) {
      this.#wantedBatch = this.lastBatch;
      this.#sync();
    } else {
      this.#retained.dropSafe(this.#file, this.lastBatch);
    }
  }
}
