// A run of adjacent positions of one lane, as flat arrays. MemoryLane links chunks from its head to
// its tail; a chunk knows nothing of other chunks. Positions are implied: slot i holds position
// `base + i`, and ref 0 is a hole (taken, dropped or expired). Emptied chunks go back to a pool that
// all lanes share, so that an empty queue owns no buffer and a busy one allocates none.

const SMALL_SLOTS = 32;
const LARGE_SLOTS = 1024;
const POOLED_CHUNKS_MAX = 64;

/** Up to 1024 adjacent positions; a lane's first chunk is small, because most queues stay short. */
export class LaneChunk {
  /** Position of slot 0. */
  base = 0;
  readonly capacity: number;
  readonly refs: Uint32Array;
  readonly entries: Uint32Array;
  /** Made when the first message with an expiry comes. */
  expiries: Float64Array | null = null;
  /** No message here expires before this; it may have left already. */
  expiryMinMs = Infinity;
  /** First slot that may hold a message. */
  head = 0;
  /** Slots used so far. */
  tail = 0;
  next: LaneChunk | null = null;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.refs = new Uint32Array(this.capacity);
    this.entries = new Uint32Array(this.capacity);
  }

  /** Bytes of the arrays. */
  get memoryBytes(): number {
    return this.capacity * (this.expiries === null ? 8 : 16);
  }

  /** Remembers the expiry of slot `index`. */
  setExpiry(index: number, expiryMs: number): void {
    if (this.expiries === null) this.expiries = new Float64Array(this.capacity).fill(Infinity);
    this.expiries[index] = expiryMs;
    if (expiryMs < this.expiryMinMs) this.expiryMinMs = expiryMs;
  }
}

/** Chunks that no lane uses at the moment. */
export class ChunkPool {
  readonly #small: LaneChunk[] = [];
  readonly #large: LaneChunk[] = [];

  /** A chunk whose slot 0 is `base`; small for a lane that has no other. */
  take(base: number, isFirst: boolean): LaneChunk {
    const pooled = (isFirst ? this.#small : this.#large).pop();
    const chunk = pooled ?? new LaneChunk(isFirst ? SMALL_SLOTS : LARGE_SLOTS);
    chunk.base = base;
    return chunk;
  }

  /** Takes back a chunk; its lane must not touch it again. */
  give(chunk: LaneChunk): void {
    const pool = chunk.capacity === SMALL_SLOTS ? this.#small : this.#large;
    if (pool.length === POOLED_CHUNKS_MAX) return;
    chunk.head = 0;
    chunk.tail = 0;
    chunk.next = null;
    chunk.expiries = null;
    chunk.expiryMinMs = Infinity;
    pool.push(chunk);
  }
}
