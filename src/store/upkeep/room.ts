// The free space of the disk: asks for it now and then, remembers whether it is enough, and keeps a
// reserve. Keeper calls it every step. Keeper and broker/ decide what to do when the disk is full.

import type { Logger } from "../../lib/logger.ts";
import { DiskError, type FileSystem } from "../file_system.ts";
import { Reserve } from "./reserve.ts";
import type { TroubleName, Troubles } from "../folder/troubles.ts";

// Other programs fill and empty the same disk.
const CHECK_INTERVAL_MS = 1000;
// With a clock that stands still, the disk is asked after this many steps.
const CHECK_STEPS = 256;

/** The options of {@link Room}. */
export interface RoomOptions {
  fs: FileSystem;
  logger: Logger;
  troubles: Troubles;
  /** The disk is low when it has less free space than this. */
  freeBytesMin: number;
  /** The disk is asked after this many bytes logged. */
  checkBytes: number;
  /** Bytes that are kept in reserve. */
  reserveBytes: number;
}

/** Watches a disk. */
export class Room {
  readonly reserve: Reserve;
  /** Free space when the disk was last asked, bytes. */
  freeBytes = Infinity;
  readonly #options: RoomOptions;
  #isBelowLimit = false;
  #isToldLow = false;
  #checkedAtBytes = -Infinity;
  #checkedMs = -Infinity;
  #stepsLeft = 0;

  constructor(options: RoomOptions) {
    this.#options = options;
    this.reserve = new Reserve(options.fs, options.reserveBytes);
  }

  /** Whether the disk has less free space than it must have. */
  get isLow(): boolean {
    return this.#isBelowLimit || this.reserve.isShort;
  }

  /** Asks the disk if it is time, and returns whether it did. */
  check(nowMs: number, loggedBytes: number): boolean {
    const { fs, freeBytesMin, checkBytes } = this.#options;
    const isDue = --this.#stepsLeft <= 0 || nowMs - this.#checkedMs >= CHECK_INTERVAL_MS ||
      loggedBytes - this.#checkedAtBytes >= checkBytes;
    if (!isDue) return false;
    this.#stepsLeft = CHECK_STEPS;
    this.#checkedMs = nowMs;
    this.#checkedAtBytes = loggedBytes;
    this.#attempt("room", "ask for the room on the disk", () => {
      this.freeBytes = fs.freeBytes();
      this.#isBelowLimit = this.freeBytes < freeBytesMin;
    });
    this.keepReserve();
    this.#tellChange();
    return true;
  }

  /** Takes the room of the reserve, unless it is taken. */
  keepReserve(): void {
    this.#attempt("reserve", "keep room in reserve", () => this.reserve.take(this.freeBytes));
  }

  #tellChange(): void {
    const { isLow, freeBytes } = this;
    if (isLow === this.#isToldLow) return;
    this.#isToldLow = isLow;
    const { logger, freeBytesMin } = this.#options;
    const message = isLow ? "the disk is low" : "the disk has room again";
    logger.log("info", message, { freeBytes, freeBytesMin });
  }

  #attempt(name: TroubleName, what: string, act: () => void): void {
    const { troubles } = this.#options;
    try {
      act();
      troubles.worked(name);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      troubles.failed(name, what, error);
    }
  }
}
