// Data files in which nothing is alive any more, until they can go: what emptied a file has to be on the
// disk before the file goes, or a crash would bring back what was in it without its bytes. Keeper enters
// them and has a look every turn; it is the only way by which log and segment files go.

import { assert } from "../../lib/assert.ts";
import type { CommitLog } from "./commit_log.ts";
import type { DataFile } from "./data_files.ts";

/** A file without live records, and the batch that says so. */
interface Emptied {
  file: DataFile;
  batch: number;
}

/** What {@link EmptiedFiles} is made of. */
export interface EmptiedFilesParts {
  log: Pick<CommitLog, "openBatch" | "storedBatch" | "wantSync">;
  /** Whether a start would read it: then the next snapshot finds it again. */
  isNeeded: (file: DataFile) => boolean;
  remove: (file: DataFile) => void;
}

/** Files on their way out. */
export class EmptiedFiles {
  readonly #parts: EmptiedFilesParts;
  #waiting: Emptied[] = [];

  constructor(parts: EmptiedFilesParts) {
    this.#parts = parts;
  }

  /** The open batch takes out the last that was alive in a file. */
  add(file: DataFile): void {
    file.emptiedBatch = this.#parts.log.openBatch;
    this.addFound(file);
  }

  /** A file has been found to be empty, by nothing that the open batch says. */
  addFound(file: DataFile): void {
    this.#waiting.push({ file, batch: this.#parts.log.openBatch });
  }

  /** Removes those that can go. */
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
