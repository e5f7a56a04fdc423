// A disk on which nothing can be changed: it wraps another one for code that only reads. A removal
// or a sync of names does nothing, so recovery runs as usual and its cuts are not made. Any other
// change of a file or a name is refused with EROFS.

import { DiskError, type FileHandle, type FileSystem, type OpenMode } from "./file_system.ts";

/** The files of another file system, to be read only. */
export class ReadOnlyFileSystem implements FileSystem {
  readonly #inner: FileSystem;

  /** Wraps `inner`. */
  constructor(inner: FileSystem) {
    this.#inner = inner;
  }

  open(path: string, mode: OpenMode): FileHandle {
    if (mode === "create") throw refused(path);
    const handle = this.#inner.open(path, "read");
    return mode === "read" ? handle : new ReadOnlyHandle(handle);
  }

  list(folder: string): string[] {
    return this.#inner.list(folder);
  }

  makeFolder(folder: string): void {
    throw refused(folder);
  }

  removeFolder(folder: string): void {
    throw refused(folder);
  }

  rename(from: string): void {
    throw refused(from);
  }

  /** Does nothing: see the top of the file. */
  remove(): void {}

  removeLater(path: string, done: (error: DiskError | null) => void): void {
    done(refused(path));
  }

  /** Does nothing: no name has changed. */
  syncFolder(): void {}

  syncFolderLater(_folder: string, done: (error: DiskError | null) => void): void {
    done(null);
  }

  freeBytes(): number {
    return this.#inner.freeBytes();
  }
}

/** A file that is opened for changes but refuses them. */
class ReadOnlyHandle implements FileHandle {
  readonly #inner: FileHandle;

  constructor(inner: FileHandle) {
    this.#inner = inner;
  }

  get path(): string {
    return this.#inner.path;
  }

  get byteLength(): number {
    return this.#inner.byteLength;
  }

  write(): void {
    throw refused(this.path);
  }

  sync(): void {
    throw refused(this.path);
  }

  syncNow(): void {}

  read(...args: Parameters<FileHandle["read"]>): void {
    this.#inner.read(...args);
  }

  readNow(offset: number, length: number): Uint8Array {
    return this.#inner.readNow(offset, length);
  }

  truncate(): void {}

  close(): void {
    this.#inner.close();
  }
}

function refused(path: string): DiskError {
  return new DiskError("EROFS", path);
}
