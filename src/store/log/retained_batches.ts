// The batches of the commit log that are not safe yet, in their order, with their bytes: until they are,
// the log may have to write them again to a fresh file. CommitLog owns it; nothing here touches a file.

import { assert } from "../../lib/assert.ts";
import type { BufferPool } from "./buffer_pool.ts";
import type { DataFile } from "./data_files.ts";

/** A batch that is kept. */
export interface Retained {
  readonly number: number;
  /** The batch that was written before it. */
  readonly previous: number;
  /** When it was appended, broker time. */
  readonly timeMs: number;
  buffer: Uint8Array;
  readonly byteCount: number;
  file: DataFile;
  offset: number;
  isWritten: boolean;
  /** Its publishers have been refused; it is kept because queues in memory build on it. */
  isFailed: boolean;
}

/** A stretch of a data file. */
export interface LogRange {
  file: number;
  offset: number;
  byteCount: number;
}

/** A place in a data file. */
export interface LogPlace {
  file: number;
  offset: number;
}

/** Told that what lay in a range begins at another place now. */
export type OnRelocated = (from: LogRange, to: LogPlace) => void;

/** Batches that wait to be safe. */
export class RetainedBatches {
  /** Bytes of all of them. */
  byteCount = 0;
  readonly #buffers: BufferPool;
  #batches: Retained[] = [];
  /** So many of the first ones have failed, as far as that has been asked. */
  #failedCount = 0;

  /** Buffers go back to `buffers` when their batches are safe. */
  constructor(buffers: BufferPool) {
    this.#buffers = buffers;
  }

  /** All of them; none may be added or dropped meanwhile. */
  get all(): readonly Retained[] {
    return this.#batches;
  }

  get first(): Retained | undefined {
    return this.#batches[0];
  }

  /**
   * The first one, if a sync can make it safe. What stands behind one that the disk has refused is not
   * given up before that: a fresh file begins with all that is retained, and reading the log back relies
   * on nothing missing in between.
   */
  get firstToSync(): Retained | undefined {
    const first = this.#batches[0];
    return first?.isWritten === true ? first : undefined;
  }

  /** The first one that has not failed. */
  get firstUndecided(): Retained | undefined {
    // While no log file takes writes there may be many, and it is asked in every turn.
    while (this.#batches[this.#failedCount]?.isFailed === true) this.#failedCount++;
    return this.#batches[this.#failedCount];
  }

  /** Adds the last batch. */
  add(batch: Retained): void {
    const last = this.#batches.at(-1);
    assert(last === undefined || batch.number > last.number, "numbers of batches do not rise");
    batch.buffer = this.#buffers.keep(batch.buffer, batch.byteCount);
    this.#batches.push(batch);
    this.byteCount += batch.byteCount;
  }

  /** What was written to `file`, up to a batch, is safe. */
  dropSafe(file: DataFile, lastNumber: number): void {
    this.#drop((one) => one.isWritten && one.file === file && one.number <= lastNumber);
  }

  /** What they say up to a batch is on the disk in another way. */
  dropUpTo(lastNumber: number): void {
    this.#drop(({ number }) => number <= lastNumber);
  }

  #drop(isOver: (batch: Retained) => boolean): void {
    const kept: Retained[] = [];
    for (const batch of this.#batches) {
      if (!isOver(batch)) {
        kept.push(batch);
        continue;
      }
      this.byteCount -= batch.byteCount;
      this.#buffers.give(batch.buffer);
    }
    this.#batches = kept;
    this.#failedCount = 0;
  }

  /** Whether one of them was written to `file`, or would have been. */
  isIn(file: DataFile): boolean {
    return this.#batches.some((batch) => batch.file === file);
  }

  /** All of them are written to the end of `file`, one behind the other. */
  moveTo(file: DataFile, relocated: OnRelocated): void {
    let from = { file: 0, offset: 0, byteCount: 0 };
    let toOffset = 0;
    const tell = (): void => {
      if (from.byteCount > 0) relocated(from, { file: file.number, offset: toOffset });
    };
    for (const batch of this.#batches) {
      // Whoever is told goes through all records, so batches that lay side by side are one range.
      const isNext = batch.file.number === from.file &&
        batch.offset === from.offset + from.byteCount;
      if (!isNext) {
        tell();
        from = { file: batch.file.number, offset: batch.offset, byteCount: 0 };
        toOffset = file.byteLength;
      }
      from.byteCount += batch.byteCount;
      batch.file = file;
      batch.offset = file.byteLength;
      batch.isWritten = true;
      file.byteLength += batch.byteCount;
    }
    tell();
  }
}
