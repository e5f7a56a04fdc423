// The disk port: the few file operations a store needs, named after what they guarantee. runtime/
// implements it with real files, the tests with a disk in memory that can tear, lose and fail. Writes
// of the commit log are synchronous (they reach the operating system before a turn ends); everything
// that waits for the disk answers through a callback in a later turn.

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

/** An open file. */
export interface FileHandle {
  readonly path: string;
  /** Size as written, bytes. */
  readonly byteLength: number;
  /**
   * Writes all of `bytes[start, end)` at `offset`; it is in the operating system's hands on return.
   * @throws DiskError when not everything could be written; what was written is unspecified then
   */
  write(bytes: Uint8Array, start: number, end: number, offset: number): void;
  /** Makes everything written before the call survive a power loss, then calls back once. */
  sync(done: (error: DiskError | null) => void): void;
  /** Reads up to `length` bytes at `offset`, fewer at the end of the file. */
  read(offset: number, length: number, done: (result: ReadResult) => void): void;
  /** The same, at once: for recovery, before anything is served. @throws DiskError */
  readNow(offset: number, length: number): Uint8Array;
  /** Cuts the file to `length` bytes. @throws DiskError */
  truncate(length: number): void;
  close(): void;
}

/** What a read gives. */
export type ReadResult = { bytes: Uint8Array; error: null } | { bytes: null; error: DiskError };

/** How a file is opened. */
export type OpenMode = "read" | "create" | "readwrite";

/** The files of one data folder; paths are relative to it and use `/`. */
export interface FileSystem {
  /** `create` fails with EEXIST when the file is there, the others with ENOENT when it is not. */
  open(path: string, mode: OpenMode): FileHandle;
  /** Names in a folder, folders with a trailing `/`; empty when the folder does not exist. */
  list(folder: string): string[];
  /** Makes a folder and those above it. */
  makeFolder(folder: string): void;
  /** Replaces `to`. Survives a power loss after `syncFolder` only. */
  rename(from: string, to: string): void;
  /** Removes a file; nothing when it is not there. Survives a power loss after `syncFolder` only. */
  remove(path: string): void;
  /** Makes creations, renames and removals in a folder survive a power loss. */
  syncFolder(folder: string): void;
  /** Bytes a client of the disk may still write. */
  freeBytes(): number;
}
