// The store that survives the end of the process. It writes records and state entries to a commit
// log and its state to snapshots, and finds them again at open. Implements the Store port for
// broker/ over a FileSystem that it is given. It reads a record from the disk only when the record
// is not in memory.

import type { Logger } from "../lib/logger.ts";
import { Arena } from "./memory/arena.ts";
import { Discards } from "./memory/discards.ts";
import type { DiskError, FileSystem } from "./file_system.ts";
import { ChunkPool } from "./memory/lane_chunk.ts";
import type { Placed } from "./format/batch_writer.ts";
import { LogEntries } from "./live/log_entries.ts";
import { CommitLog, type LogListener } from "./log/commit_log.ts";
import { type DataFile, DataFiles } from "./folder/data_files.ts";
import { Definitions } from "./live/definitions.ts";
import { Holdings } from "./live/holdings.ts";
import { Keeper } from "./upkeep/keeper.ts";
import {
  type Manifest,
  readManifest,
  StoreFormatError,
  upgradeManifest,
  writeManifest,
} from "./folder/manifest.ts";
import { RecordReads } from "./residency/record_reads.ts";
import { handOver } from "./recovery/hand_over.ts";
import { recover, type Recovered } from "./recovery/recovery.ts";
import { type DataFileKind, FORMAT_VERSION, STATE_DELAYED } from "./format/format.ts";
import { Paging } from "./pages/paging.ts";
import { DEFAULT_SIZES, type StoreSizes } from "./folder/sizes.ts";
import { Troubles } from "./folder/troubles.ts";
import { Lane } from "./memory/lane.ts";
import { type DelayedPages, PAGE_BYTES, type PageOwner, type PagePlace } from "./page.ts";
import type {
  KeepingStore,
  MessageSource,
  ReadWaiter,
  ReadyLane,
  RecordView,
  RecoverySink,
  Store,
  TakenMessages,
} from "./port.ts";

// The arena may hold this many times `residentBytesMax` before it must give blocks up.
const HELD_RATIO = 1.5;
// A start that has read more log files than this takes a snapshot.
const LOG_FILES_MAX = 16;

/** How a file store is opened. */
export interface FileStoreOptions {
  fs: FileSystem;
  logger: Logger;
  /** False: messages count as safe once they are written (`--no-sync`). */
  isSynced: boolean;
  /** Publishers are blocked when the disk has less free space than this. */
  freeBytesMin: number;
  /** Bytes of records kept in memory before those on disk are given up. */
  residentBytesMax: number;
  /** Seed of the checksums of a new folder: a random number below 2^32. */
  seed: number;
  /** Other sizes than {@link DEFAULT_SIZES}, for tests. */
  sizes?: Partial<StoreSizes>;
}

/** A {@link Store} over files. */
export class FileStore implements Store, KeepingStore, LogListener {
  /** The state that was found at open. `restore` hands it over. */
  readonly recovered: Recovered;
  readonly entries: LogEntries;
  onWake: () => void = () => {};
  readonly #arena: Arena;
  readonly #discards: Discards;
  readonly #lanes = new Map<number, Lane>();
  readonly #holdings = new Holdings();
  readonly #files: DataFiles;
  readonly #log: CommitLog;
  readonly #keeper: Keeper;
  readonly #chunks: ChunkPool;
  readonly #paging: Paging;
  readonly #logger: Logger;
  readonly #troubles: Troubles;
  readonly #sizes: StoreSizes;
  readonly #reads: RecordReads;
  #laneBytes = 0;
  /**
   * File of the message that was adopted last. The next message nearly always lies in the same
   * file.
   */
  #adoptedFrom: DataFile | undefined = undefined;

