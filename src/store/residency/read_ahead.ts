// Decides how many records are read ahead of the heads of queues. Records that were read ahead stay
// in memory until they are used, within a bound. RecordReads asks before it reads, the evictor
// before it gives a record up. It knows references and bytes, never files.
//
//   a window grows   while all that was read ahead for its lane was used:      8 > 16 > … > 256 records
//   and shrinks      when some of it had to make way for others before it was: 8 > 4 > 2 > 1 > 0

import type { ReadyLane } from "../port.ts";

const FIRST_RECORDS = 8;
const RECORDS_MAX = 256;
// A lane makes way for others when none of its records has been used while this many heads, of all
// lanes, were asked for.
const STALE_HEADS = 4096;

/** The read-ahead of one lane. */
interface Window {
  /** Number of records to read ahead the next time. */
  records: number;
  /** Records that were read ahead and have not been used. */
  unusedCount: number;
  /** Whether some of them had to make way. */
  isCut: boolean;
  /** Number of heads asked for, of all lanes, when a record of this lane was used last. */
  usedAt: number;
}

/** A record that was read ahead. */
interface Unused {
  window: Window;
  bytes: number;
}

/** Records that have been read ahead and not used. */
export class ReadAhead {
  readonly #bytesMax: number;
  readonly #windows = new WeakMap<ReadyLane, Window>();
  /** The records by reference, oldest first. */
  readonly #unused = new Map<number, Unused>();
  #unusedBytes = 0;
  #headCount = 0;

  /** `bytesMax`: the most bytes of records that may stay in memory for their turn. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Number of these records. */
  get count(): number {
    return this.#unused.size;
  }

  /** Bytes that may still be read ahead. */
  get freeBytes(): number {
    return this.#bytesMax - this.#unusedBytes;
  }

  /**
   * Is told that the head of a lane is to be read. Returns how many records behind it may be read
   * as well.
   */
  recordsFor(lane: ReadyLane): number {
    this.#headCount++;
    let window = this.#windows.get(lane);
    if (window === undefined) {
      window = { records: FIRST_RECORDS, unusedCount: 0, isCut: false, usedAt: this.#headCount };
      this.#windows.set(lane, window);
    } else {
      this.#adapt(window);
    }
    window.usedAt = this.#headCount;
    this.#cutStale();
    return window.records;
  }

  #adapt(window: Window): void {
    if (window.isCut) {
      window.records >>= 1;
      window.isCut = false;
    } else if (window.records === 0) {
      // Read-ahead begins again only when there is much room; otherwise all lanes would begin anew
      // together.
      if (this.#hasRoom) window.records = 1;
    } else if (window.unusedCount === 0) {
      window.records = Math.min(window.records * 2, RECORDS_MAX);
    }
  }

  #cutStale(): void {
    for (const [ref, { window }] of this.#unused) {
      if (this.#hasRoom || this.#headCount - window.usedAt < STALE_HEADS) return;
      window.isCut = true;
      this.#remove(ref);
    }
  }

  get #hasRoom(): boolean {
    return this.#unusedBytes * 2 < this.#bytesMax;
  }

  /**
   * Adds a record that is being read ahead for a lane. `recordsFor` has been asked about that lane.
   */
  add(lane: ReadyLane, ref: number, bytes: number): void {
    const window = this.#windows.get(lane)!;
    window.unusedCount++;
    this.#unused.set(ref, { window, bytes });
    this.#unusedBytes += bytes;
  }

  /** Whether a record waits for its turn and must stay in memory. */
  has(ref: number): boolean {
    return this.#unused.has(ref);
  }

  /**
   * Is told that a record has been used, is gone or could not be read. Most such records were never
   * read ahead.
   */
  used(ref: number): void {
    const window = this.#remove(ref);
    if (window !== undefined) window.usedAt = this.#headCount;
  }

  #remove(ref: number): Window | undefined {
    const unused = this.#unused.get(ref);
    if (unused === undefined) return undefined;
    this.#unused.delete(ref);
    this.#unusedBytes -= unused.bytes;
    unused.window.unusedCount--;
    return unused.window;
  }
}
