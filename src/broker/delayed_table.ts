// The table of all messages that a node holds back and has in memory: flat arrays in chunks, which never
// have to be copied to grow. A timer's payload is a row of it. RetryQueue enters messages and takes them
// out; nothing here knows queues or time.

/** Messages in a chunk: a power of two. */
const CHUNK_ROWS = 8192;
const CHUNK_SHIFT = 13;
const CHUNK_MASK = CHUNK_ROWS - 1;
const ROW_BYTES = 56;
/** No row. */
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

/** A message to be held back, or one that is. */
export interface DelayedMessage {
  ref: number;
  position: number;
  entry: number;
  bodyBytes: number;
  /** Broker time at which the delay ends, ms. */
  dueMs: number;
  /** Rises with every delay of the node: the order of those that end at the same time. */
  number: number;
}

/** Node-wide table of delayed messages; it grows by chunks. */
export class DelayedTable {
  /** All delayed messages of the node, */
  count = 0;
  /** and the bytes of their bodies. */
  bodyBytes = 0;
  /** Number of the last delay; goes on behind those of earlier lives of the node. */
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

  /** Rows at and above this one are not in use. */
  get rowEnd(): number {
    return this.#unused;
  }

  /** A number for a queue that enters messages. */
  takeOwner(): number {
    return ++this.#lastOwner;
  }

  /** Whose message it is; 0 for a row that is free, also when it never was in use. */
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

  /** When the delay ends; the timer may be set earlier, for an expiry. */
  dueMsAt(index: number): number {
    return this.#chunkOf(index).dueMs[index & CHUNK_MASK]!;
  }

  /** Number of the delay; 0 for a row that is free, also when it never was in use. */
  numberAt(index: number): number {
    const chunk = this.#chunks[index >>> CHUNK_SHIFT];
    return chunk === undefined ? 0 : chunk.numbers[index & CHUNK_MASK]!;
  }

  /** Handle of its timer. */
  handleAt(index: number): number {
    return this.#chunkOf(index).handles[index & CHUNK_MASK]!;
  }

  /** Neighbours in the list that its queue keeps; see cold_delays.ts. */
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

  /** Enters a message of `owner` and returns its row. */
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

  /** Forgets a message. */
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
