// Housekeeping of a file store, a bounded step a turn: snapshots and the manifest, files that nothing
// needs any more, records that keep an otherwise dead file, memory, and the room left on the disk. It
// decides when; how is in the files it calls.

import { assert } from "../../lib/assert.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Arena } from "../arena.ts";
import { DiskError } from "../file_system.ts";
import type { Discards } from "../discards.ts";
import type { Lane } from "../lane.ts";
import type { CommitLog } from "./commit_log.ts";
import type { DataFile, DataFiles } from "./data_files.ts";
import type { Definitions } from "./definitions.ts";
import { EmptiedFiles } from "./emptied_files.ts";
import { Evictor } from "./evictor.ts";
import { MANIFEST_NAME } from "./format.ts";
import type { Holdings } from "./holdings.ts";
import { type Manifest, writeManifest } from "./manifest.ts";
import { Mover } from "./mover.ts";
import type { Paging } from "./paging.ts";
import { Removals } from "./removals.ts";
import type { ReadAhead } from "./read_ahead.ts";
import { Rescue } from "./rescue.ts";
import { Room } from "./room.ts";
import type { StoreSizes } from "./sizes.ts";
import { HoldingsSource } from "./snapshot_source.ts";
import { type SnapshotSource, SnapshotWriter } from "./snapshot_writer.ts";
import { Victims } from "./victims.ts";

// A file of which something could not be moved is left alone for so long.
const MOVE_RETRY_MS = 60_000;

/** What a {@link Keeper} is made of. */
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
  /** Brings a record into memory and calls back in a later turn. */
  load: (ref: number, done: (error: Error | null) => void) => void;
  wake: () => void;
  sizes: StoreSizes;
}

