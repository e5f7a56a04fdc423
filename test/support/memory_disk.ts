// A disk in memory for crash tests, deterministic: syncs and reads end when the test says so, a crash
// gives the next boot one of the states a real disk may be in, and every operation can fail. What is
// guaranteed is exactly what src/store/file_system.ts promises, and nothing more. Tests only.

import type { Prng } from "../../src/lib/prng.ts";
import {
  checkPath,
  DiskError,
  type FileHandle,
  type FileSystem,
  type OpenMode,
} from "../../src/store/file_system.ts";
import { FileContent } from "./memory_disk/content.ts";
import {
  CrashSignal,
  type DiskOperation,
  Faults,
  type OperationKind,
} from "./memory_disk/faults.ts";
import { type DiskAccess, type Effect, MemoryHandle } from "./memory_disk/handle.ts";
import { folderOf, Names } from "./memory_disk/names.ts";

export { CrashSignal, type DiskOperation, type OperationKind };

/** How a simulated machine dies: its process alone, or its power. */
export type Crash = { kind: "process" } | { kind: "power"; prng: Prng };

/** A simulated disk; see the top of the file. */
export class MemoryDisk implements FileSystem {
  /** Bytes all files together may have; a write beyond it is cut short and fails with ENOSPC. */
  quotaBytes = Infinity;
  /** Handles that may be open at once; one more fails with EMFILE. */
  handlesMax = Infinity;
  /** A file takes room in units of so many bytes. */
  readonly blockBytes: number;
  readonly #names: Names;
  readonly #faults = new Faults();
  readonly #handleCounts = new Map<FileContent, number>();
  readonly #unlinked = new Set<FileContent>();
  #completions: (() => void)[] = [];
  #usedBytes = 0;
  #openCount = 0;
  #crashed: CrashSignal | null = null;

  /** Creates an empty disk. */
  constructor(options?: { blockBytes?: number; names?: Names });
  constructor({ blockBytes = 1, names = new Names() } = {}) {
    this.blockBytes = blockBytes;
    this.#names = names;
    for (const path of names.filePaths()) this.#usedBytes += this.#roomOf(names.get(path)!);
  }

  // What the store calls.

  open(path: string, mode: OpenMode): FileHandle {
    checkPath(path);
    return this.#step("open", path, () => {
      if (this.#openCount >= this.handlesMax) throw new DiskError("EMFILE", path);
      const content = mode === "create" ? this.#create(path) : this.#existing(path);
      this.#openCount++;
      this.#handleCounts.set(content, (this.#handleCounts.get(content) ?? 0) + 1);
      return new MemoryHandle(this.#access, content, { path, writable: mode !== "read" });
    });
  }

  list(folder: string): string[] {
    if (folder !== "") checkPath(folder);
    return this.#step("list", folder, () => this.#names.list(folder));
  }

