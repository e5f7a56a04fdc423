// The disk port: the few file operations a store needs, named after what they guarantee. runtime/
// implements it with real files, the tests with a disk in memory that can tear, lose and fail. Writes
// of the commit log are synchronous (they reach the operating system before a turn ends); everything
// that waits for the disk answers through a callback in a later turn, never before the call returns.

import { assert } from "../lib/assert.ts";

/** An operation of the disk failed; `code` is the system's name for it. */
export class DiskError extends Error {
  /** `ENOSPC`, `EIO`, `EACCES`, `ENOENT` and the like. */
  readonly code: string;
  readonly path: string;

  constructor(code: string, path: string, options?: ErrorOptions) {
    super(`${code}: ${path}`, options);
    this.name = "DiskError";
    this.code = code;
    this.path = path;
  }
}

/** An open file. Using one after `close` is a programmer error. */
export interface FileHandle {
  readonly path: string;
  /** Size as written, bytes. */
  readonly byteLength: number;
  /**
   * Writes all of `bytes[start, end)` at `offset`; it is in the operating system's hands on return.
   * @throws DiskError when not everything could be written; what was written is unspecified then
   */
  write(bytes: Uint8Array, start: number, end: number, offset: number): void;
  /**
   * Makes everything written before the call survive a power loss, then calls back once. After an
   * error the system may take the lost pages for clean: a later success says nothing about them. The
   * name of a new file needs `syncFolder` besides. A file that has been removed meanwhile fails with
   * ENOENT: what is in it, nobody can read any more.
   */
  sync(done: (error: DiskError | null) => void): void;
  /** The same, at once: for small files that everything hangs on. @throws DiskError */
  syncNow(): void;
  /**
   * Reads up to `length` bytes at `offset`, fewer at the end of the file. The bytes are lent: they are
   * gone when `done` returns.
   */
  read(offset: number, length: number, done: (result: ReadResult) => void): void;
  /** The same, at once: for recovery, before anything is served. @throws DiskError */
  readNow(offset: number, length: number): Uint8Array;
  /** Cuts the file to `length` bytes, or extends it with zeros. @throws DiskError */
  truncate(length: number): void;
  /** Gives the file back; syncs and reads under way still call back. */
  close(): void;
}

/** What a read gives. */
export type ReadResult = { bytes: Uint8Array; error: null } | { bytes: null; error: DiskError };

/** How a file is opened. */
export type OpenMode = "read" | "create" | "readwrite";

/**
 * The files of one data folder. Paths are relative to it and use `/`; the folder itself is the empty
 * text. Every function throws DiskError.
 */
export interface FileSystem {
  /**
   * `create` fails with EEXIST when the file is there, the others with ENOENT when it is not. A
   * created file survives a power loss after `syncFolder` only, with what was synced of its content.
   */
  open(path: string, mode: OpenMode): FileHandle;
  /** Sorted names in a folder, folders with a trailing `/`; empty when the folder does not exist. */
  list(folder: string): string[];
  /** Makes a folder and those above it, where missing; each survives as a name in the one above. */
  makeFolder(folder: string): void;
  /** Removes an empty folder; nothing when it is not there, ENOTEMPTY when it holds something. */
  removeFolder(folder: string): void;
  /** Renames a file and replaces `to`. Survives a power loss after `syncFolder` only. */
  rename(from: string, to: string): void;
  /** Removes a file; nothing when it is not there. Survives a power loss after `syncFolder` only. */
  remove(path: string): void;
  /** The same beside the turns, because it takes long for a large file; it throws nothing. */
  removeLater(path: string, done: (error: DiskError | null) => void): void;
  /** Makes creations, renames and removals of names in a folder survive a power loss. */
  syncFolder(folder: string): void;
  /** The same beside the turns, for what was done before the call; it throws nothing. */
  syncFolderLater(folder: string, done: (error: DiskError | null) => void): void;
  /** Bytes a client of the disk may still write. */
  freeBytes(): number;
}

/** Refuses, as a programmer error, a path that is not plainly below the data folder. */
export function checkPath(path: string): void {
  const plain = path.split("/").every((name) => name !== "" && name !== "." && name !== "..");
  assert(
    plain && !path.includes("\\") && !path.includes("\0"),
    `not a path below the data folder: ${path}`,
  );
}
