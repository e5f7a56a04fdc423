// Housekeeping of a file store, a bounded step a turn: snapshots and the manifest, files that are
// not needed any more, records in nearly dead files, memory, and the free space of the disk. It
// decides when each of these happens; the files that it calls do the work.

import { assert } from "../../lib/assert.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Arena } from "../memory/arena.ts";
import { DiskError } from "../file_system.ts";
import type { Discards } from "../memory/discards.ts";
import type { Lane } from "../memory/lane.ts";
import type { CommitLog } from "../log/commit_log.ts";
import type { DataFile, DataFiles } from "../folder/data_files.ts";
import type { Definitions } from "../live/definitions.ts";
import { EmptiedFiles } from "./emptied_files.ts";
import { Evictor } from "../residency/evictor.ts";
import { MANIFEST_NAME } from "../format/format.ts";
import type { Holdings } from "../live/holdings.ts";
import { type Manifest, writeManifest } from "../folder/manifest.ts";
import type { PageCopy } from "../pages/page_copies.ts";
import { FileMover } from "./file_mover.ts";
import { RecordCopies, type RecordCopy } from "./record_copies.ts";
import type { Paging } from "../pages/paging.ts";
import { Removals } from "./removals.ts";
import type { ReadAhead } from "../residency/read_ahead.ts";
import { Rescue } from "./rescue.ts";
import { Room } from "./room.ts";
import type { StoreSizes } from "../folder/sizes.ts";
import { HoldingsSource } from "./snapshot_source.ts";
import type { Troubles } from "../folder/troubles.ts";
import { type SnapshotSource, SnapshotWriter } from "./snapshot_writer.ts";
import { Victims } from "./victims.ts";

// How long a file is left alone after a part of it could not be moved.
const MOVE_RETRY_MS = 60_000;

/** The parts of a {@link Keeper}. */
export interface KeeperParts {
  options: { logger: Logger; freeBytesMin: number; residentBytesMax: number };
  manifest: Manifest;
  files: DataFiles;
  log: CommitLog;
  holdings: Holdings;
  arena: Arena;
  definitions: Definitions;
  lanes: ReadonlyMap<number, Lane>;
  discards: Discards;
  paging: Paging;
  ahead: ReadAhead;
  /** Reads a record into memory and calls back in a later turn. */
  load: (ref: number, done: (error: Error | null) => void) => void;
  wake: () => void;
  sizes: StoreSizes;
  troubles: Troubles;
}