  /** Use {@linkcode FileStore.open} instead. */
  constructor(options: FileStoreOptions, manifest: Manifest, files: DataFiles) {
    this.#logger = options.logger;
    this.#troubles = new Troubles(options.logger);
    this.#arena = new Arena(options.residentBytesMax * HELD_RATIO);
    this.#sizes = { ...DEFAULT_SIZES, ...options.sizes };
    const release = (ref: number, queueId: number) => this.release(ref, queueId);
    this.#discards = new Discards(release, this.#sizes.discardedPerStep);
    this.#files = files;
    this.recovered = recover(files, manifest, options.isSynced ? "rewrite" : "cut");
    upgradeManifest(options.fs, manifest);
    this.#log = new CommitLog({
      files,
      listener: this,
      seed: manifest.seed,
      isSynced: options.isSynced,
      openBatch: this.recovered.lastBatch + 1,
      lastBatch: this.recovered.lastLogBatch,
      sizes: this.#sizes,
    });
    const definitions = new Definitions(this.recovered);
    this.entries = new LogEntries({
      arena: this.#arena,
      holdings: this.#holdings,
      log: this.#log,
      definitions,
    });
    this.#chunks = new ChunkPool(this.#sizes.laneFirstSlots, this.#sizes.laneSlots);
    const parts = {
      options,
      files,
      log: this.#log,
      holdings: this.#holdings,
      arena: this.#arena,
      lanes: this.#lanes,
      discards: this.#discards,
      load: (ref: number, done: (error: Error | null) => void) => {
        const waiter = { readArrived: () => done(null), readFailed: done };
        this.request(ref, waiter);
      },
      wake: () => this.onWake(),
      logger: options.logger,
      troubles: this.#troubles,
      sizes: this.#sizes,
    };
    this.#reads = new RecordReads({ ...parts, seed: manifest.seed });
    this.#paging = new Paging({
      ...parts,
      seed: manifest.seed,
      laneBytes: () => this.#laneBytes,
      release,
      emptied: (file) => this.#keeper.emptied(file),
    });
    this.#keeper = new Keeper({
      ...parts,
      manifest,
      definitions,
      paging: this.#paging,
      ahead: this.#reads.ahead,
    });
  }

  /**
   * Opens a folder and reads its state.
   * @throws StoreFormatError when the folder cannot be used, DiskError when the disk fails
   */
  static open(options: FileStoreOptions): FileStore {
    const files = new DataFiles(options.fs);
    const found = readManifest(options.fs);
    files.scan();
    if (found === null && !files.isEmpty) {
      throw new StoreFormatError("the data folder has data files but no manifest");
    }
    const manifest = found ?? newManifest(options);
    try {
      return new FileStore(options, manifest, files);
    } catch (error) {
      files.close();
      throw error;
    }
  }

  // --- records

  append(message: MessageSource, holderCount: number): number {
    return this.#arena.append(message, holderCount);
  }

  get delayedPages(): DelayedPages {
    return this.#paging;
  }

  /** See {@linkcode KeepingStore}. Files that are not needed any more can go afterwards. */
  restore(sink: RecoverySink): void {
    const adopter = {
      adopt: (message: Placed) => this.#adopt(message),
      adoptPage: (owner: PageOwner, place: PagePlace) => this.#adoptPage(owner, place),
      laneOf: (queueId: number) => this.#lanes.get(queueId),
    };
    handOver(this.recovered, adopter, sink);
    this.#keeper.sweep();
    // Every start begins a log file. Without this, each start of a quiet node would have one more
    // to read.
    const isLong = this.recovered.replayedBytes > this.#sizes.snapshotLogBytes ||
      this.recovered.replayedFiles > LOG_FILES_MAX;
    if (isLong) this.#keeper.wantSnapshot();
  }

  #adopt(message: Placed): number {
    if (message.file !== this.#adoptedFrom?.number) {
      this.#adoptedFrom = this.#files.get(message.file);
    }
    const dataFile = this.#adoptedFrom;
    if (dataFile === undefined) return 0;
    const ref = this.#arena.appendStub(message, 1);
    const { file, offset, recordBytes } = message;
    this.#holdings.place(ref, file, offset, recordBytes);
    const holding = this.#holdings.add(ref, message.queueId, message.position);
    this.#holdings.setState(holding, message.state, message.entry);
    if (message.state === STATE_DELAYED) {
      this.#holdings.setDelay(holding, message.dueMs, message.delayNumber);
    }
    dataFile.liveRecords++;
    dataFile.liveBytes += recordBytes;
    return ref;
  }

  #adoptPage(owner: PageOwner, place: PagePlace): boolean {
    if (this.#files.get(place.file) === undefined) return false;
    this.#paging.adopt(owner, place);
    return true;
  }

  release(ref: number, queueId: number): void {
    const file = this.#holdings.fileOf(ref);
    if (this.#reads.ahead.count > 0) this.#reads.ahead.used(ref);
    if (file !== 0) this.#holdings.remove(ref, queueId);
    if (!this.#arena.release(ref)) return;
    if (file === 0) return this.#keeper.freedUnwritten(ref);
    this.entries.freed(ref);
    this.#keeper.freed(ref, file);
    this.#holdings.forget(ref);
  }

  discard(taken: TakenMessages, queueId: number): number {
    return this.#discards.add(taken, queueId);
  }

  describe(ref: number, view: RecordView): void {
    this.#arena.describe(ref, view);
  }

  open(ref: number, view: RecordView): boolean {
    if (this.#reads.ahead.count > 0) this.#reads.ahead.used(ref);
    return this.#arena.open(ref, view);
  }

  request(ref: number, waiter: ReadWaiter): void {
    this.#reads.request(ref, waiter);
  }

  requestHead(lane: ReadyLane, waiter: ReadWaiter): void {
    this.#reads.requestHead(lane, waiter);
  }

  openLane(laneId: number): ReadyLane {
    const account = (deltaBytes: number) => {
      this.#laneBytes += deltaBytes;
    };
    const lane = new Lane(this.#chunks, account, { queueId: laneId, pages: this.#paging });
    this.#lanes.set(laneId, lane);
    return lane;
  }

  closeLane(laneId: number): void {
    this.#lanes.delete(laneId);
  }

  // --- batches

  get openBatch(): number {
    return this.#log.openBatch;
  }

  get isBatchEmpty(): boolean {
    return this.#log.batch.isEmpty;
  }

  get openBatchBytes(): number {
    return this.#log.batch.out.byteCount;
  }

  wantSync(): void {
    this.#log.wantSync();
  }

  get safeBatch(): number {
    return this.#log.decidedBatch;
  }

  get storedBatch(): number {
    return this.#log.storedBatch;
  }

  get definitionBatch(): number {
    return this.entries.definitionBatch;
  }

  get undefinitionBatch(): number {
    return this.entries.undefinitionBatch;
  }

  isFailed(batch: number): boolean {
    return this.#log.isFailed(batch);
  }

  get isReadOnly(): boolean {
    return this.#log.isBroken;
  }

  get isDiskLow(): boolean {
    return this.#keeper.isDiskLow;
  }

  commit(nowMs: number): void {
    const log = this.#log;
    // No batch before this one waits for the disk. A client that waits for this batch, which is not
    // written, is answered in this turn. So its number is never asked for later, when it may lie
    // between numbers that have failed.
    if (this.entries.isMoot && log.isAllDecided) log.forget();
    log.commit(nowMs);
    this.entries.committed();
  }

  maintain(nowMs: number): boolean {
    this.#reads.step();
    const isDiscarding = this.#discards.step();
    return this.#keeper.step(nowMs) || isDiscarding;
  }

  get memoryBytes(): number {
    return this.#arena.memoryBytes + this.#laneBytes + this.#holdings.memoryBytes +
      this.#paging.pages.delayedPageCount * PAGE_BYTES + this.#log.retainedBytes;
  }

  get usedBytes(): number {
    return this.#paging.usedBytes + this.#paging.pages.delayedPageCount * PAGE_BYTES +
      this.#log.retainedBytes;
  }

  get liveBytes(): number {
    return this.#arena.liveBytes;
  }

  get liveMessageCount(): number {
    return this.#arena.recordCount + this.#paging.pages.messageCount;
  }

  /** Data files of one kind: how many there are, and the bytes in them. */
  usage(kind: DataFileKind): { fileCount: number; byteCount: number } {
    return { fileCount: this.#files.ofKind(kind).length, byteCount: this.#files.byteLength(kind) };
  }

  /** Bytes appended to the commit log since the store was opened. */
  get loggedBytes(): number {
    return this.#log.appendedBytes;
  }

  /** Makes everything safe and closes the folder. */
  close(nowMs: number): Promise<void> {
    // The last batch changes nothing and says the time: broker time must never be below it.
    this.#log.batch.lastQueueId(0);
    return new Promise((resolve, reject) => {
      this.#log.close(nowMs, (error) => {
        if (error === null) this.#keeper.closed();
        this.#closeFiles();
        this.#keeper.endRemovals(() => {
          if (error === null) resolve();
          else reject(error);
        });
      });
    });
  }

  /** Closes without writing. The node has failed and will recover. */
  abandon(): void {
    this.#log.abandon();
    this.#closeFiles();
  }

  #closeFiles(): void {
    this.#keeper.close();
    this.#paging.end();
    this.#files.close();
  }

  // --- what the log says

  wake(): void {
    this.onWake();
  }

  relocated(
    from: { file: number; offset: number; byteCount: number },
    to: { file: number; offset: number },
  ): void {
    this.#keeper.relocated(from, to);
  }

  failed(what: string, error: DiskError): void {
    this.#logger.log("error", `cannot ${what}`, { error: error.message });
  }

  broken(what: string, error: DiskError): void {
    this.#troubles.failed("log", what, error);
  }

  repaired(): void {
    this.#troubles.worked("log");
  }
}

function newManifest(options: FileStoreOptions): Manifest {
  const manifest: Manifest = {
    format: FORMAT_VERSION,
    seed: options.seed >>> 0,
    snapshot: null,
    safeBatch: 0,
    lastBatch: 0,
    fromLog: 0,
  };
  writeManifest(options.fs, manifest);
  return manifest;
}
