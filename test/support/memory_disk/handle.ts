// An open file of a simulated disk. MemoryDisk makes it and gives it what it may do to the disk; every
// operation asks the disk first whether it happens, fails or is where the process dies.

import { assert } from "../../../src/lib/assert.ts";
import { dropBytes } from "../../../src/lib/bytes.ts";
import { DiskError, type FileHandle, type ReadResult } from "../../../src/store/file_system.ts";
import type { FileContent } from "./content.ts";
import type { OperationKind } from "./faults.ts";

/** An operation that happens whole, or that can fail or be interrupted by a crash half way. */
export type Effect<T> = (() => T) | { whole: () => T; part: (isCrash: boolean) => void };

/** What a handle needs of its disk. */
export interface DiskAccess {
  /** Does `effect` if the disk lets it happen. */
  step<T>(kind: OperationKind, path: string, effect: Effect<T>): T;
  /** The code an operation will fail with, null if it will succeed. */
  plannedError(kind: OperationKind, path: string): string | null;
  /** Calls back when the test lets the operation end. */
  later(complete: () => void): void;
  /** Writes what the quota leaves room for; whether that was everything. */
  write(content: FileContent, offset: number, bytes: Uint8Array): boolean;
  /** How much of an interrupted or failing write gets through. */
  interruptedLength(length: number): number;
  /** Says that a file has grown or shrunk, and how long it was. */
  resized(content: FileContent, byteLength: number): void;
  /** Whether no name leads to it any more. */
  isRemoved(content: FileContent): boolean;
  /** Throws when the disk has crashed. */
  alive(): void;
  /** Says that a handle is no longer open. */
  closed(content: FileContent): void;
}

/** See the top of the file. */
export class MemoryHandle implements FileHandle {
  readonly path: string;
  readonly #writable: boolean;
  readonly #disk: DiskAccess;
  readonly #content: FileContent;
  #open = true;

  /** Opens `content`; the disk has counted the handle. */
  constructor(
    disk: DiskAccess,
    content: FileContent,
    options: { path: string; writable: boolean },
  ) {
    this.path = options.path;
    this.#writable = options.writable;
    this.#disk = disk;
    this.#content = content;
  }

  get byteLength(): number {
    this.#requireOpen();
    return this.#content.byteLength;
  }

  write(bytes: Uint8Array, start: number, end: number, offset: number): void {
    this.#requireWritable();
    assert(start <= end && end <= bytes.length && offset >= 0, "write outside its bytes");
    this.#disk.step("write", this.path, {
      whole: () => {
        const whole = this.#disk.write(this.#content, offset, bytes.subarray(start, end));
        if (!whole) throw new DiskError("ENOSPC", this.path);
      },
      part: () => {
        const length = this.#disk.interruptedLength(end - start);
        this.#disk.write(this.#content, offset, bytes.subarray(start, start + length));
      },
    });
  }

  sync(done: (error: DiskError | null) => void): void {
    this.#requireOpen();
    const code = this.#disk.plannedError("sync", this.path);
    const covered = this.#content.beginSync();
    this.#disk.later(() => {
      if (code === null) this.#content.synced(covered);
      else this.#content.dropped(covered);
      const failure = code ?? (this.#disk.isRemoved(this.#content) ? "ENOENT" : null);
      done(failure === null ? null : new DiskError(failure, this.path));
    });
  }

  syncNow(): void {
    this.#requireOpen();
    const covered = this.#content.beginSync();
    this.#disk.step("sync", this.path, {
      whole: () => this.#content.synced(covered),
      // The system goes on by itself when only the process dies.
      part: (isCrash) => isCrash ? undefined : this.#content.dropped(covered),
    });
  }

  read(offset: number, length: number, done: (result: ReadResult) => void): void {
    this.#requireOpen();
    const code = this.#disk.plannedError("read", this.path);
    this.#disk.later(() => {
      if (code !== null) return done({ bytes: null, error: new DiskError(code, this.path) });
      const bytes = this.#content.read(offset, length);
      done({ bytes, error: null });
      // Whoever kept them finds nothing there.
      dropBytes(bytes);
    });
  }

  readNow(offset: number, length: number): Uint8Array {
    this.#requireOpen();
    return this.#disk.step("read", this.path, () => this.#content.read(offset, length));
  }

  truncate(length: number): void {
    this.#requireWritable();
    this.#disk.step("truncate", this.path, () => {
      const before = this.#content.byteLength;
      this.#content.truncate(length);
      this.#disk.resized(this.#content, before);
    });
  }

  close(): void {
    this.#requireOpen();
    this.#open = false;
    this.#disk.closed(this.#content);
  }

  #requireOpen(): void {
    this.#disk.alive();
    assert(this.#open, `${this.path} is closed`);
  }

  #requireWritable(): void {
    this.#requireOpen();
    assert(this.#writable, `${this.path} is open for reading only`);
  }
}
