// Chooses the data file that is to be emptied next: the deadest one, when the folder is much larger than
// what lives in it. Keeper asks it every turn while nothing is being moved; the movers do the work.

import type { DataFile, DataFiles } from "./data_files.ts";
import { BATCH_HEADER_BYTES } from "./format.ts";
import type { Room } from "./room.ts";
import type { StoreSizes } from "./sizes.ts";

// A file is worth emptying when less than this part of it is alive.
const MOVE_BELOW_RATIO = 0.5;
// What a group of copied records takes besides them: the head of a batch, and zeros at its end.
const GROUP_BYTES = BATCH_HEADER_BYTES + 8;
// A look at all files that has found none is paid for by turns without one: so many files a turn.
const FILES_PER_TURN = 64;

/** Chooses files to be emptied. */
export class Victims {
  readonly #files: DataFiles;
  readonly #sizes: StoreSizes;
  readonly #room: Room;
  #restTurns = 0;

  constructor(parts: { files: DataFiles; sizes: StoreSizes; room: Room }) {
    this.#files = parts.files;
    this.#sizes = parts.sizes;
    this.#room = parts.room;
  }

  /** The next file; null when none is worth it. Log files below `fromLog` are not read at a start. */
  next(nowMs: number, fromLog: number): DataFile | null {
    const { isLow } = this.#room;
    if (!isLow && this.#restTurns > 0) {
      this.#restTurns--;
      return null;
    }
    const logs = this.#files.ofKind("log");
    const segments = this.#files.ofKind("segment");
    const slackBytes = isLow ? this.#sizes.moveGroupBytes : this.#sizes.moveSlackBytes;
    let best: DataFile | null = null;
    if (deadBytes(logs) + deadBytes(segments) > slackBytes) {
      for (const file of logs) {
        if (file.number < fromLog) best = this.#better(file, best, nowMs);
      }
      for (const file of segments) best = this.#better(file, best, nowMs);
    }
    if (best === null) {
      this.#restTurns = Math.floor((logs.length + segments.length) / FILES_PER_TURN);
    }
    return best;
  }

  #better(file: DataFile, best: DataFile | null, nowMs: number): DataFile | null {
    if (file.isPinned || file.liveRecords === 0 || !this.mayMove(file, nowMs)) return best;
    if (file.liveBytes > file.byteLength * MOVE_BELOW_RATIO) return best;
    if (this.copyBytesOf(file) >= file.byteLength) return best;
    // On a full disk there has to be room for what is moved, and some to go on with.
    if (this.#room.isLow && file.liveBytes * 4 > this.#room.freeBytes) return best;
    return best === null || file.liveBytes < best.liveBytes ? file : best;
  }

  /** Whether it is not too early to try again to empty a file that could not be emptied. */
  mayMove(file: DataFile, nowMs: number): boolean {
    return nowMs >= file.movableAtMs;
  }

  /**
   * How large the copy of what lives in a file may get. One that is not smaller than the file would be the
   * next to be copied, and so on for ever.
   */
  copyBytesOf({ liveRecords, liveBytes }: DataFile): number {
    const { moveGroupRecords, moveGroupBytes } = this.#sizes;
    const full = Math.floor(liveRecords / moveGroupRecords + liveBytes / moveGroupBytes);
    return liveBytes + Math.min(liveRecords, full + 1) * GROUP_BYTES;
  }
}

// By how much files are larger than twice what lives in them.
function deadBytes(files: readonly DataFile[]): number {
  let bytes = 0;
  for (const { byteLength, liveBytes } of files) bytes += byteLength - liveBytes * 2;
  return bytes;
}