/** Keeps a data folder small and recoverable. */
export class Keeper {
  readonly #parts: KeeperParts;
  readonly #mover: Mover;
  readonly #evictor: Evictor;
  readonly #room: Room;
  readonly #removals: Removals;
  readonly #victims: Victims;
  readonly #source: SnapshotSource;
  readonly #rescue: Rescue;
  /** On a full disk something that frees room by taking some first may be begun, once a look at it. */
  #maySeekRoom = false;
  #manifest: Manifest;
  #snapshot: SnapshotWriter | null = null;
  /** Whether rows of it name places that the log has left. */
  #isSnapshotStale = false;
  /** Batch that must be on disk before the finished snapshot may count. */
  #snapshotUpTo = 0;
  #snapshotAtBytes = 0;
  #snapshotBytes = 0;
  /** Bytes of files that wait for the next snapshot to be removed. */
  #heldBackBytes = 0;
  readonly #emptied: EmptiedFiles;
  /** The file in which a record was freed last. */
  #freedIn: DataFile | undefined = undefined;
  /** Files that somebody has removed, as far as it has been said. */
  readonly #missing = new WeakSet<DataFile>();
  /** The file that is being moved out of. */
  #victim: DataFile | null = null;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    this.#manifest = parts.manifest;
    const { seed } = parts.manifest;
    const emptied = (file: DataFile) => this.emptied(file);
    this.#mover = new Mover({ ...parts, seed, emptied });
    this.#room = new Room({
      ...parts.options,
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
    const { segments, pages } = parts.paging;
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
    this.#evictor = new Evictor({ ...parts, segments, seed, emptied });
  }

  /** Whether the disk has less room than it must have. */
  get isDiskLow(): boolean {
    return this.#room.isLow;
  }

  /** Has a snapshot taken soon whatever the log's size: after a long recovery. */
  wantSnapshot(): void {
    this.#snapshotAtBytes = -Infinity;
  }

  /** Files that recovery found empty, or left over from a crash, can go. */
  sweep(): void {
    this.#collectEmpty();
    // A start that had nothing to say has left nothing to read.
    for (const file of this.#parts.files.ofKind("log")) {
      if (file.byteLength === 0 && !file.isPinned) this.#removals.add(file);
    }
    this.#removeOldSnapshots();
    this.#room.keepReserve();
  }

  /** Nothing alive is in the file any more. */
  emptied(file: DataFile): void {
    this.#emptied.add(file);
  }

  /** A record that was in no file is no more. */
  freedUnwritten(ref: number): void {
    this.#evictor.freed(ref);
  }

  /** A record has left the disk's account. */
  freed(ref: number, fileNumber: number): void {
    const { files, holdings } = this.#parts;
    // Neighbours lie in the same file, nearly always.
    if (fileNumber !== this.#freedIn?.number) this.#freedIn = files.get(fileNumber);
    const file = this.#freedIn;
    if (file === undefined) return;
    file.liveRecords--;
    file.liveBytes -= holdings.recordBytesOf(ref);
    assert(file.liveRecords >= 0 && file.liveBytes >= 0, `${file.name} loses more than is in it`);
    if (file.liveRecords === 0) this.emptied(file);
  }

  /** Records have got another place because the log started afresh. */
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
    const { log, arena, discards } = this.#parts;
    this.#removals.step(nowMs);
    if (this.#room.check(nowMs, log.appendedBytes)) {
      this.#maySeekRoom = this.isDiskLow;
      this.#lookForFiles();
    }
    this.#emptied.step();
    // A broken log has not written all that memory holds, so nothing of it is given up.
    if (log.isBroken) {
      this.#seekRescue(nowMs);
      return this.#parts.paging.step(nowMs, false) || arena.compact();
    }
    this.#rescue.end();
    // A piece of a snapshot tells how things stand before the open batch, so it comes before anything
    // that puts entries into it. It would bring back what is only still to be let go of.
    const isWriting = !discards.isBusy && this.#stepSnapshot(nowMs) || this.#stepMove(nowMs);
    const isFreeing = this.#freeMemory(nowMs);
    return arena.compact() || isWriting || isFreeing;
  }

  // Somebody may have removed the folder, or files in it. What is open goes on as if they were there.
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
    // What is read to be written elsewhere must stay until it is; it would be read again and again.
    if (paging.isLoading || this.#mover.isLoading) return isPaging;
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
    // On a full disk the file being written may be all there is to free.
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
    // A snapshot that frees more than it takes is welcome on a full disk, too.
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

  // What of the log that is still to be read is kept for its entries alone.
  #deadLogBytes(): number {
    let deadBytes = 0;
    for (const { number, byteLength, liveBytes } of this.#parts.files.ofKind("log")) {
      if (number >= this.#manifest.fromLog) deadBytes += byteLength - liveBytes;
    }
    return deadBytes;
  }

  // Whether the manifest names it.
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
    snapshot.file.isPinned = false;
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

  /** Calls back when no file is being removed any more; what is still to go is found at the next start. */
  endRemovals(done: () => void): void {
    this.#removals.end(done);
  }

  /** The log is closed and safe as a whole. */
  closed(): void {
    const manifest = { ...this.#manifest, safeBatch: this.#parts.log.lastBatch };
    try {
      writeManifest(this.#parts.files.fs, manifest);
    } catch (error) {
      this.#report("say in the manifest that all is safe", error);
    }
  }

  /** Ends it; nothing that is under way counts any more. */
  close(): void {
    this.#snapshot?.abandon();
    this.#rescue.close();
    this.#mover.close();
  }

  // --- files

  #collectEmpty(): void {
    const { files } = this.#parts;
    for (const file of [...files.ofKind("log"), ...files.ofKind("segment")]) {
      if (file.liveRecords === 0) this.#emptied.addFound(file);
    }
  }

  // Reading the log again needs the log itself, and the index of every page that it takes apart.
  #isInLogToReplay(file: DataFile): boolean {
    if (file.kind === "log") return file.number >= this.#manifest.fromLog;
    if (file.unpagedBatch <= this.#manifest.lastBatch) return false;
    this.#heldBackBytes += file.byteLength;
    return true;
  }

  #stepMove(nowMs: number): boolean {
    if (this.#snapshot !== null) return false;
    const pageMover = this.#parts.paging.mover;
    if (this.#victim !== null) {
      const isPages = pageMover.isBusy;
      const hasMore = isPages ? pageMover.step() : this.#mover.step(nowMs);
      if (pageMover.isBusy || this.#mover.isBusy) return hasMore;
      this.#moveEnded(this.#victim, { isPages, nowMs });
      this.#victim = null;
    }
    if (this.isDiskLow && !this.#maySeekRoom) return false;
    this.#maySeekRoom = false;
    this.#victim = this.#victims.next(nowMs, this.#manifest.fromLog);
    if (this.#victim === null) return false;
    // What its pages leave behind are single records.
    const hasPages = pageMover.begin(this.#victim);
    if (!hasPages) this.#mover.begin(this.#victim);
    return true;
  }

  // What a move leaves behind could not be read, or its copy not written.
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
