// The disk port on real files, through node:fs, which Deno and Bun implement too. The store uses it for
// the one data folder it was made for; it touches nothing outside of that folder. Writes, renames and
// the reads of recovery happen at once; syncs and other reads call back, without promises.

import * as fs from "node:fs";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { assert } from "../lib/assert.ts";
import { dropBytes } from "../lib/bytes.ts";
import {
  checkPath,
  DiskError,
  type FileHandle,
  type FileSystem,
  type OpenMode,
  type ReadResult,
} from "../store/file_system.ts";
import { attempt, diskError, failureCode, ignoring } from "./disk_attempt.ts";

// Only the owner may write the messages; a group may read them for backups, and others have no access.
const FOLDER_MODE = 0o750;
const FILE_MODE = 0o640;

const OPEN_FLAGS: Readonly<Record<OpenMode, string>> = {
  read: "r",
  create: "wx+",
  readwrite: "r+",
};

/** Whether a path is a folder. @throws DiskError when that cannot be found out */
export function isFolder(path: string): boolean {
  return attempt(path, () => fs.existsSync(path) && fs.statSync(path).isDirectory());
}

/** The files of one data folder on a real disk. */
export class FolderFileSystem implements FileSystem {
  /** The absolute path of the data folder. */
  readonly folder: string;

  /**
   * Opens a data folder. Creates it and its missing parents if needed.
   * @throws DiskError when it cannot be created
   */
  constructor(folder: string) {
    this.folder = resolve(folder);
    attempt(folder, () => makeSynced(this.folder));
  }

  open(path: string, mode: OpenMode): FileHandle {
    const absolute = this.#absolute(path);
    return attempt(path, () => {
      const descriptor = fs.openSync(absolute, OPEN_FLAGS[mode], FILE_MODE);
      if (mode === "create") return new FolderFile(path, descriptor, 0);
      try {
        return new FolderFile(path, descriptor, fs.fstatSync(descriptor).size);
      } catch (error) {
        fs.closeSync(descriptor);
        throw error;
      }
    });
  }

  list(folder: string): string[] {
    const absolute = this.#absolute(folder);
    return attempt(folder, () => {
      if (!fs.existsSync(absolute)) return [];
      const entries = fs.readdirSync(absolute, { withFileTypes: true });
      return entries.map((entry) => entry.isDirectory() ? `${entry.name}/` : entry.name).sort();
    });
  }

  makeFolder(folder: string): void {
    const absolute = this.#absolute(folder);
    attempt(folder, () => fs.mkdirSync(absolute, { recursive: true, mode: FOLDER_MODE }));
  }

  removeFolder(folder: string): void {
    checkPath(folder);
    const absolute = this.#absolute(folder);
    attempt(folder, () => ignoring("ENOENT", () => fs.rmdirSync(absolute)));
  }

  rename(from: string, to: string): void {
    const fromAbsolute = this.#absolute(from);
    const toAbsolute = this.#absolute(to);
    attempt(from, () => fs.renameSync(fromAbsolute, toAbsolute));
  }

  remove(path: string): void {
    const absolute = this.#absolute(path);
    attempt(path, () => ignoring("ENOENT", () => fs.unlinkSync(absolute)));
  }

  removeLater(path: string, done: (error: DiskError | null) => void): void {
    // Deno passes undefined where Node and Bun pass null.
    fs.unlink(this.#absolute(path), (error: NodeJS.ErrnoException | null | undefined) => {
      done(!error || error.code === "ENOENT" ? null : diskError(path, error));
    });
  }

  syncFolder(folder: string): void {
    const absolute = this.#absolute(folder);
    attempt(folder, () => syncFolderAt(absolute));
  }

  syncFolderLater(folder: string, done: (error: DiskError | null) => void): void {
    syncFolderAtLater(this.#absolute(folder), (error) => {
      done(error == null ? null : diskError(folder, error));
    });
  }

  freeBytes(): number {
    return attempt("", () => {
      const { bavail, bsize } = fs.statfsSync(this.folder);
      return bavail * bsize;
    });
  }

  #absolute(path: string): string {
    if (path === "") return this.folder;
    checkPath(path);
    return `${this.folder}/${path}`;
  }
}

/** One open file. Its descriptor stays open until the last pending sync or read has ended. */
class FolderFile implements FileHandle {
  readonly path: string;
  readonly #descriptor: number;
  #byteLength: number;
  #underWay = 0;
  #closed = false;

  constructor(path: string, descriptor: number, byteLength: number) {
    this.path = path;
    this.#descriptor = descriptor;
    this.#byteLength = byteLength;
  }

  get byteLength(): number {
    return this.#byteLength;
  }

