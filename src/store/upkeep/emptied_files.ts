// Data files in which nothing is alive any more, until they can go. The entries that emptied a file
// must be on the disk first; otherwise a crash would bring its messages back without their bytes.
// Keeper enters files and calls `step` every turn. Log and segment files are removed in no other
// way.

import { assert } from "../../lib/assert.ts";
import type { CommitLog } from "../log/commit_log.ts";
import type { DataFile } from "../folder/data_files.ts";

/** A file without live records, and the batch whose entries emptied it. */
interface Emptied {
  file: DataFile;
  batch: number;
}

/** The parts of {@link EmptiedFiles}. */
export interface EmptiedFilesParts {
  log: Pick<CommitLog, "openBatch" | "storedBatch" | "wantSync">;
  /** Whether a start would read the file. Then the next snapshot finds it again. */
  isNeeded: (file: DataFile) => boolean;
  remove: (file: DataFile) => void;
}

/** Empty files that wait to be removed. */
export class EmptiedFiles {
  readonly #parts: EmptiedFilesParts;
  #waiting: Emptied[] = [];

  constructor(parts: EmptiedFilesParts) {
    this.#parts = parts;
  }

  /** Adds a file whose last live record the open batch removes. */
  add(file: DataFile): void {
    file.emptiedBatch = this.#parts.log.openBatch;
    this.addFound(file);
  }

  /** Adds a file that has been found empty. No entry of the open batch has emptied it. */
  addFound(file: DataFile): void {
    this.#waiting.push({ file, batch: this.#parts.log.openBatch });
  }

  /** Removes the files that can go. */
  step(): void {
    if (this.#waiting.length === 0) return;
    const kept: Emptied[] = [];
    for (const emptied of this.#waiting) {
      const { file, batch } = emptied;
      if (file.liveRecords > 0 || file.draftCount > 0 || file.isPinned) continue;
      if (this.#parts.isNeeded(file)) continue;
      if (this.isStored(batch)) this.#remove(file);
      else kept.push(emptied);
    }
    this.#waiting = kept;
    if (kept.length > 0) this.#parts.log.wantSync();
  }

  /** Whether a batch is on the disk. */
  isStored(batch: number): boolean {
    return batch <= this.#parts.log.storedBatch;
  }

  #remove(file: DataFile): void {
    const { name, liveRecords, liveBytes, emptiedBatch } = file;
    assert(liveRecords === 0 && liveBytes === 0, `${name} goes with ${liveRecords} live records`);
    assert(file.draftCount === 0 && !file.isPinned, `${name} goes while it is in use`);
    assert(
      emptiedBatch < this.#parts.log.openBatch && emptiedBatch <= this.#parts.log.storedBatch,
      `${name} goes before batch ${emptiedBatch}, which emptied it, is on the disk`,
    );
    this.#parts.remove(file);
  }
}
