// A file system that reports how long its syncs take. It wraps another file system and passes every
// call on. storage.ts wraps the data folder in it, because the layers that request a sync have no
// clock.

import type { DiskError, FileHandle, FileSystem, OpenMode } from "../store/file_system.ts";

/** Called with the duration of one sync, whether it failed or not. */
export type OnSync = (elapsedMs: number) => void;

/** The files of another file system, with timed syncs. */
export class TimedFileSystem implements FileSystem {
  readonly #inner: FileSystem;
  readonly #onSync: OnSync;

  /** Wraps `inner`. */
  constructor(inner: FileSystem, onSync: OnSync) {
    this.#inner = inner;
    this.#onSync = onSync;
  }

  open(path: string, mode: OpenMode): FileHandle {
    const handle = this.#inner.open(path, mode);
    return mode === "read" ? handle : timed(handle, this.#onSync);
  }

  list(folder: string): string[] {
    return this.#inner.list(folder);
  }

  makeFolder(folder: string): void {
    this.#inner.makeFolder(folder);
  }

  removeFolder(folder: string): void {
    this.#inner.removeFolder(folder);
  }

  rename(from: string, to: string): void {
    this.#inner.rename(from, to);
  }

  remove(path: string): void {
    this.#inner.remove(path);
  }

  removeLater(path: string, done: (error: DiskError | null) => void): void {
    this.#inner.removeLater(path, done);
  }

  syncFolder(folder: string): void {
    this.#inner.syncFolder(folder);
  }

  syncFolderLater(folder: string, done: (error: DiskError | null) => void): void {
    this.#inner.syncFolderLater(folder, done);
  }

  freeBytes(): number {
    return this.#inner.freeBytes();
  }
}

// Only one method of a handle is timed and writes are a hot path, so that method is replaced on the
// handle itself.
function timed(handle: FileHandle, onSync: OnSync): FileHandle {
  const sync = handle.sync.bind(handle);
  handle.sync = (done) => {
    const startMs = performance.now();
    sync((error) => {
      onSync(performance.now() - startMs);
      done(error);
    });
  };
  return handle;
}
