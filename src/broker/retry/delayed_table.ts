// The table of all delayed messages of a node that are in memory: flat arrays in chunks, so that
// growing copies nothing. The payload of a timer is a row of this table. RetryQueue adds and removes
// messages; nothing here knows queues or time.

import type { RetryRange } from "./name.ts";

/** Messages in a chunk: a power of two. */
const CHUNK_ROWS = 8192;
const CHUNK_SHIFT = 13;
const CHUNK_MASK = CHUNK_ROWS - 1;
/** Bytes of a row: 6 fields of 4 bytes and 4 fields of 8 bytes. */
const ROW_BYTES = 56;
/** Stands in place of a row: there is none. */
export const NO_ROW = 0xffff_ffff;

class DelayedChunk {
  readonly refs = new Uint32Array(CHUNK_ROWS);
  readonly entries = new Uint32Array(CHUNK_ROWS);
  readonly bodyBytes = new Uint32Array(CHUNK_ROWS);
  readonly owners = new Uint32Array(CHUNK_ROWS);
  readonly positions = new Float64Array(CHUNK_ROWS);
  readonly dueMs = new Float64Array(CHUNK_ROWS);
  readonly numbers = new Float64Array(CHUNK_ROWS);
  readonly handles = new Float64Array(CHUNK_ROWS);
  readonly next = new Uint32Array(CHUNK_ROWS);
  readonly previous = new Uint32Array(CHUNK_ROWS);
}

/** A delayed message. */
export interface DelayedMessage {
  ref: number;
  position: number;
  entry: number;
  bodyBytes: number;
  /** Broker time at which the delay ends, ms. */
  dueMs: number;
  /**
   * Number of the delay. It rises with every delay of the node and orders those that end at the same
   * time.
   */
  number: number;
}

/** Node-wide table of delayed messages; it grows by chunks. */
export class DelayedTable {
  /** Number of all delayed messages of the node, in memory and in pages. */
  count = 0;
  /** Bytes of the bodies of all delayed messages of the node. */
  bodyBytes = 0;
  /** Number of the last delay. Numbers continue those of earlier runs of the node. */
  lastNumber = 0;
  readonly #chunks: DelayedChunk[] = [];
  #firstFree = NO_ROW;
  #unused = 0;
  #rowCount = 0;
  #lastOwner = 0;

  /** Bytes of the arrays. */
  get memoryBytes(): number {
    return this.#chunks.length * CHUNK_ROWS * ROW_BYTES;
  }

  /** Bytes of the rows in use. */
  get usedBytes(): number {
    return this.#rowCount * ROW_BYTES;
  }

  #chunkOf(index: number): DelayedChunk {
    return this.#chunks[index >>> CHUNK_SHIFT]!;
  }

  /** No row from this one on is in use. */
  get rowEnd(): number {
    return this.#unused;
  }

  /** Returns a new number that marks the rows of one queue. */
  takeOwner(): number {
    return ++this.#lastOwner;
  }

  /** Owner of the row; 0 for a free row and for one that was never used. */
  ownerAt(index: number): number {
    const chunk = this.#chunks[index >>> CHUNK_SHIFT];
    return chunk === undefined ? 0 : chunk.owners[index & CHUNK_MASK]!;
  }

  refAt(index: number): number {
    return this.#chunkOf(index).refs[index & CHUNK_MASK]!;
  }

  entryAt(index: number): number {
    return this.#chunkOf(index).entries[index & CHUNK_MASK]!;
  }

  bodyBytesAt(index: number): number {
    return this.#chunkOf(index).bodyBytes[index & CHUNK_MASK]!;
  }

  positionAt(index: number): number {
    return this.#chunkOf(index).positions[index & CHUNK_MASK]!;
  }

  /** When the delay ends, ms; the timer may be set earlier, for an expiry. */
  dueMsAt(index: number): number {
    return this.#chunkOf(index).dueMs[index & CHUNK_MASK]!;
  }

  /** Number of the delay; 0 for a free row and for one that was never used. */
  numberAt(index: number): number {
    const chunk = this.#chunks[index >>> CHUNK_SHIFT];
    return chunk === undefined ? 0 : chunk.numbers[index & CHUNK_MASK]!;
  }

  /**
   * Returns the first row from `start` on that has a message of `owner` with a name in the range; `end`
   * when there is none before it.
   */
  findRow(owner: number, start: number, end: number, { after, until }: RetryRange): number {
    for (let index = start; index < end;) {
      const { owners, dueMs, numbers } = this.#chunkOf(index);
      const chunkEnd = Math.min(end, (index | CHUNK_MASK) + 1);
      for (; index < chunkEnd; index++) {
        const at = index & CHUNK_MASK;
        const rowMs = dueMs[at]!;
        if (owners[at] !== owner || rowMs < after.dueMs || rowMs > until.dueMs) continue;
        if (rowMs === after.dueMs && numbers[at]! <= after.number) continue;
        if (rowMs === until.dueMs && numbers[at]! > until.number) continue;
        return index;
      }
    }
    return end;
  }

  /** The message of a row. */
  messageAt(index: number): DelayedMessage {
    return {
      ref: this.refAt(index),
      position: this.positionAt(index),
      entry: this.entryAt(index),
      bodyBytes: this.bodyBytesAt(index),
      dueMs: this.dueMsAt(index),
      number: this.numberAt(index),
    };
  }

  /** Handle of the message's timer. */
  handleAt(index: number): number {
    return this.#chunkOf(index).handles[index & CHUNK_MASK]!;
  }

  /** The next row in the list that the queue keeps; see cold_delays.ts. */
  nextOf(index: number): number {
    return this.#chunkOf(index).next[index & CHUNK_MASK]!;
  }

  previousOf(index: number): number {
    return this.#chunkOf(index).previous[index & CHUNK_MASK]!;
  }

  setNext(index: number, next: number): void {
    this.#chunkOf(index).next[index & CHUNK_MASK] = next;
  }

  setPrevious(index: number, previous: number): void {
    this.#chunkOf(index).previous[index & CHUNK_MASK] = previous;
  }

  setHandle(index: number, handle: number): void {
    this.#chunkOf(index).handles[index & CHUNK_MASK] = handle;
  }

  /** Adds a message of `owner` and returns its row. */
  add(message: DelayedMessage, owner: number): number {
    const index = this.#allocate();
    const chunk = this.#chunkOf(index);
    const at = index & CHUNK_MASK;
    chunk.refs[at] = message.ref;
    chunk.owners[at] = owner;
    chunk.entries[at] = message.entry;
    chunk.bodyBytes[at] = message.bodyBytes;
    chunk.positions[at] = message.position;
    chunk.dueMs[at] = message.dueMs;
    chunk.numbers[at] = message.number;
    this.#rowCount++;
    return index;
  }

  /** Removes a message. */
  remove(index: number): void {
    const chunk = this.#chunkOf(index);
    chunk.refs[index & CHUNK_MASK] = this.#firstFree;
    chunk.numbers[index & CHUNK_MASK] = 0;
    chunk.owners[index & CHUNK_MASK] = 0;
    this.#firstFree = index;
    if (--this.#rowCount > 0) return;
    this.#chunks.length = 1;
    this.#firstFree = NO_ROW;
    this.#unused = 0;
  }

  #allocate(): number {
    const free = this.#firstFree;
    if (free !== NO_ROW) {
      this.#firstFree = this.refAt(free);
      return free;
    }
    const index = this.#unused++;
    if (index >>> CHUNK_SHIFT === this.#chunks.length) this.#chunks.push(new DelayedChunk());
    return index;
  }
}
