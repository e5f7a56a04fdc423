// The data files of a folder: logs, snapshots and segments, with one sequence of numbers. It counts
// the live records in each file, so that a file can go when its last record has gone, and keeps few
// files open at a time. It never looks into a file.

import type { DiskError, FileHandle, FileSystem } from "../file_system.ts";
import {
  type DataFileKind,
  dataFileName,
  MANIFEST_NAME,
  parseDataFileName,
} from "../format/format.ts";

const OPEN_FOR_READING_MAX = 64;
const DRAFT_SUFFIX = ".new";

/** One data file. */
export class DataFile {
  readonly kind: DataFileKind;
  readonly number: number;
  /** Bytes of whole batches in it. */
  byteLength = 0;
  /** Records in the file that some queue still holds. */
  liveRecords = 0;
  liveBytes = 0;
  /** True while a log or segment file is written or emptied. It is not removed then. */
  isPinned = false;
  /** Pages in the file that will count once they are safe. */
  draftCount = 0;
  /** The batch that removed the last live record or page. */
  emptiedBatch = 0;
  /**
   * The last batch that took a page in the file apart. To read that batch again, the index of the
   * page is needed.
   */
  unpagedBatch = 0;
  /** A part of the file could not be moved. It is not tried again before this time, ms. */
  movableAtMs = -Infinity;

  constructor(kind: DataFileKind, number: number) {
    this.kind = kind;
    this.number = number;
  }

  get name(): string {
    return dataFileName(this.kind, this.number);
  }
}

/** A file that is not yet one of the folder's. */
export interface UnnamedFile {
  readonly file: DataFile;
  readonly handle: FileHandle;
  /** Gives the file its name in the folder. @throws DiskError */
  name(): void;
  /** Gives the file up. @throws DiskError */
  discard(): void;
}

/** All data files of one folder. */
export class DataFiles {
  readonly fs: FileSystem;
  readonly #files = new Map<number, DataFile>();
  readonly #ofKind: Partial<Record<DataFileKind, readonly DataFile[]>> = {};
  /** Handles to read from, the least recently used first. */
  readonly #readers = new Map<number, FileHandle>();
  #lastNumber = 0;

  constructor(fs: FileSystem) {
    this.fs = fs;
  }

  /** Lists the files of the folder. New numbers follow the highest one. */
  scan(): void {
    for (const name of this.fs.list("")) {
      const parsed = parseDataFileName(name);
      if (parsed === null) continue;
      this.#add(new DataFile(parsed.kind, parsed.number));
      this.#lastNumber = Math.max(this.#lastNumber, parsed.number);
    }
  }

  /** Whether the manifest is missing from the folder. Missing data files are given to `missing`. */
  look(missing: (file: DataFile) => void): boolean {
    const names = new Set(this.fs.list(""));
    for (const file of this.#files.values()) if (!names.has(file.name)) missing(file);
    return !names.has(MANIFEST_NAME);
  }

  /** The files of one kind, lowest number first, as they are now. */
  ofKind(kind: DataFileKind): readonly DataFile[] {
    // Housekeeping asks for the files every turn.
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
   * Makes a new, empty file. Its name survives a power loss once its first sync has ended, like its
   * content. @throws DiskError
   */
  create(kind: DataFileKind): { file: DataFile; handle: FileHandle } {
    const file = new DataFile(kind, ++this.#lastNumber);
    const handle = withName(this.fs, this.fs.open(file.name, "create"));
    this.#add(file);
    return { file, handle };
  }

  /**
   * Makes a file without a name in the folder. After a crash, its content counts as a whole if it
   * got its name, and otherwise not at all. @throws DiskError
   */
  createUnnamed(kind: DataFileKind): UnnamedFile {
    const file = new DataFile(kind, ++this.#lastNumber);
    const draftName = file.name + DRAFT_SUFFIX;
    // A crash may have left such a file.
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

  /**
   * Returns a handle to read from. It stays open for a while, and the caller must not close it.
   * @throws DiskError
   */
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

  /** Removes a file that is not needed any more. @throws DiskError */
  remove(file: DataFile): void {
    this.forget(file);
    this.fs.remove(file.name);
  }

  /** Takes the file out of the list. It is not needed any more. */
  forget(file: DataFile): void {
    this.#readers.get(file.number)?.close();
    this.#readers.delete(file.number);
    this.#files.delete(file.number);
    delete this.#ofKind[file.kind];
  }

  /** Closes all handles to read from. */
  close(): void {
    for (const handle of this.#readers.values()) handle.close();
    this.#readers.clear();
  }
}

// Returns a handle whose syncs also make the name of the file safe, until one of them has. That
// takes as long as a sync, and the turn that makes a file does not wait for it.
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
