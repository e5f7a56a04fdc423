// Adjacent positions of one lane, as flat arrays. A lane links chunks from its head to its tail; a
// chunk knows no other chunk. Positions are implied: slot i holds position `base + i`, and ref 0 is
// a hole (taken, dropped or expired). A chunk whose messages are in a page on disk has no slots.
// Empty chunks go to a pool that all lanes share, so that an empty queue owns no buffer and a busy
// one allocates none.

import { type LoadedMessages, type Page, PAGE_BYTES } from "../page.ts";
import type { EntryVisitor } from "../port.ts";

const SMALL_SLOTS = 32;
const LARGE_SLOTS = 1024;
const POOLED_CHUNKS_MAX = 64;
const NO_SLOTS = new Uint32Array(0);

/** Adjacent positions. The first chunk of a lane is small, because most queues stay short. */
export class LaneChunk {
  /** Position of slot 0. */
  base = 0;
  /** Slots that may be used. */
  capacity: number;
  refs: Uint32Array;
  entries: Uint32Array;
  /** Null until the first message with an expiry comes. */
  expiries: Float64Array | null = null;
  /**
   * No message in the chunk expires before this, ms. The message that set it may have left already.
   */
  expiryMinMs = Infinity;
  /** First slot that may hold a message. */
  head = 0;
  /** Slots used so far. */
  tail = 0;
  next: LaneChunk | null = null;
  /** The page that holds the messages when they are not in memory. */
  page: Page | null = null;
  /**
   * Set while the chunk is written to a page. Code that takes a message out of the middle sets it
   * to null.
   */
  draft: object | null = null;
  /** Bytes of the page from which the chunk was read ahead; 0 for any other chunk. */
  aheadBytes = 0;

  constructor(slotCount: number) {
    this.capacity = slotCount;
    this.refs = slotCount === 0 ? NO_SLOTS : new Uint32Array(slotCount);
    this.entries = slotCount === 0 ? NO_SLOTS : new Uint32Array(slotCount);
  }

  /** Bytes of the arrays, or of the page in memory. */
  get memoryBytes(): number {
    if (this.page !== null) return PAGE_BYTES;
    return this.refs.length * (this.expiries === null ? 8 : 16);
  }

  /** Remembers the expiry of slot `index`. */
  setExpiry(index: number, expiryMs: number): void {
    if (this.expiries === null) this.expiries = new Float64Array(this.refs.length).fill(Infinity);
    this.expiries[index] = expiryMs;
    if (expiryMs < this.expiryMinMs) this.expiryMinMs = expiryMs;
  }

  /**
   * Removes up to `max` messages with expiry at or before `nowMs`, gives them to `visit` and
   * returns how many.
   */
  expire(nowMs: number, max: number, visit: EntryVisitor): number {
    const { refs } = this;
    const expiries = this.expiries!;
    let expired = 0;
    let expiryMinMs = Infinity;
    for (let index = this.head; index < this.tail; index++) {
      const ref = refs[index]!;
      if (ref === 0) continue;
      const expiryMs = expiries[index]!;
      if (expiryMs <= nowMs && expired < max) {
        refs[index] = 0;
        expired++;
        visit(ref, this.base + index, this.entries[index]!);
      } else if (expiryMs < expiryMinMs) {
        expiryMinMs = expiryMs;
      }
    }
    if (expired > 0) this.draft = null;
    this.expiryMinMs = expiryMinMs;
    return expired;
  }

  /** Puts messages into the slots of their positions, which must be in use. */
  take(loaded: LoadedMessages): void {
    for (let i = 0; i < loaded.count; i++) {
      const index = loaded.positions[i]! - this.base;
      this.refs[index] = loaded.refs[i]!;
      this.entries[index] = loaded.entries[i]!;
      if (loaded.endsMs[i] !== Infinity) this.setExpiry(index, loaded.endsMs[i]!);
    }
  }

  /** Makes the chunk take no more messages. */
  seal(): void {
    this.capacity = this.tail;
  }

  /** Makes the chunk stand for `page`. Returns its slots as a chunk of their own. */
  turnInto(page: Page): LaneChunk {
    const slots = new LaneChunk(0);
    slots.#takeSlots(this);
    this.#takeSlots(new LaneChunk(0));
    this.base = page.place.first;
    this.expiryMinMs = page.place.expiryMinMs;
    this.page = page;
    this.draft = null;
    this.aheadBytes = 0;
    page.chunk = this;
    return slots;
  }

  /** Gives the chunk the messages of its page again, from the slots of `loaded`. */
  fill(loaded: LaneChunk): void {
    this.page!.chunk = null;
    this.page = null;
    this.#takeSlots(loaded);
  }

  #takeSlots(other: LaneChunk): void {
    this.base = other.base;
    this.capacity = other.capacity;
    this.refs = other.refs;
    this.entries = other.entries;
    this.expiries = other.expiries;
    this.expiryMinMs = other.expiryMinMs;
    this.head = other.head;
    this.tail = other.tail;
  }
}

/** A pool of chunks that no lane uses. */
export class ChunkPool {
  readonly #smallSlots: number;
  readonly #largeSlots: number;
  readonly #small: LaneChunk[] = [];
  readonly #large: LaneChunk[] = [];

  constructor(smallSlots: number = SMALL_SLOTS, largeSlots: number = LARGE_SLOTS) {
    this.#smallSlots = smallSlots;
    this.#largeSlots = largeSlots;
  }

  /** Returns a chunk whose slot 0 is `base`. The first chunk of a lane is small. */
  take(base: number, isFirst: boolean): LaneChunk {
    const pooled = (isFirst ? this.#small : this.#large).pop();
    const chunk = pooled ?? new LaneChunk(isFirst ? this.#smallSlots : this.#largeSlots);
    chunk.base = base;
    return chunk;
  }

  /** Returns a chunk whose slots for `slotCount` positions from `base` on are in use and empty. */
  takeUsed(base: number, slotCount: number): LaneChunk {
    const chunk = slotCount > this.#largeSlots
      ? new LaneChunk(slotCount)
      : this.take(base, slotCount <= this.#smallSlots);
    chunk.base = base;
    chunk.tail = slotCount;
    chunk.refs.fill(0, 0, slotCount);
    return chunk;
  }

  /** Takes a chunk back. Its lane must not touch it again. */
  give(chunk: LaneChunk): void {
    const slotCount = chunk.refs.length;
    chunk.draft = null;
    chunk.aheadBytes = 0;
    if (slotCount !== this.#smallSlots && slotCount !== this.#largeSlots) return;
    const pool = slotCount === this.#smallSlots ? this.#small : this.#large;
    if (pool.length === POOLED_CHUNKS_MAX) return;
    chunk.capacity = slotCount;
    chunk.head = 0;
    chunk.tail = 0;
    chunk.next = null;
    chunk.expiries = null;
    chunk.expiryMinMs = Infinity;
    pool.push(chunk);
  }
}
