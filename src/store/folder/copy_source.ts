// What a FileMover copies out of a data file: its pages, or its single records. The mover knows when
// copies are written and safe; the source knows what they are.

import type { DataFile } from "./data_files.ts";

/** Something was gathered, and perhaps is being read. */
export const GATHERED_SOME = 0;
/** Nothing was found so far; there may be more. */
export const GATHERED_NONE = 1;
/** Everything has been gathered. */
export const GATHERED_ALL = 2;

/** Copies that go into a segment file together. */
export interface Copies<Copy> {
  readonly copies: readonly Copy[];
  /** The bytes of the copies: `bytes[0, byteCount)`. */
  readonly bytes: Uint8Array;
  readonly byteCount: number;
}

/** The things of one kind in a file. */
export interface CopySource<Copy> {
  /** Whether something that was gathered is still being read. */
  readonly isReading: boolean;
  /** Turns to the things in a file; false when there is none. */
  begin(victim: DataFile): boolean;
  /**
   * Gathers some of them, in bounded work, and has them read. Returns one of `GATHERED_*`.
   * @throws DiskError when the file cannot be opened
   */
  gather(): number;
  /** Copies what was gathered, but for what has left or cannot be read. The bytes are reused. */
  copy(nowMs: number): Copies<Copy>;
  /** The copy is safe at this offset of a segment file; it counts unless the thing has left. */
  moved(copy: Copy, file: DataFile, offset: number): void;
}
