// The data files of a folder: logs, snapshots and segments, numbered in one row. Keeps count of the live
// records in each, so that a file can go when its last one has, and few of them open at a time. It
// never looks into a file.

import type { DiskError, FileHandle, FileSystem } from "../file_system.ts";
import { type DataFileKind, dataFileName, MANIFEST_NAME, parseDataFileName } from "./format.ts";

const OPEN_FOR_READING_MAX = 64;
const DRAFT_SUFFIX = ".new";

/** One data file. */
export class DataFile {
  readonly kind: DataFileKind;
  readonly number: number;
  /** Bytes of whole batches in it. */
  byteLength = 0;
  /** Records in it that some queue still holds. */
  liveRecords = 0;
  liveBytes = 0;
  /** Not removed while it is being written or moved out of. */
  isPinned = false;
  /** Pages in it that will count once they are safe. */
  draftCount = 0;
  /** The batch that took out the last that was alive in it. */
  emptiedBatch = 0;
  /** Last batch that took a page in it apart: reading that batch again needs the page's index. */
  unpagedBatch = 0;
  /** Something in it could not be moved; not tried again before this time. */
  movableAtMs = -Infinity;

  constructor(kind: DataFileKind, number: number) {
    this.kind = kind;
    this.number = number;
  }

  get name(): string {
    return dataFileName(this.kind, this.number);
  }
}

/** A file on its way into the folder. */
export interface UnnamedFile {
  readonly file: DataFile;
  readonly handle: FileHandle;
  /** Makes it one of the folder's. @throws DiskError */
  name(): void;
  /** Gives it up. @throws DiskError */
  discard(): void;
}

/** All data files of one folder. */
export class DataFiles {
  readonly fs: FileSystem;
  readonly #files = new Map<number, DataFile>();
  readonly #ofKind: Partial<Record<DataFileKind, readonly DataFile[]>> = {};
  /** Oldest use first. */
  readonly #readers = new Map<number, FileHandle>();
  #lastNumber = 0;

  constructor(fs: FileSystem) {
    this.fs = fs;
  }

  /** Looks at what the folder holds; numbers go on behind the highest one. */
  scan(): void {
    for (const name of this.fs.list("")) {
      const parsed = parseDataFileName(name);
      if (parsed === null) continue;
      this.#add(new DataFile(parsed.kind, parsed.number));
      this.#lastNumber = Math.max(this.#lastNumber, parsed.number);
    }
  }

  /** Whether the folder has lost what a start needs first; what else is missing goes to `missing`. */
  look(missing: (file: DataFile) => void): boolean {
    const names = new Set(this.fs.list(""));
    for (const file of this.#files.values()) if (!names.has(file.name)) missing(file);
    return !names.has(MANIFEST_NAME);
  }

  /** The files of one kind, lowest number first, as they are now. */
  ofKind(kind: DataFileKind): readonly DataFile[] {
    // Housekeeping looks at them every turn.
    let files = this.#ofKind[kind];
    if (files === undefined) {
      files = [...this.#files.values()]
        .filter((file) => file.kind === kind)
        .sort((a, b) => a.number - b.number);
      this.#ofKind[kind] = files;
    }
    return files;
  }

  #add(file: DataFile): void {
    this.#files.set(file.number, file);
    delete this.#ofKind[file.kind];
  }

  get isEmpty(): boolean {
    return this.#files.size === 0;
  }

  get(number: number): DataFile | undefined {
    return this.#files.get(number);
  }

  /** Bytes of all files of one kind. */
  byteLength(kind: DataFileKind): number {
    let byteLength = 0;
    for (const file of this.#files.values()) if (file.kind === kind) byteLength += file.byteLength;
    return byteLength;
  }

  /**
   * Makes a new, empty file. Its name survives a power loss from when its first sync has ended, like what
   * is in it. @throws DiskError
   */
  create(kind: DataFileKind): { file: DataFile; handle: FileHandle } {
    const file = new DataFile(kind, ++this.#lastNumber);
    const handle = withName(this.fs, this.fs.open(file.name, "create"));
    this.#add(file);
    return { file, handle };
  }

  /**
   * Makes a file that is none of the folder's before it gets its name: what is written to it until
   * then counts as a whole or, after a crash, not at all. @throws DiskError
   */
  createUnnamed(kind: DataFileKind): UnnamedFile {
    const file = new DataFile(kind, ++this.#lastNumber);
    const draftName = file.name + DRAFT_SUFFIX;
    // A crash may have left one.
    this.fs.remove(draftName);
    const handle = this.fs.open(draftName, "create");
    return {
      file,
      handle,
      name: () => {
        this.fs.rename(draftName, file.name);
        this.fs.syncFolder("");
        this.#add(file);
      },
      discard: () => {
        handle.close();
        this.fs.remove(draftName);
        this.fs.remove(file.name);
      },
    };
  }

  /** Removes files that never got their names. @throws DiskError */
  removeUnnamed(): void {
    for (const name of this.fs.list("")) if (name.endsWith(DRAFT_SUFFIX)) this.fs.remove(name);
  }

  /** A handle to read from; it stays open for a while and must not be closed. @throws DiskError */
  reader(file: DataFile): FileHandle {
    const open = this.#readers.get(file.number);
    if (open !== undefined) {
      this.#readers.delete(file.number);
      this.#readers.set(file.number, open);
      return open;
    }
    if (this.#readers.size >= OPEN_FOR_READING_MAX) {
      const [oldest, handle] = [...this.#readers][0]!;
      handle.close();
      this.#readers.delete(oldest);
    }
    const handle = this.fs.open(file.name, "read");
    this.#readers.set(file.number, handle);
    return handle;
  }

  /** Removes a file; nothing in it may be needed any more. @throws DiskError */
  remove(file: DataFile): void {
    this.forget(file);
    this.fs.remove(file.name);
  }

  /** The file is none of the folder's from now on: nothing in it is needed any more. */
  forget(file: DataFile): void {
    this.#readers.get(file.number)?.close();
    this.#readers.delete(file.number);
    this.#files.delete(file.number);
    delete this.#ofKind[file.kind];
  }

  /** Closes what is open for reading. */
  close(): void {
    for (const handle of this.#readers.values()) handle.close();
    this.#readers.clear();
  }
}

// A handle whose syncs make the name of the file safe besides, until one has: that takes as long as a
// sync, and the turn that makes a file does not wait for it.
function withName(fs: FileSystem, handle: FileHandle): FileHandle {
  const syncContent = handle.sync.bind(handle);
  handle.sync = (done) => {
    let left = 2;
    let failure: DiskError | null = null;
    const ended = (error: DiskError | null): void => {
      failure ??= error;
      if (--left > 0) return;
      if (failure === null) handle.sync = syncContent;
      done(failure);
    };
    syncContent(ended);
    fs.syncFolderLater("", ended);
  };
  return handle;
}
