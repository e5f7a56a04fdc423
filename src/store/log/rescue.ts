// Gets a log going again that no file takes, because the disk is full of what is not needed any more: when
// consumers have drained what was there, the state is small enough for a snapshot that needs nothing of
// the log. It is written in one turn, as nothing that follows could be logged; once it counts, the log
// goes on behind it and old files can go. The snapshot and the manifest that names it take the room of the
// reserve. Keeper calls it while the log is broken.

import type { Discards } from "../discards.ts";
import { DiskError } from "../file_system.ts";
import type { CommitLog } from "./commit_log.ts";
import type { DataFiles } from "./data_files.ts";
import { type Holdings, NO_HOLDING } from "./holdings.ts";
import { readManifest, StoreFormatError } from "./manifest.ts";
import type { PageSet } from "./page_set.ts";
import type { Reserve } from "./reserve.ts";
import type { StoreSizes } from "./sizes.ts";
import { type SnapshotSource, SnapshotWriter } from "./snapshot_writer.ts";

const INTERVAL_MS = 1000;
// What is more has to be read from the log, when a file takes it again.
const ROWS_MAX = 4096;

/** What a {@link Rescue} is made of. */
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
  /** Has the manifest name the snapshot; whether it does. */
  finish: (snapshot: SnapshotWriter) => boolean;
  /** The snapshot is of no use. */
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

  /** Does what can be done now. @throws DiskError when no snapshot file can be made */
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

  /** What the open batch says already would be in the snapshot without the rest of that batch. */
  mayBegin(): boolean {
    return this.#parts.log.batch.isEmpty;
  }

  /**
   * A manifest that could not be replaced for sure may have been replaced all the same. The next one that
   * is written has the file removed.
   */
  mayBeNamed(snapshot: SnapshotWriter): boolean {
    try {
      return readManifest(this.#parts.files.fs)?.snapshot === snapshot.file.number;
    } catch (error) {
      if (error instanceof DiskError || error instanceof StoreFormatError) return true;
      throw error;
    }
  }

  /** The log goes on by itself: a snapshot in the making does not count. */
  end(): void {
    const snapshot = this.#snapshot;
    this.#set(null);
    if (snapshot !== null) this.#parts.drop(snapshot);
  }

  /** The store ends. */
  close(): void {
    this.#snapshot?.abandon();
    this.#set(null);
  }

  // A log file that took some of the room meanwhile would leave none for the manifest.
  #set(snapshot: SnapshotWriter | null): void {
    this.#snapshot = snapshot;
    this.#parts.log.isRepairHeld = snapshot !== null;
    this.#parts.reserve.isInUse = snapshot !== null;
  }

  #isSmall(): boolean {
    const { holdings, pages, discards } = this.#parts;
    return holdings.count <= ROWS_MAX && pages.count <= ROWS_MAX && !discards.isBusy;
  }

  // Whether no message has its bytes in a batch that is kept in memory because no disk has it for sure.
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
      // The next one, whichever number it gets.
      fromLog: log.file.number + 1,
      sizes,
    });
    this.#set(snapshot);
    while (snapshot.isRunning) snapshot.step(log.openBatch, nowMs, wake);
  }
}
