// The messages of a lane that was purged. They have left the queue, but their records are still to
// be released. A lane makes one, and Discards works it off piece by piece, so that millions of
// messages do not make one long turn.

import type { ChunkPool, LaneChunk } from "./lane_chunk.ts";
import type { MemoryAccount } from "./lane.ts";
import { type LanePages, PAGE_GONE } from "../page.ts";
import type { TakenMessages } from "../port.ts";
import type { RequeuedHeap } from "./requeued_heap.ts";

// Dropping a page costs as much as dropping this many messages.
const PAGE_COST = 16;

/** The parts of a {@link TakenLane}. */
export interface TakenLaneParts {
  messageCount: number;
  first: LaneChunk | null;
  requeued: RequeuedHeap | null;
  pool: ChunkPool;
  account: MemoryAccount;
  pages: LanePages | null;
}

/** The former messages of a lane. */
export class TakenLane implements TakenMessages {
  readonly messageCount: number;
  readonly #pool: ChunkPool;
  readonly #account: MemoryAccount;
  readonly #pages: LanePages | null;
  #chunk: LaneChunk | null;
  #requeued: RequeuedHeap | null;

  /** From here on no code reads or writes pages of these chunks. */
  constructor(parts: TakenLaneParts) {
    this.messageCount = parts.messageCount;
    this.#pool = parts.pool;
    this.#account = parts.account;
    this.#pages = parts.pages;
    this.#chunk = parts.first;
    this.#requeued = parts.requeued;
    for (let chunk = parts.first; chunk !== null; chunk = chunk.next) {
      chunk.draft = null;
      if (chunk.page !== null) chunk.page.state = PAGE_GONE;
      if (chunk.aheadBytes > 0) this.#pages!.aheadBytes -= chunk.aheadBytes;
    }
  }

  releaseSome(max: number, release: (ref: number) => void): boolean {
    let left = max - this.#releaseRequeued(max, release);
    while (left > 0 && this.#chunk !== null) {
      const chunk = this.#chunk;
      const { page, refs } = chunk;
      if (page !== null) {
        left -= PAGE_COST;
        this.#close(chunk);
        this.#pages!.drop(page);
        continue;
      }
      const end = Math.min(chunk.tail, chunk.head + left);
      left -= end - chunk.head + 1;
      while (chunk.head < end) {
        const ref = refs[chunk.head++]!;
        if (ref !== 0) release(ref);
      }
      if (end === chunk.tail) this.#close(chunk);
    }
    return this.#chunk !== null || this.#requeued !== null;
  }

  #close(chunk: LaneChunk): void {
    this.#chunk = chunk.next;
    this.#account(-chunk.memoryBytes);
    if (chunk.page === null) this.#pool.give(chunk);
  }

  #releaseRequeued(max: number, release: (ref: number) => void): number {
    const requeued = this.#requeued;
    if (requeued === null) return 0;
    let released = 0;
    for (; released < max && requeued.count > 0; released++) release(requeued.takeLast());
    if (requeued.count === 0) {
      this.#account(-requeued.memoryBytes);
      this.#requeued = null;
    }
    return released;
  }
}
