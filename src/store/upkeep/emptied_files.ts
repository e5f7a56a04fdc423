// Data files in which nothing is alive any more, until they can go. The entries that emptied a file
// must be on the disk first; otherwise a crash would bring its messages back without their bytes.
// Keeper enters files and calls `step` every turn. Log and segment files are removed in no other
// way.

import { assert } from "../../lib/assert.ts";
import type { CommitLog } from "../log/commit_log.ts";
import type { DataFile } from "../folder/data_files.ts";

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
  /** Each file with the batch that must be on the disk first. */
  readonly #waiting = new Map<DataFile, number>();

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
    this.#waiting.set(file, this.#parts.log.openBatch);
  }

  /** Removes the files that can go. */
  step(): void {
    if (this.#waiting.size === 0) return;
    for (const [file, batch] of this.#waiting) {
      // A file that is in use is added again when it is not.
      const isInUse = file.liveRecords > 0 || file.draftCount > 0 || file.isPinned;
      const mayGo = !isInUse && !this.#parts.isNeeded(file);
      if (mayGo && !this.isStored(batch)) continue;
      this.#waiting.delete(file);
      if (mayGo) this.#remove(file);
    }
    if (this.#waiting.size > 0) this.#parts.log.wantSync();
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
