// The disk port: the few file operations that a store needs, named after their guarantees. runtime/
// implements it with real files, the tests with a disk in memory that can tear, lose and fail.
// Writes of the commit log are synchronous: they reach the operating system before a turn ends.
// Every operation that waits for the disk answers through a callback in a later turn, never before
// the call returns.

import { assert } from "../lib/assert.ts";

/** An operation of the disk failed. `code` is the system's name for the error. */
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
  /** Bytes written to the file. */
  readonly byteLength: number;
  /**
   * Writes all of `bytes[start, end)` at `offset`. The operating system has the bytes on return.
   * @throws DiskError when not everything could be written; the content of the range is unspecified
   * then
   */
  write(bytes: Uint8Array, start: number, end: number, offset: number): void;
  /**
   * Makes everything written before the call survive a power loss, then calls back once. After an
   * error the system may take the lost pages for clean, so a later success says nothing about them.
   * The name of a new file needs `syncFolder` as well. A file that has been removed meanwhile fails
   * with ENOENT, because its content cannot be read any more.
   */
  sync(done: (error: DiskError | null) => void): void;
  /**
   * Does the same as `sync` before it returns, for small files on which everything depends. @throws
   * DiskError
   */
  syncNow(): void;
  /**
   * Reads up to `length` bytes at `offset`, fewer at the end of the file. The bytes are valid only
   * until `done` returns.
   */
  read(offset: number, length: number, done: (result: ReadResult) => void): void;
  /** Does the same as `read` before it returns, for recovery. @throws DiskError */
  readNow(offset: number, length: number): Uint8Array;
  /** Cuts the file to `length` bytes, or extends it with zeros. @throws DiskError */
  truncate(length: number): void;
  /** Closes the file. Syncs and reads under way still call back. */
  close(): void;
}

/** The result of a read. */
export type ReadResult = { bytes: Uint8Array; error: null } | { bytes: null; error: DiskError };

/** How a file is opened. */
export type OpenMode = "read" | "create" | "readwrite";

/**
 * The files of one data folder. Paths are relative to it and use `/`; the folder itself is the empty
 * text. Every function throws DiskError.
 */
export interface FileSystem {
  /**
   * Opens a file. `create` fails with EEXIST when the file exists, the other modes with ENOENT when
   * it does not. After a power loss a created file exists only if `syncFolder` was called; then it
   * has the content that was synced.
   */
  open(path: string, mode: OpenMode): FileHandle;
  /** Sorted names in a folder, folders with a trailing `/`; empty when the folder does not exist. */
  list(folder: string): string[];
  /** Makes a folder and its missing parents. Each name survives a power loss. */
  makeFolder(folder: string): void;
  /** Removes an empty folder, if it exists. Fails with ENOTEMPTY when it holds something. */
  removeFolder(folder: string): void;
  /** Renames a file and replaces `to`. Survives a power loss only after `syncFolder`. */
  rename(from: string, to: string): void;
  /** Removes a file, if it exists. Survives a power loss only after `syncFolder`. */
  remove(path: string): void;
  /** Removes a file beside the turns, because a large file takes long. Throws nothing. */
  removeLater(path: string, done: (error: DiskError | null) => void): void;
  /** Makes creations, renames and removals of names in a folder survive a power loss. */
  syncFolder(folder: string): void;
  /** Does the same beside the turns, for changes made before the call. Throws nothing. */
  syncFolderLater(folder: string, done: (error: DiskError | null) => void): void;
  /** Bytes that can still be written to the disk. */
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