/** Keeps a data folder small and recoverable. */
export class Keeper {
  readonly #parts: KeeperParts;
  readonly #pageMover: FileMover<PageCopy>;
  readonly #recordMover: FileMover<RecordCopy>;
  readonly #evictor: Evictor;
  readonly #room: Room;
  readonly #removals: Removals;
  readonly #victims: Victims;
  readonly #source: SnapshotSource;
  readonly #rescue: Rescue;
  /**
   * Whether work that takes room in order to free more may begin on a full disk: once after each
   * look at the disk.
   */
  #maySeekRoom = false;
  #manifest: Manifest;
  #snapshot: SnapshotWriter | null = null;
  /** Whether rows of the snapshot name places that the log has left. */
  #isSnapshotStale = false;
  /** The batch that must be on disk before the finished snapshot counts. */
  #snapshotUpTo = 0;
  #snapshotAtBytes = 0;
  #snapshotBytes = 0;
  /** Bytes of files that can be removed only after the next snapshot. */
  #heldBackBytes = 0;
  readonly #emptied: EmptiedFiles;
  /** The file of the record that was freed last. */
  #freedIn: DataFile | undefined = undefined;
  /** Missing files that the log has already named. */
  readonly #missing = new WeakSet<DataFile>();
  /** The file that is being emptied. */
  #victim: DataFile | null = null;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    this.#manifest = parts.manifest;
    const { seed } = parts.manifest;
    this.#room = new Room({
      ...parts.options,
      troubles: parts.troubles,
      fs: parts.files.fs,
      checkBytes: parts.sizes.roomCheckBytes,
      reserveBytes: parts.sizes.reserveBytes,
    });
    this.#removals = new Removals(parts.files, (what, error) => this.#report(what, error));
    this.#emptied = new EmptiedFiles({
      log: parts.log,
      isNeeded: (file) => this.#isInLogToReplay(file),
      remove: (file) => this.#removals.add(file),
    });
    this.#victims = new Victims({ ...parts, room: this.#room });
    const { segments, pages, copies } = parts.paging;
    const moving = { segments, options: parts.options };
    this.#pageMover = new FileMover(copies, moving);
    this.#recordMover = new FileMover(new RecordCopies({ ...parts, seed }), moving);
    this.#source = new HoldingsSource({ ...parts, pages });
    this.#rescue = new Rescue({
      ...parts,
      pages,
      reserve: this.#room.reserve,
      source: this.#source,
      seed,
      finish: (snapshot) => this.#finishSnapshot(snapshot),
      drop: (snapshot) => this.#dropSnapshot(snapshot),
    });
    this.#evictor = new Evictor({ ...parts, segments, seed });
  }

  /** Whether the disk has less free space than it must have. */
  get isDiskLow(): boolean {
    return this.#room.isLow;
  }

  /** Asks for a snapshot soon, whatever the log's size: after a long recovery. */
  wantSnapshot(): void {
    this.#snapshotAtBytes = -Infinity;
  }

  /** Removes files that recovery found empty, or that a crash left over. */
  sweep(): void {
    this.#collectEmpty();
    // A start that wrote nothing leaves an empty log file behind.
    for (const file of this.#parts.files.ofKind("log")) {
      if (file.byteLength === 0 && !file.isPinned) this.#removals.add(file);
    }
    this.#removeOldSnapshots();
    this.#room.keepReserve();
  }

  /** Is told that nothing in the file is alive any more. */
  emptied(file: DataFile): void {
    this.#emptied.add(file);
  }

  /** Is told that a record that was in no file has been freed. */
  freedUnwritten(ref: number): void {
    this.#evictor.freed(ref);
  }

  /** Is told that a record in a file has been freed. */
  freed(ref: number, fileNumber: number): void {
    const { files, holdings } = this.#parts;
    // Records that are freed one after the other nearly always lie in the same file.
    if (fileNumber !== this.#freedIn?.number) this.#freedIn = files.get(fileNumber);
    const file = this.#freedIn;
    if (file === undefined) return;
    file.liveRecords--;
    file.liveBytes -= holdings.recordBytesOf(ref);
    assert(file.liveRecords >= 0 && file.liveBytes >= 0, `${file.name} loses more than is in it`);
    if (file.liveRecords === 0) this.emptied(file);
  }

  /** Is told that records have another place, because the log went on in a fresh file. */
  relocated(
    from: { file: number; offset: number; byteCount: number },
    to: { file: number; offset: number },
  ): void {
    const { files, holdings } = this.#parts;
    this.#isSnapshotStale = true;
    const moved = holdings.relocate(from, to);
    const before = files.get(from.file);
    const after = files.get(to.file);
    if (before === undefined || after === undefined) return;
    before.liveRecords -= moved.records;
    before.liveBytes -= moved.bytes;
    after.liveRecords += moved.records;
    after.liveBytes += moved.bytes;
  }

  /** Does one step; true when more can be done at once. */
  step(nowMs: number): boolean {
    const { log, arena, discards, troubles } = this.#parts;
    troubles.step(nowMs);
    this.#removals.step(nowMs);
    if (this.#room.check(nowMs, log.appendedBytes)) {
      this.#maySeekRoom = this.isDiskLow;
      this.#lookForFiles();
    }
    this.#emptied.step();
    // A broken log has not written everything that is in memory, so no record is given up.
    if (log.isBroken) {
      this.#seekRescue(nowMs);
      return this.#parts.paging.step(nowMs, false) || arena.compact();
    }
    this.#rescue.end();
    // A piece of a snapshot shows the state before the open batch, so it comes before any step that
    // enters something into that batch. While purged records are still to be released, a snapshot
    // would bring them back.
    const isWriting = !discards.isBusy && this.#stepSnapshot(nowMs) || this.#stepMove(nowMs);
    const isFreeing = this.#freeMemory(nowMs);
    return arena.compact() || isWriting || isFreeing;
  }

  // Looks whether the folder, or a file in it, has been removed. Open handles go on as if it were
  // there.
  #lookForFiles(): void {
    const { files, log } = this.#parts;
    if (log.isLost) return;
    try {
      let isLost = false;
      const hasNoManifest = files.look((file) => {
        isLost ||= file === log.file;
        if (this.#missing.has(file)) return;
        this.#missing.add(file);
        this.#report(`find ${file.name}`, new DiskError("ENOENT", file.name));
      });
      if (isLost) log.lose(new DiskError("ENOENT", log.file.name));
      else if (hasNoManifest) log.lose(new DiskError("ENOENT", MANIFEST_NAME));
    } catch (error) {
      this.#report("look for the data files", error);
    }
  }

  #seekRescue(nowMs: number): void {
    if (this.#parts.log.isLost) return;
    try {
      this.#rescue.step(nowMs);
    } catch (error) {
      this.#report("start a snapshot", error);
    }
  }

  #freeMemory(nowMs: number): boolean {
    const { paging, sizes } = this.#parts;
    const isPaging = paging.step(nowMs, !this.isDiskLow);
    // Records that are read to be written elsewhere must stay in memory until they are written.
    // Otherwise they would be read again and again.
    if (paging.isLoading || this.#recordMover.isReading) return isPaging;
    const bytesMin = paging.isBusy ? sizes.evictUnpagedBytesMin : sizes.evictRecordBytesMin;
    return this.#evictor.step(nowMs, bytesMin, !this.isDiskLow) || isPaging;
  }

  // --- snapshots

  #stepSnapshot(nowMs: number): boolean {
    const { log } = this.#parts;
    const snapshot = this.#snapshot;
    if (snapshot === null) return this.#startSnapshot(nowMs);
    if (this.#isSnapshotStale) {
      this.#dropSnapshot(snapshot);
      this.wantSnapshot();
    } else if (snapshot.isRunning) {
      snapshot.step(log.openBatch, nowMs, this.#parts.wake);
      this.#snapshotUpTo = log.openBatch - 1;
      log.wantSync();
    } else if (snapshot.error !== null) {
      this.#report("write a snapshot", snapshot.error);
      this.#dropSnapshot(snapshot);
    } else if (snapshot.isDone && log.storedBatch >= this.#snapshotUpTo) {
      this.#finishSnapshot(snapshot);
    }
    return this.#snapshot?.isRunning ?? false;
  }

  #startSnapshot(nowMs: number): boolean {
    const { files, log, sizes } = this.#parts;
    if (!this.#isSnapshotDue()) return false;
    // On a full disk, the current log file may be all that can be freed.
    if (this.isDiskLow) log.rotate(nowMs);
    this.#maySeekRoom = false;
    this.#snapshotAtBytes = log.appendedBytes;
    this.#isSnapshotStale = false;
    this.#heldBackBytes = 0;
    const { seed } = this.#manifest;
    try {
      this.#snapshot = new SnapshotWriter(files, this.#source, {
        seed,
        lastBatch: log.lastBatch,
        fromLog: log.file.number,
        sizes,
      });
    } catch (error) {
      this.#report("start a snapshot", error);
    }
    return this.#snapshot !== null;
  }

  #isSnapshotDue(): boolean {
    const { log, sizes } = this.#parts;
    // On a full disk, a snapshot that frees more than it takes is worth taking.
    const freeBytesMin = this.isDiskLow ? sizes.snapshotPieceBytes : sizes.heldBackBytesMax;
    if (this.#heldBackBytes > 2 * this.#snapshotBytes + freeBytesMin) return true;
    if (this.isDiskLow) {
      const neededBytes = 2 * this.#snapshotBytes + freeBytesMin;
      const isThere = this.#maySeekRoom && this.#room.freeBytes > neededBytes;
      return isThere && this.#deadLogBytes() > neededBytes;
    }
    const dueBytes = this.#snapshotAtBytes + Math.max(sizes.snapshotLogBytes, this.#snapshotBytes);
    return log.appendedBytes >= dueBytes;
  }

  // Bytes of log files that a start still reads, and that are kept for their entries alone.
  #deadLogBytes(): number {
    let deadBytes = 0;
    for (const { number, byteLength, liveBytes } of this.#parts.files.ofKind("log")) {
      if (number >= this.#manifest.fromLog) deadBytes += byteLength - liveBytes;
    }
    return deadBytes;
  }

  // Returns whether the manifest names the snapshot.
  #finishSnapshot(snapshot: SnapshotWriter): boolean {
    const { files } = this.#parts;
    const manifest: Manifest = {
      ...this.#manifest,
      snapshot: snapshot.file.number,
      lastBatch: snapshot.lastBatch,
      fromLog: snapshot.fromLog,
    };
    const { lastBatch, fromLog } = this.#manifest;
    const isLater = manifest.lastBatch >= lastBatch && manifest.fromLog >= fromLog;
    assert(isLater, `${snapshot.file.name} is older than the snapshot before it`);
    if (this.#snapshot === snapshot) this.#snapshot = null;
    else if (this.#snapshot !== null) this.#dropSnapshot(this.#snapshot);
    try {
      writeManifest(files.fs, manifest);
    } catch (error) {
      this.#report("replace the manifest", error);
      return false;
    }
    this.#manifest = manifest;
    this.#snapshotBytes = snapshot.file.byteLength;
    this.#removeOldSnapshots();
    this.#collectEmpty();
    return true;
  }

  #removeOldSnapshots(): void {
    for (const file of this.#parts.files.ofKind("snapshot")) {
      if (file.number !== this.#manifest.snapshot) this.#removals.add(file);
    }
  }

  #dropSnapshot(snapshot: SnapshotWriter): void {
    const { file } = snapshot;
    assert(file.number !== this.#manifest.snapshot, `${file.name} goes, which the manifest names`);
    if (this.#snapshot === snapshot) this.#snapshot = null;
    snapshot.abandon();
    this.#removals.add(snapshot.file);
  }

  /**
   * Calls back when no removal of a file is under way any more. The next start finds the files that
   * are left.
   */
  endRemovals(done: () => void): void {
    this.#removals.end(done);
  }

  /** Writes the manifest after the log has been closed and is safe as a whole. */
  closed(): void {
    const manifest = { ...this.#manifest, safeBatch: this.#parts.log.lastBatch };
    try {
      writeManifest(this.#parts.files.fs, manifest);
    } catch (error) {
      this.#report("say in the manifest that all is safe", error);
    }
  }

  /** Ends housekeeping. Work that is under way does not count any more. */
  close(): void {
    this.#snapshot?.abandon();
    this.#rescue.close();
  }

  // --- files

  #collectEmpty(): void {
    const { files } = this.#parts;
    for (const file of [...files.ofKind("log"), ...files.ofKind("segment")]) {
      if (file.liveRecords === 0) this.#emptied.addFound(file);
    }
  }

  // A replay needs the log itself, and the index of every page that the log takes apart.
  #isInLogToReplay(file: DataFile): boolean {
    if (file.kind === "log") return file.number >= this.#manifest.fromLog;
    if (file.unpagedBatch <= this.#manifest.lastBatch) return false;
    this.#heldBackBytes += file.byteLength;
    return true;
  }

  #stepMove(nowMs: number): boolean {
    if (this.#snapshot !== null) return false;
    if (this.#victim !== null) {
      const isPages = this.#pageMover.isBusy;
      const mover = isPages ? this.#pageMover : this.#recordMover;
      const hasMore = mover.step(nowMs);
      if (mover.isBusy) return hasMore;
      this.#moveEnded(this.#victim, { isPages, nowMs });
      this.#victim = null;
    }
    if (this.isDiskLow && !this.#maySeekRoom) return false;
    this.#maySeekRoom = false;
    this.#victim = this.#victims.next(nowMs, this.#manifest.fromLog);
    if (this.#victim === null) return false;
    // When the pages have moved, the single records of the file remain.
    const hasPages = this.#pageMover.begin(this.#victim);
    if (!hasPages) this.#recordMover.begin(this.#victim);
    return true;
  }

  // A file that still has live records or pages could not be read, or its copies could not be
  // written.
  #moveEnded(victim: DataFile, { isPages, nowMs }: { isPages: boolean; nowMs: number }): void {
    const { pages } = this.#parts.paging;
    if (victim.liveRecords === 0) this.emptied(victim);
    else if (!isPages || pages.inFile(victim.number).length > 0) {
      victim.movableAtMs = nowMs + MOVE_RETRY_MS;
    }
  }

  #report(what: string, error: unknown): void {
    if (!(error instanceof DiskError)) throw error;
    this.#parts.options.logger.log("error", `cannot ${what}`, { error: error.message });
  }
}
