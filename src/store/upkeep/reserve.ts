// Room on the disk that is kept for when the disk is full: a file of the folder whose bytes mean
// nothing. When no file takes the log, a snapshot and a manifest help (rescue.ts), and these need
// room of their own. Room makes it take that room again as soon as there is some.

import { Prng } from "../../lib/prng.ts";
import { DiskError, type FileSystem } from "../file_system.ts";

const NAME = "RESERVE";

const NOT_LOOKED = -1;

/** The reserve of a folder. */
export class Reserve {
  /** Whether the room was released and is still being used. */
  isInUse = false;
  readonly #fs: FileSystem;
  readonly #byteCount: number;
  #heldBytes = NOT_LOOKED;
  #isShort = false;

  /** Without a reserve, `byteCount` is 0. */
  constructor(fs: FileSystem, byteCount: number) {
    this.#fs = fs;
    this.#byteCount = byteCount;
  }

  /** Whether the reserve is smaller than it should be. Then no other file has room either. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /**
   * Takes its room, unless it has it. If that is more than `freeBytes`, it takes half of
   * `freeBytes`, because the log would use up all of them. @throws DiskError, but not for a full
   * disk
   */
  take(freeBytes: number): void {
    if (this.#byteCount === 0 || this.isInUse) return;
    if (this.#heldBytes === NOT_LOOKED) this.#heldBytes = this.#look();
    const fittingBytes = freeBytes + this.#heldBytes;
    this.#isShort = this.#heldBytes < this.#byteCount && fittingBytes < this.#byteCount;
    if (this.#heldBytes >= this.#byteCount || this.#isShort && this.#heldBytes > 0) return;
    try {
      this.#write(this.#isShort ? Math.floor(freeBytes / 2) : this.#byteCount);
    } catch (error) {
      if (!(error instanceof DiskError) || error.code !== "ENOSPC") throw error;
      this.#isShort = true;
    }
  }

  /** Frees its room for the next file. @throws DiskError */
  release(): void {
    if (this.#byteCount === 0) return;
    this.#fs.remove(NAME);
    this.#heldBytes = 0;
    this.#isShort = true;
  }

  #look(): number {
    try {
      const handle = this.#fs.open(NAME, "read");
      const { byteLength } = handle;
      handle.close();
      return byteLength;
    } catch (error) {
      if (error instanceof DiskError && error.code === "ENOENT") return 0;
      throw error;
    }
  }

  #write(byteCount: number): void {
    this.#fs.remove(NAME);
    this.#heldBytes = 0;
    const handle = this.#fs.open(NAME, "create");
    try {
      handle.write(filling(byteCount), 0, byteCount, 0);
      this.#heldBytes = byteCount;
    } finally {
      handle.close();
      // A partly written reserve is of no use.
      if (this.#heldBytes === 0) this.#fs.remove(NAME);
    }
  }
}

// Random bytes, because a file system that compresses would keep hardly any room for zeros.
function filling(byteCount: number): Uint8Array {
  const prng = new Prng(1);
  const words = new Uint32Array(Math.ceil(byteCount / 4)).map(() => prng.nextU32());
  return new Uint8Array(words.buffer);
}
