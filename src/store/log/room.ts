// The room left on the disk: asks for it now and then, remembers whether it is enough, and keeps a reserve
// of it. Keeper asks it every step; what is done about a full disk is decided there and in broker/.

import type { Logger } from "../../lib/logger.ts";
import { DiskError, type FileSystem } from "../file_system.ts";
import { Reserve } from "./reserve.ts";

// Others fill and empty the same disk.
const CHECK_INTERVAL_MS = 1000;
// Where time stands still, so many steps stand for it.
const CHECK_STEPS = 256;

/** What {@link Room} is made of. */
export interface RoomOptions {
  fs: FileSystem;
  logger: Logger;
  /** The disk is low when it has less room than this. */
  freeBytesMin: number;
  /** It is asked after this many bytes logged, */
  checkBytes: number;
  /** and so much of it is kept in reserve. */
  reserveBytes: number;
}

/** Watches a disk. */
export class Room {
  readonly reserve: Reserve;
  /** Room that there was when it was asked last. */
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

  /** Whether the disk has less room than it must have. */
  get isLow(): boolean {
    return this.#isBelowLimit || this.reserve.isShort;
  }

  /** Asks the disk if it is time to; whether it has been asked. */
  check(nowMs: number, loggedBytes: number): boolean {
    const { fs, freeBytesMin, checkBytes } = this.#options;
    const isDue = --this.#stepsLeft <= 0 || nowMs - this.#checkedMs >= CHECK_INTERVAL_MS ||
      loggedBytes - this.#checkedAtBytes >= checkBytes;
    if (!isDue) return false;
    this.#stepsLeft = CHECK_STEPS;
    this.#checkedMs = nowMs;
    this.#checkedAtBytes = loggedBytes;
    this.#attempt("ask for the room on the disk", () => {
      this.freeBytes = fs.freeBytes();
      this.#isBelowLimit = this.freeBytes < freeBytesMin;
    });
    this.keepReserve();
    this.#tellChange();
    return true;
  }

  /** Takes the room of the reserve if it is not taken. */
  keepReserve(): void {
    this.#attempt("keep room in reserve", () => this.reserve.take(this.freeBytes));
  }

  #tellChange(): void {
    const { isLow, freeBytes } = this;
    if (isLow === this.#isToldLow) return;
    this.#isToldLow = isLow;
    const { logger, freeBytesMin } = this.#options;
    const message = isLow ? "the disk is low" : "the disk has room again";
    logger.log("info", message, { freeBytes, freeBytesMin });
  }

  #attempt(what: string, act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#options.logger.log("error", `cannot ${what}`, { error: error.message });
    }
  }
}
