// Helps a log that no file takes because the disk is full of files that are not needed any more.
// When consumers have drained the queues, the state fits into a small snapshot that needs nothing
// of the log. The snapshot is written in one turn, because later changes could not be logged. Once
// it counts, the log goes on behind it and old files can go. The snapshot and its manifest use the
// room of the reserve. Keeper calls it while the log is broken.

import type { Discards } from "../memory/discards.ts";
import { DiskError } from "../file_system.ts";
import type { CommitLog } from "../log/commit_log.ts";
import type { DataFiles } from "../folder/data_files.ts";
import { type Holdings, NO_HOLDING } from "../live/holdings.ts";
import { readManifest, StoreFormatError } from "../folder/manifest.ts";
import type { PageSet } from "../pages/page_set.ts";
import type { Reserve } from "./reserve.ts";
import type { StoreSizes } from "../folder/sizes.ts";
import { type SnapshotSource, SnapshotWriter } from "./snapshot_writer.ts";

const INTERVAL_MS = 1000;
// A larger state has to wait until a file takes the log again.
const ROWS_MAX = 4096;

/** The parts of a {@link Rescue}. */
export interface RescueParts {
  files: DataFiles;
  log: CommitLog;
  holdings: Holdings;
  pages: PageSet;
  discards: Discards;
  sizes: StoreSizes;
  source: SnapshotSource;
  reserve: Reserve;
  seed: number;
  wake: () => void;
  /** Makes the manifest name the snapshot, and returns whether it does. */
  finish: (snapshot: SnapshotWriter) => boolean;
  /** Gives the snapshot up. */
  drop: (snapshot: SnapshotWriter) => void;
}

/** Writes snapshots in place of a log. */
export class Rescue {
  readonly #parts: RescueParts;
  #snapshot: SnapshotWriter | null = null;
  #tryAtMs = -Infinity;

  constructor(parts: RescueParts) {
    this.#parts = parts;
  }

  /** Does the next step that is possible. @throws DiskError when no snapshot file can be made */
  step(nowMs: number): void {
    const snapshot = this.#snapshot;
    if (snapshot === null) {
      if (nowMs < this.#tryAtMs || !this.mayBegin()) return;
      this.#tryAtMs = nowMs + INTERVAL_MS;
      if (this.#isSmall() && this.#isOnDisk()) this.#write(nowMs);
    } else if (snapshot.error !== null) {
      this.end();
    } else if (snapshot.isDone) {
      this.#set(null);
      if (this.#parts.finish(snapshot)) this.#parts.log.goOnBehind(snapshot.lastBatch, nowMs);
      else if (!this.mayBeNamed(snapshot)) this.#parts.drop(snapshot);
    }
  }

  /**
   * Whether the open batch is empty. Otherwise the snapshot would have a part of that batch without
   * the rest.
   */
  mayBegin(): boolean {
    return this.#parts.log.batch.isEmpty;
  }

  /**
   * Whether the manifest may name the snapshot after an attempt to replace it has failed. Then the
   * file stays until the next manifest is written.
   */
  mayBeNamed(snapshot: SnapshotWriter): boolean {
    try {
      return readManifest(this.#parts.files.fs)?.snapshot === snapshot.file.number;
    } catch (error) {
      if (error instanceof DiskError || error instanceof StoreFormatError) return true;
      throw error;
    }
  }

  /** Ends the rescue, because the log goes on by itself. An unfinished snapshot does not count. */
  end(): void {
    const snapshot = this.#snapshot;
    this.#set(null);
    if (snapshot !== null) this.#parts.drop(snapshot);
  }

  /** Ends with the store. */
  close(): void {
    this.#snapshot?.abandon();
    this.#set(null);
  }

  // While there is a snapshot, no log file is tried: it would take the room that the manifest
  // needs.
  #set(snapshot: SnapshotWriter | null): void {
    this.#snapshot = snapshot;
    this.#parts.log.isRepairHeld = snapshot !== null;
    this.#parts.reserve.isInUse = snapshot !== null;
  }

  #isSmall(): boolean {
    const { holdings, pages, discards } = this.#parts;
    return holdings.count <= ROWS_MAX && pages.count <= ROWS_MAX && !discards.isBusy;
  }

  // Whether the disk has the bytes of every message. None may be only in a batch that is kept in
  // memory until it is safe.
  #isOnDisk(): boolean {
    const { holdings, log } = this.#parts;
    const unsafe = log.unsafeRanges();
    for (let ref = 1; ref < holdings.refEnd; ref++) {
      if (holdings.first(ref) === NO_HOLDING) continue;
      if (holdings.offsetOf(ref) >= (unsafe.get(holdings.fileOf(ref)) ?? Infinity)) return false;
    }
    return true;
  }

  #write(nowMs: number): void {
    const { files, log, source, reserve, seed, sizes, wake } = this.#parts;
    reserve.release();
    const snapshot = new SnapshotWriter(files, source, {
      seed,
      lastBatch: log.lastBatch,
      // The next log file, whatever its number.
      fromLog: log.file.number + 1,
      sizes,
    });
    this.#set(snapshot);
    while (snapshot.isRunning) snapshot.step(log.openBatch, nowMs, wake);
  }
}
