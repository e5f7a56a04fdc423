// The room left on the disk: asks for it now and then and remembers whether it is enough. Keeper asks it
// every step; what is done about a full disk is decided there and in broker/.

import type { Logger } from "../../lib/logger.ts";
import { DiskError, type FileSystem } from "../file_system.ts";

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
}

/** Watches a disk. */
export class Room {
  /** Whether the disk has less room than it must have. */
  isLow = false;
  /** Room that there was when it was asked last. */
  freeBytes = Infinity;
  readonly #options: RoomOptions;
  #checkedAtBytes = -Infinity;
  #checkedMs = -Infinity;
  #stepsLeft = 0;

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  /** Asks the disk if it is time to; whether it has been asked. */
  check(nowMs: number, loggedBytes: number): boolean {
    const { fs, logger, freeBytesMin, checkBytes } = this.#options;
    const isDue = --this.#stepsLeft <= 0 || nowMs - this.#checkedMs >= CHECK_INTERVAL_MS ||
      loggedBytes - this.#checkedAtBytes >= checkBytes;
    if (!isDue) return false;
    this.#stepsLeft = CHECK_STEPS;
    this.#checkedMs = nowMs;
    this.#checkedAtBytes = loggedBytes;
    try {
      const wasLow = this.isLow;
      const freeBytes = fs.freeBytes();
      this.freeBytes = freeBytes;
      this.isLow = freeBytes < freeBytesMin;
      if (this.isLow !== wasLow) {
        const message = wasLow ? "the disk has room again" : "the disk is low";
        logger.log("info", message, { freeBytes, freeBytesMin });
      }
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      logger.log("error", "cannot ask for the room on the disk", { error: error.message });
    }
    return true;
  }
}
