// How much is read ahead of the heads of queues, and what of it has not been used yet: that stays in
// memory until it is, within a part of what may be there. RecordReads asks before it reads, the evictor
// before it gives a record up. Knows references and bytes, never files.
//
//   a window grows   while all that was read ahead for its lane was used:      8 > 16 > … > 256 records
//   and shrinks      when some of it had to make way for others before it was: 8 > 4 > 2 > 1 > 0

import type { ReadyLane } from "../port.ts";

const FIRST_RECORDS = 8;
const RECORDS_MAX = 256;
// A lane for which nothing has been used while so many heads were asked for makes way for others.
const STALE_HEADS = 4096;

/** What is read ahead for one lane. */
interface Window {
  /** So many records the next time. */
  records: number;
  /** Records that have not been used. */
  unusedCount: number;
  /** Whether some had to make way. */
  isCut: boolean;
  /** Heads asked for, of all lanes, when something of this one was used last. */
  usedAt: number;
}

/** A record that was read ahead. */
interface Unused {
  window: Window;
  bytes: number;
}

/** The records that have been read ahead and not used. */
export class ReadAhead {
  readonly #bytesMax: number;
  readonly #windows = new WeakMap<ReadyLane, Window>();
  /** By reference, oldest first. */
  readonly #unused = new Map<number, Unused>();
  #unusedBytes = 0;
  #headCount = 0;

  /** At most `bytesMax` bytes stay in memory for their turn. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** How many records there are. */
  get count(): number {
    return this.#unused.size;
  }

  /** Bytes that may still be read ahead. */
  get freeBytes(): number {
    return this.#bytesMax - this.#unusedBytes;
  }

  /** The head of a lane is to be read; how many records behind it may be as well. */
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
      // There has to be much room, or all lanes begin anew together.
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

  /** A record is being read ahead for a lane that `recordsFor` was asked about. */
  add(lane: ReadyLane, ref: number, bytes: number): void {
    const window = this.#windows.get(lane)!;
    window.unusedCount++;
    this.#unused.set(ref, { window, bytes });
    this.#unusedBytes += bytes;
  }

  /** Whether a record waits for its turn and is to stay in memory. */
  has(ref: number): boolean {
    return this.#unused.has(ref);
  }

  /** A record has been looked at, is gone or could not be read; most were never read ahead. */
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
