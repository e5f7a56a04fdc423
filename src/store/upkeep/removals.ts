// Removes data files that are not needed any more, one after the other and beside the turns,
// because the system takes long to free the room of a large file. A file that cannot be removed is
// tried again after a while. Keeper decides which files go; they are not in the list of data files
// any more.

import type { DiskError } from "../file_system.ts";
import type { DataFile, DataFiles } from "../folder/data_files.ts";

const RETRY_MS = 10_000;

/** Files that are being removed. */
export class Removals {
  readonly #files: DataFiles;
  readonly #failed: (what: string, error: DiskError) => void;
  readonly #waiting: DataFile[] = [];
  /** Files that could not be removed, until they are tried again. */
  readonly #left: DataFile[] = [];
  #isRemoving = false;
  #nowMs = 0;
  #retryAtMs = Infinity;
  #onIdle: (() => void) | null = null;

  /** `failed` is told each removal that the disk has refused. */
  constructor(files: DataFiles, failed: (what: string, error: DiskError) => void) {
    this.#files = files;
    this.#failed = failed;
  }

  /** Removes a file soon. */
  add(file: DataFile): void {
    if (this.#files.get(file.number) !== file) return;
    this.#files.forget(file);
    this.#waiting.push(file);
    this.#next();
  }

  /** Tries failed removals again if it is time. To be called once a turn. */
  step(nowMs: number): void {
    this.#nowMs = nowMs;
    if (nowMs < this.#retryAtMs) return;
    this.#retryAtMs = Infinity;
    this.#waiting.push(...this.#left.splice(0));
    this.#next();
  }

  /** Begins no further removal, and calls back when none is under way. */
  end(done: () => void): void {
    this.#waiting.length = 0;
    this.#left.length = 0;
    if (this.#isRemoving) this.#onIdle = done;
    else done();
  }

  #next(): void {
    if (this.#isRemoving) return;
    const file = this.#waiting.shift();
    if (file === undefined) return;
    this.#isRemoving = true;
    this.#files.fs.removeLater(file.name, (error) => {
      this.#isRemoving = false;
      if (error !== null) this.#keep(file, error);
      this.#onIdle?.();
      this.#next();
    });
  }

  #keep(file: DataFile, error: DiskError): void {
    this.#failed(`remove ${file.name}`, error);
    this.#left.push(file);
    this.#retryAtMs = Math.min(this.#retryAtMs, this.#nowMs + RETRY_MS);
  }
}
