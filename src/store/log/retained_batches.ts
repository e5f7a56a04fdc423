// The batches of the commit log that are not safe yet, in their order, with their bytes. Until they
// are safe, the log may have to write them again to a fresh file. CommitLog owns them. Nothing here
// touches a file.

import { assert } from "../../lib/assert.ts";
import type { BufferPool } from "./buffer_pool.ts";
import type { DataFile } from "../folder/data_files.ts";

/** A batch that is kept. */
export interface Retained {
  readonly number: number;
  /** The batch that was written before it. */
  readonly previous: number;
  /** Broker time at which it was appended, ms. */
  readonly timeMs: number;
  buffer: Uint8Array;
  readonly byteCount: number;
  file: DataFile;
  offset: number;
  isWritten: boolean;
  /**
   * Whether its publishers have been refused. The batch is kept because queues in memory build on
   * it.
   */
  isFailed: boolean;
}

/** A range of a data file. */
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

/** Is told that a range of a file begins at another place now. */
export type OnRelocated = (from: LogRange, to: LogPlace) => void;

/** Batches that wait to be safe. */
export class RetainedBatches {
  /** Bytes of all of them. */
  byteCount = 0;
  readonly #buffers: BufferPool;
  #batches: Retained[] = [];
  /** How many of the first batches have failed, as far as `firstUndecided` has looked. */
  #failedCount = 0;

  /** Buffers return to `buffers` when their batches are safe. */
  constructor(buffers: BufferPool) {
    this.#buffers = buffers;
  }

  /** All batches. None may be added or dropped while they are used. */
  get all(): readonly Retained[] {
    return this.#batches;
  }

  get first(): Retained | undefined {
    return this.#batches[0];
  }

  /**
   * The first batch, if a sync can make it safe. When the disk has refused a batch, the batches
   * behind it are kept until that one is safe. A fresh file begins with all retained batches, and a
   * replay relies on there being no gap.
   */
  get firstToSync(): Retained | undefined {
    const first = this.#batches[0];
    return first?.isWritten === true ? first : undefined;
  }

  /** The first batch that has not failed. */
  get firstUndecided(): Retained | undefined {
    // There may be many while no log file takes writes, and this is asked every turn.
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

  /** Drops the batches up to a number that were written to `file`, which are safe. */
  dropSafe(file: DataFile, lastNumber: number): void {
    this.#drop((one) => one.isWritten && one.file === file && one.number <= lastNumber);
  }

  /** Drops the batches up to a number, whose content is on the disk in another form. */
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

  /** Whether a batch was written to `file`, or would have been. */
  isIn(file: DataFile): boolean {
    return this.#batches.some((batch) => batch.file === file);
  }

  /** Is told that all batches are at the end of `file`, one behind the other. */
  moveTo(file: DataFile, relocated: OnRelocated): void {
    let from: LogRange | null = null;
    let toOffset = 0;
    const tell = (): void => {
      if (from !== null) relocated(from, { file: file.number, offset: toOffset });
    };
    for (const batch of this.#batches) {
      // `relocated` goes through all records, so batches that lay side by side are given as one
      // range.
      const isNext = batch.file.number === from?.file &&
        batch.offset === from.offset + from.byteCount;
      if (from === null || !isNext) {
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
