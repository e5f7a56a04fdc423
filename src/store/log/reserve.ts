// Room on the disk that is kept for the day it is full: a file of the folder that holds nothing. A log that
// no file takes is helped by a snapshot and a manifest (rescue.ts), and those need room of their own. Room
// has it taken again as soon as it can be.

import { putU32 } from "../../lib/bytes.ts";
import { Prng } from "../../lib/prng.ts";
import { DiskError, type FileSystem } from "../file_system.ts";

const NAME = "RESERVE";

const NOT_LOOKED = -1;

/** A reserve of room. */
export class Reserve {
  /** Whoever has made it give up its room is still at work. */
  isInUse = false;
  readonly #fs: FileSystem;
  readonly #byteCount: number;
  #heldBytes = NOT_LOOKED;
  #isShort = false;

  /** With a `byteCount` of 0 there is no reserve. */
  constructor(fs: FileSystem, byteCount: number) {
    this.#fs = fs;
    this.#byteCount = byteCount;
  }

  /** Whether it has less than its room: then no room is left for anything else either. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /**
   * Takes its room if it does not have it. Where that is more than `freeBytes`, it takes half of those:
   * the log would use them up to the last. @throws DiskError but for a full disk
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

  /** Gives its room to whoever takes it next. @throws DiskError */
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
      // A part of it is of no use.
      if (this.#heldBytes === 0) this.#fs.remove(NAME);
    }
  }
}

// A file system that compresses would hardly keep room for zeros.
function filling(byteCount: number): Uint8Array {
  const bytes = new Uint8Array(byteCount);
  const prng = new Prng(1);
  for (let at = 0; at + 4 <= byteCount; at += 4) putU32(bytes, at, prng.nextU32());
  return bytes;
}