  makeFolder(folder: string): void {
    checkPath(folder);
    this.#step("makeFolder", folder, () => {
      const names = folder.split("/");
      for (let depth = 1; depth <= names.length; depth++) {
        const path = names.slice(0, depth).join("/");
        const there = this.#names.get(path);
        if (there === undefined) this.#names.set(path, null);
        else if (there !== null) throw new DiskError(path === folder ? "EEXIST" : "ENOTDIR", path);
      }
    });
  }

  removeFolder(folder: string): void {
    checkPath(folder);
    this.#step("removeFolder", folder, () => {
      const there = this.#names.get(folder);
      if (there === undefined) return;
      if (there !== null) throw new DiskError("ENOTDIR", folder);
      if (this.#names.list(folder).length > 0) throw new DiskError("ENOTEMPTY", folder);
      this.#names.unset(folder);
    });
  }

  rename(from: string, to: string): void {
    checkPath(from);
    checkPath(to);
    this.#step("rename", from, () => {
      const content = this.#existing(from);
      this.#requireFolder(to);
      const replaced = this.#names.get(to);
      if (replaced === null) throw new DiskError("EISDIR", to);
      if (replaced === content) return;
      this.#names.move(from, to);
      if (replaced !== undefined) this.#unlink(replaced);
    });
  }

  remove(path: string): void {
    checkPath(path);
    this.#step("remove", path, () => {
      const content = this.#names.get(path);
      if (content === undefined) return;
      if (content === null) throw new DiskError("EISDIR", path);
      this.#names.unset(path);
      this.#unlink(content);
    });
  }

  removeLater(path: string, done: (error: DiskError | null) => void): void {
    this.#requireAlive();
    this.#completions.push(() => {
      let failure: DiskError | null = null;
      try {
        this.remove(path);
      } catch (error) {
        if (!(error instanceof DiskError)) throw error;
        failure = error;
      }
      done(failure);
    });
  }

  syncFolder(folder: string): void {
    if (folder !== "") checkPath(folder);
    this.#step("syncFolder", folder, () => {
      if (this.#names.get(folder) !== null) throw new DiskError("ENOENT", folder);
      this.#names.sync(folder);
    });
  }

  syncFolderLater(folder: string, done: (error: DiskError | null) => void): void {
    const code = this.#plannedError("syncFolder", folder);
    const covered = this.#names.beginSync();
    this.#completions.push(() => {
      if (code === null) this.#names.sync(folder, covered);
      done(code === null ? null : new DiskError(code, folder));
    });
  }

  freeBytes(): number {
    return Math.max(0, Math.min(this.quotaBytes - this.#usedBytes, Number.MAX_SAFE_INTEGER));
  }

  // What the test calls: when things end.

  /** Ends the next `count` syncs and reads in the order they were asked; returns how many there were. */
  finish(count = 1): number {
    let finished = 0;
    while (finished < count && this.finishAt(0)) finished++;
    return finished;
  }

  /** Ends every sync and read, those that begin meanwhile too; returns how many there were. */
  finishAll(): number {
    return this.finish(Infinity);
  }

  /** Ends the sync or read that `index` others wait before; whether there was one. */
  finishAt(index: number): boolean {
    if (this.#crashed !== null) return false;
    const [complete] = this.#completions.splice(index, 1);
    complete?.();
    return complete !== undefined;
  }

  /** How many syncs and reads wait for their end. */
  get pendingCount(): number {
    return this.#completions.length;
  }

  // What the test calls: what goes wrong.

  /** Fails the next operation of a kind with `code`, below `pathPrefix` only if it is given. */
  failNext(kind: OperationKind, code: string, pathPrefix = ""): void {
    this.#faults.plan({ kind, code, pathPrefix, passes: 0, times: 1 });
  }

  /** Lets `passes` operations succeed, then fails `times` of them, whatever they are. */
  failAfter(passes: number, code: string, times = 1): void {
    this.#faults.plan({ kind: undefined, code, pathPrefix: "", passes, times });
  }

  /**
   * Lets `passes` operations succeed and crashes in the next: it throws CrashSignal, as everything
   * after it does. With `prng` that operation may have happened, a write in part.
   */
  crashAfter(passes: number, prng: Prng | null = null): void {
    this.#faults.planCrash(passes, prng);
  }

  /** Forgets what was planned by `failNext`, `failAfter` and `crashAfter`. */
  clearFaults(): void {
    this.#faults.clear();
  }

  /** Called before each operation; what it throws ends the disk, as a crash does. */
  set onOperation(hook: ((operation: DiskOperation) => void) | null) {
    this.#faults.onOperation = hook;
  }

  /** Operations so far, failed ones too. */
  get operationCount(): number {
    return this.#faults.operationCount;
  }

  /** Turns one bit of a file over, for good. */
  flip(path: string, offset: number, bit: number): void {
    this.#existing(path).flip(offset, bit);
  }

  /**
   * Ends this disk and returns the one the next boot finds. The death of a process keeps everything
   * written (a later power loss may still take what was unsynced). A power loss keeps, loses or tears
   * each unsynced write and keeps or loses each unsynced change of names. Calling it again on the dead
   * disk gives another possible outcome.
   */
  crash(crash: Crash): MemoryDisk {
    this.#crashed ??= new CrashSignal(crash.kind === "power" ? "power loss" : "process death");
    const copies = new Map<FileContent, FileContent>();
    const copy = (content: FileContent): FileContent => {
      const known = copies.get(content);
      if (known !== undefined) return known;
      const next = crash.kind === "power"
        ? content.afterPowerLoss(crash.prng)
        : content.afterProcessDeath();
      copies.set(content, next);
      return next;
    };
    const names = crash.kind === "power"
      ? this.#names.afterPowerLoss(crash.prng, copy)
      : this.#names.afterProcessDeath(copy);
    const next = new MemoryDisk({ blockBytes: this.blockBytes, names });
    next.quotaBytes = this.quotaBytes;
    next.handlesMax = this.handlesMax;
    return next;
  }

  // What the test calls: what there is.

  /** Whether this disk has crashed. */
  get crashed(): boolean {
    return this.#crashed !== null;
  }

  /** Handles that are open. */
  get openCount(): number {
    return this.#openCount;
  }

  /** Bytes that all files together take, removed ones that are still open too. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Paths of all files, sorted. */
  paths(): string[] {
    return this.#names.filePaths();
  }

  /** A copy of what a file holds, without an operation; undefined when it is not there. */
  contentOf(path: string): Uint8Array | undefined {
    const content = this.#names.get(path);
    return content === null ? undefined : content?.read(0, content.byteLength);
  }

  readonly #access: DiskAccess = {
    step: (kind, path, effect) => this.#step(kind, path, effect),
    alive: () => this.#requireAlive(),
    later: (complete) => void this.#completions.push(complete),
    plannedError: (kind, path) => this.#plannedError(kind, path),
    write: (content, offset, bytes) => this.#write(content, offset, bytes),
    resized: (content, byteLength) => {
      this.#usedBytes += this.#roomOf(content) - this.#roomFor(byteLength);
    },
    interruptedLength: (length) => this.#interruptedLength(length),
    isRemoved: (content) => this.#unlinked.has(content),
    closed: (content) => this.#closed(content),
  };

  #step<T>(kind: OperationKind, path: string, effect: Effect<T>): T {
    const act = typeof effect === "function" ? effect : effect.whole;
    const code = this.#plannedError(kind, path, () => {
      if (typeof effect !== "function") effect.part(true);
      else if (this.#faults.crashPrng?.nextBelow(2) === 0) act();
    });
    if (code === null) return act();
    if (typeof effect !== "function") effect.part(false);
    throw new DiskError(code, path);
  }

  /** The code an operation fails with; throws when the disk crashes there, after `interrupted`. */
  #plannedError(kind: OperationKind, path: string, interrupted?: () => void): string | null {
    this.#requireAlive();
    try {
      const verdict = this.#faults.next(kind, path);
      if (verdict !== "crash") return verdict;
    } catch (error) {
      this.#crashed = new CrashSignal(`${kind} ${path}`);
      throw error;
    }
    this.#crashed = new CrashSignal(`${kind} ${path}`);
    try {
      interrupted?.();
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
    }
    throw this.#crashed;
  }

  #requireAlive(): void {
    if (this.#crashed !== null) throw this.#crashed;
  }

  /** How much of an interrupted or failing write gets through. */
  #interruptedLength(length: number): number {
    if (this.#crashed === null) return length >>> 1;
    return this.#faults.crashPrng?.nextBelow(length + 1) ?? 0;
  }

  #write(content: FileContent, offset: number, bytes: Uint8Array): boolean {
    const before = this.#roomOf(content);
    const end = Math.max(content.byteLength, this.#fullBlocks(before + this.freeBytes()));
    const fitting = Math.max(0, Math.min(bytes.length, end - offset));
    if (fitting > 0) content.write(offset, bytes.subarray(0, fitting));
    this.#usedBytes += this.#roomOf(content) - before;
    return fitting === bytes.length;
  }

  #fullBlocks(byteCount: number): number {
    return byteCount - byteCount % this.blockBytes;
  }

  #roomFor(byteLength: number): number {
    return Math.ceil(byteLength / this.blockBytes) * this.blockBytes;
  }

  #roomOf(content: FileContent): number {
    return this.#roomFor(content.byteLength);
  }

  #create(path: string): FileContent {
    if (this.#names.get(path) !== undefined) throw new DiskError("EEXIST", path);
    this.#requireFolder(path);
    const content = new FileContent();
    this.#names.set(path, content);
    return content;
  }

  #existing(path: string): FileContent {
    const content = this.#names.get(path);
    if (content === undefined) throw new DiskError("ENOENT", path);
    if (content === null) throw new DiskError("EISDIR", path);
    return content;
  }

  #requireFolder(path: string): void {
    if (this.#names.get(folderOf(path)) !== null) throw new DiskError("ENOENT", path);
  }

  #unlink(content: FileContent): void {
    if ((this.#handleCounts.get(content) ?? 0) === 0) this.#usedBytes -= this.#roomOf(content);
    else this.#unlinked.add(content);
  }

  #closed(content: FileContent): void {
    this.#openCount--;
    const left = this.#handleCounts.get(content)! - 1;
    this.#handleCounts.set(content, left);
    if (left > 0) return;
    this.#handleCounts.delete(content);
    if (this.#unlinked.delete(content)) this.#usedBytes -= this.#roomOf(content);
  }
}
