// Chooses the data file that is emptied next: the file with the smallest live part, when the folder
// is much larger than its live bytes. Keeper asks it every turn while nothing is being moved. The
// movers do the work.

import type { DataFile, DataFiles } from "../folder/data_files.ts";
import { BATCH_HEADER_BYTES } from "../format/format.ts";
import type { Room } from "./room.ts";
import type { StoreSizes } from "../folder/sizes.ts";

// A file is worth emptying when less than this part of it is alive.
const MOVE_BELOW_RATIO = 0.5;
// Bytes of a group of copied records beside the records: the header of a batch, and zeros at its
// end.
const GROUP_BYTES = BATCH_HEADER_BYTES + 8;
// After a look at all files that has found none, some turns pass without a look: one turn for this
// many files.
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

  /**
   * Returns the next file; null when none is worth it. A start does not read log files below
   * `fromLog`.
   */
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
    // On a full disk there must be room for the moved bytes, and some more to go on with.
    if (this.#room.isLow && file.liveBytes * 4 > this.#room.freeBytes) return best;
    return best === null || file.liveBytes < best.liveBytes ? file : best;
  }

  /** Whether a file that could not be emptied may be tried again. */
  mayMove(file: DataFile, nowMs: number): boolean {
    return nowMs >= file.movableAtMs;
  }

  /**
   * Returns the size that the copy of a file's live records may have. A copy that is not smaller
   * than the file would be the next to be copied, and so on for ever.
   */
  copyBytesOf({ liveRecords, liveBytes }: DataFile): number {
    const { moveGroupRecords, moveGroupBytes } = this.#sizes;
    const full = Math.floor(liveRecords / moveGroupRecords + liveBytes / moveGroupBytes);
    return liveBytes + Math.min(liveRecords, full + 1) * GROUP_BYTES;
  }
}

// Returns how many bytes files have beyond twice their live bytes.
function deadBytes(files: readonly DataFile[]): number {
  let bytes = 0;
  for (const { byteLength, liveBytes } of files) bytes += byteLength - liveBytes * 2;
  return bytes;
}