  write(bytes: Uint8Array, start: number, end: number, offset: number): void {
    this.#requireOpen();
    let at = start;
    try {
      while (at < end) {
        const written = fs.writeSync(this.#descriptor, bytes, at, end - at, offset + at - start);
        // A system that writes nothing and reports no error would be tried forever.
        if (written === 0) throw new DiskError("EIO", this.path);
        at += written;
      }
    } catch (error) {
      throw diskError(this.path, error);
    } finally {
      // A write of no bytes does not extend the file.
      if (at > start) this.#byteLength = Math.max(this.#byteLength, offset + at - start);
    }
  }

  sync(done: (error: DiskError | null) => void): void {
    this.#requireOpen();
    this.#underWay++;
    fs.fdatasync(this.#descriptor, (error) => {
      const failure = error ? diskError(this.path, error) : this.#removal();
      this.#ended();
      done(failure);
    });
  }

  // A removed file exists without a name as long as it is open.
  #removal(): DiskError | null {
    try {
      const { nlink } = fs.fstatSync(this.#descriptor);
      return nlink === 0 ? new DiskError("ENOENT", this.path) : null;
    } catch (error) {
      return diskError(this.path, error);
    }
  }

  syncNow(): void {
    this.#requireOpen();
    attempt(this.path, () => fs.fdatasyncSync(this.#descriptor));
  }

  read(offset: number, length: number, done: (result: ReadResult) => void): void {
    this.#requireOpen();
    this.#underWay++;
    const bytes = new Uint8Array(length);
    let filled = 0;
    const next = (): void => {
      fs.read(this.#descriptor, bytes, filled, length - filled, offset + filled, more);
    };
    const more = (error: Error | null, byteCount: number): void => {
      if (!error) {
        filled += byteCount;
        if (byteCount > 0 && filled < length) return next();
      }
      this.#ended();
      if (error) done({ bytes: null, error: diskError(this.path, error) });
      else done({ bytes: bytes.subarray(0, filled), error: null });
      dropBytes(bytes);
    };
    next();
  }

  readNow(offset: number, length: number): Uint8Array {
    this.#requireOpen();
    // The requested length may be far beyond the end of the file; the buffer is only as long as the
    // file.
    const expected = Math.max(0, Math.min(length, this.#byteLength - offset));
    const bytes = new Uint8Array(expected);
    return attempt(this.path, () => {
      let filled = 0;
      while (filled < expected) {
        const at = offset + filled;
        const count = fs.readSync(this.#descriptor, bytes, filled, expected - filled, at);
        if (count === 0) break;
        filled += count;
      }
      return bytes.subarray(0, filled);
    });
  }

  truncate(length: number): void {
    this.#requireOpen();
    attempt(this.path, () => fs.ftruncateSync(this.#descriptor, length));
    this.#byteLength = length;
  }

  close(): void {
    this.#requireOpen();
    this.#closed = true;
    this.#closeWhenIdle();
  }

  #requireOpen(): void {
    assert(!this.#closed, `${this.path} is closed`);
  }

  #ended(): void {
    this.#underWay--;
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (!this.#closed || this.#underWay > 0) return;
    try {
      fs.closeSync(this.#descriptor);
    } catch {
      // The descriptor is closed all the same. Data without a successful sync was never promised to be
      // safe.
    }
  }
}

/** Creates a folder and its missing parents, and syncs each name in the parent. */
function makeSynced(folder: string): void {
  if (fs.existsSync(folder)) {
    if (!fs.statSync(folder).isDirectory()) throw new DiskError("ENOTDIR", folder);
    return;
  }
  const above = dirname(folder);
  makeSynced(above);
  ignoring("EEXIST", () => fs.mkdirSync(folder, { mode: FOLDER_MODE }));
  syncFolderAt(above);
}

function syncFolderAtLater(absolute: string, done: (error: Error | null) => void): void {
  // See syncFolderAt.
  if (process.platform === "win32") return queueMicrotask(() => done(null));
  fs.open(absolute, "r", (error, descriptor) => {
    if (error != null) return done(error);
    fs.fsync(descriptor, (failure) => {
      fs.closeSync(descriptor);
      done(failure == null || failureCode(failure) === "EINVAL" ? null : failure);
    });
  });
}

function syncFolderAt(absolute: string): void {
  // Windows keeps names safe by itself and cannot open a folder as a file.
  if (process.platform === "win32") return;
  const descriptor = fs.openSync(absolute, "r");
  try {
    // A file system that cannot sync a folder reports EINVAL, and nothing more can be done.
    ignoring("EINVAL", () => fs.fsyncSync(descriptor));
  } finally {
    fs.closeSync(descriptor);
  }
}
