// The ready index of one priority of one queue: a list of chunks in order of position, and in front
// of it the messages that were requeued at their old positions. Implements ReadyLane for broker/.
// It holds body references only and never opens a record. In a store that pages, chunks in the
// middle of a long list may stand for pages on disk, which must be read before the head gets there.
//
//   requeued (heap) │ chunk → chunk → page → page → … → page → chunk
//                     head                                      tail

import { type ChunkPool, LaneChunk } from "./lane_chunk.ts";
import { ChunkStretch } from "./chunk_stretch.ts";
import {
  type LanePages,
  type LoadedMessages,
  type Page,
  PAGE_STORED,
  type PageSource,
} from "../page.ts";
import {
  type EntryVisitor,
  HEAD_EMPTY,
  HEAD_PENDING,
  HEAD_READY,
  type ReadWaiter,
  type ReadyLane,
} from "../port.ts";
import { RequeuedHeap } from "./requeued_heap.ts";
import { TakenLane } from "./taken_lane.ts";

// The first chunks are delivered next, and the last one is being filled: none of them is cold.
const HEAD_CHUNKS = 2;
// How far pages are read ahead of the head, in chunks and in bytes.
const AHEAD_CHUNKS = 8;
const AHEAD_BYTES = 1024 * 1024;

/** Is told each change of a lane's memory, in bytes. */
export type MemoryAccount = (deltaBytes: number) => void;

/** A lane. Its index is in memory, except for its pages. */
export class Lane implements ReadyLane, PageSource {
  messageCount = 0;
  headRef = 0;
  headPosition = 0;
  headEntry = 0;
  headExpiryMs = Infinity;
  /** The position that the next push takes. */
  nextPosition = 1;
  #first: LaneChunk | null = null;
  #last: LaneChunk | null = null;
  /** The last chunk that stood for a page; the page may have been read meanwhile. */
  #lastPage: LaneChunk | null = null;
  #chunkCount = 0;
  #pageCount = 0;
  /** Whether a message in a chunk may expire. */
  #hasExpiry = false;
  #requeued: RequeuedHeap | null = null;
  readonly #pool: ChunkPool;
  readonly #account: MemoryAccount;
  readonly #pages: LanePages | null;
  readonly queueId: number;

  /** `paging.pages` reads and writes pages; null in a store that keeps everything in memory. */
  constructor(
    pool: ChunkPool,
    account: MemoryAccount,
    paging: { queueId: number; pages: LanePages } | null = null,
  ) {
    this.#pool = pool;
    this.#account = account;
    this.#pages = paging?.pages ?? null;
    this.queueId = paging?.queueId ?? 0;
  }

  push(ref: number, entry: number, expiryMs: number): number {
    const chunk = this.#tailChunk();
    const index = chunk.tail++;
    chunk.refs[index] = ref;
    chunk.entries[index] = entry;
    if (expiryMs !== Infinity || chunk.expiries !== null) this.#setExpiry(chunk, index, expiryMs);
    this.messageCount++;
    return this.nextPosition++;
  }

  #tailChunk(): LaneChunk {
    const last = this.#last;
    if (last === null || last.tail === last.capacity) return this.#openChunk();
    const skipped = this.nextPosition - last.base - last.tail;
    if (skipped === 0) return last;
    // Recovery skips positions. A chunk implies the positions of its slots, so skipped ones become
    // holes.
    if (skipped < 0 || last.tail + skipped >= last.capacity) return this.#openChunk();
    last.refs.fill(0, last.tail, last.tail + skipped);
    last.tail += skipped;
    return last;
  }

  restore(position: number, ref: number, entry: number, expiryMs: number): void {
    const before = this.#requeued?.memoryBytes ?? 0;
    this.#requeued ??= new RequeuedHeap();
    this.#requeued.push(position, ref, entry, expiryMs);
    this.#account(this.#requeued.memoryBytes - before);
    this.messageCount++;
  }

  head(waiter: ReadWaiter): number {
    const requeued = this.#requeued;
    if (requeued !== null && requeued.count > 0) {
      // A requeued position is smaller than any position that was never out for delivery.
      this.headRef = requeued.refAt(0);
      this.headPosition = requeued.positionAt(0);
      this.headEntry = requeued.entryAt(0);
      this.headExpiryMs = requeued.expiryAt(0);
      return HEAD_READY;
    }
    if (this.messageCount === 0) return HEAD_EMPTY;
    const chunk = this.#skipHoles();
    if (chunk.page !== null) {
      chunk.page.waiter = waiter;
      this.#pages!.load(chunk.page, true);
      return HEAD_PENDING;
    }
    const index = chunk.head;
    this.headRef = chunk.refs[index]!;
    this.headPosition = chunk.base + index;
    this.headEntry = chunk.entries[index]!;
    this.headExpiryMs = chunk.expiries === null ? Infinity : chunk.expiries[index]!;
    return HEAD_READY;
  }

  shift(): void {
    this.messageCount--;
    const requeued = this.#requeued;
    if (requeued !== null && requeued.count > 0) {
      const before = requeued.memoryBytes;
      requeued.shift();
      if (requeued.memoryBytes !== before) this.#account(requeued.memoryBytes - before);
      return;
    }
    const chunk = this.#first!;
    chunk.refs[chunk.head++] = 0;
    if (chunk.head === chunk.tail) this.#closeFirst(chunk);
  }

  nextExpiryMs(): number {
    let nextMs = this.#requeued === null ? Infinity : this.#requeued.expiryMinMs;
    if (!this.#hasExpiry) return nextMs;
    for (let chunk = this.#first; chunk !== null; chunk = chunk.next) {
      if (chunk.expiryMinMs < nextMs) nextMs = chunk.expiryMinMs;
    }
    return nextMs;
  }

  expire(nowMs: number, max: number, visit: EntryVisitor, waiter: ReadWaiter): number {
    let expired = this.#expireRequeued(nowMs, max, visit);
    for (let chunk = this.#first; chunk !== null && expired < max; chunk = chunk.next) {
      if (chunk.expiryMinMs > nowMs) continue;
      if (chunk.page === null) expired += chunk.expire(nowMs, max - expired, visit);
      else this.#loadExpired(chunk, chunk.page, waiter);
    }
    this.messageCount -= expired;
    if (this.messageCount === (this.#requeued?.count ?? 0)) this.#closeAll();
    return expired;
  }

  // The chunk is looked at again when it has been read. A page that cannot be read is not asked for
  // again each time.
  #loadExpired(chunk: LaneChunk, page: Page, waiter: ReadWaiter): void {
    chunk.expiryMinMs = Infinity;
    page.waiter = waiter;
    this.#pages!.load(page, false);
  }

  takeAll(): TakenLane {
    const taken = new TakenLane({
      messageCount: this.messageCount,
      first: this.#first,
      requeued: this.#requeued,
      pool: this.#pool,
      account: this.#account,
      pages: this.#pages,
    });
    this.#requeued = null;
    this.messageCount = 0;
    this.#forgetChunks();
    return taken;
  }

  peek(max: number, visit: EntryVisitor): void {
    let left = max;
    const requeued = this.#requeued;
    if (requeued !== null) {
      for (const index of requeued.ordered(left)) {
        visit(requeued.refAt(index), requeued.positionAt(index), requeued.entryAt(index));
        left--;
      }
    }
    for (let chunk = this.#first; chunk !== null && left > 0; chunk = chunk.next) {
      if (chunk.page !== null) return;
      for (let index = chunk.head; index < chunk.tail && left > 0; index++) {
        const ref = chunk.refs[index]!;
        if (ref === 0) continue;
        visit(ref, chunk.base + index, chunk.entries[index]!);
        left--;
      }
    }
  }

  // --- pages, called by the pager and by recovery

  /** Chunks in memory. */
  get chunkCount(): number {
    return this.#chunkCount;
  }

  /** Appends a page from before the start of the node. Positions must rise. */
  pushPage(page: Page): void {
    const chunk = new LaneChunk(0);
    chunk.turnInto(page);
    this.#append(chunk);
    this.#account(chunk.memoryBytes);
    this.#pageCount++;
    if (page.place.expiryMinMs !== Infinity) this.#hasExpiry = true;
    this.#lastPage = chunk;
    this.messageCount += page.count;
    this.nextPosition = page.place.last + 1;
  }

  coldStretches(max: number): ChunkStretch[] {
    return this.#coldChunks(max).map((chunk) => new ChunkStretch(this, chunk));
  }

  #coldChunks(max: number): LaneChunk[] {
    const found: LaneChunk[] = [];
    // While a lane grows, the chunks that were filled since the last look are cold.
    let chunk = this.#lastPage?.page == null ? null : this.#lastPage.next;
    for (; chunk !== null && chunk !== this.#last && found.length < max; chunk = chunk.next) {
      if (isCold(chunk)) found.push(chunk);
    }
    if (found.length > 0 || this.#chunkCount <= HEAD_CHUNKS) return found;
    this.#lastPage = null;
    chunk = this.#first;
    for (let index = 0; chunk !== null && chunk !== this.#last; chunk = chunk.next, index++) {
      if (chunk.page !== null) this.#lastPage = chunk;
      else if (index >= HEAD_CHUNKS && isCold(chunk)) found.push(chunk);
    }
    return found.slice(-max).reverse();
  }

  // Tries the tail first and the head last.
  spareStretch(messagesMin: number): ChunkStretch | null {
    for (const chunk of [this.#last, this.#first?.next, this.#first]) {
      if (chunk == null || chunk.tail - chunk.head < messagesMin) continue;
      if (isCold(chunk)) return new ChunkStretch(this, chunk);
    }
    return null;
  }

  /** Puts `pages`, which hold the messages of `chunk` in order, in its place. */
  pagedOut(chunk: LaneChunk, pages: readonly Page[]): void {
    const isLast = chunk === this.#last;
    this.#account(-chunk.memoryBytes);
    this.#pool.give(chunk.turnInto(pages[0]!));
    this.#account(chunk.memoryBytes);
    let at = chunk;
    for (const page of pages.slice(1)) {
      const added = new LaneChunk(0);
      added.turnInto(page);
      added.next = at.next;
      at.next = added;
      at = added;
      this.#account(added.memoryBytes);
    }
    if (isLast) this.#last = at;
    this.#chunkCount--;
    this.#pageCount += pages.length;
    const lastPage = this.#lastPage;
    if (lastPage === null || lastPage.page === null || lastPage.base < at.base) this.#lastPage = at;
  }

  pagedIn(page: Page, loaded: LoadedMessages, isAhead: boolean): void {
    const chunk = page.chunk as LaneChunk;
    const { first, last } = page.place;
    const slots = this.#pool.takeUsed(first, last - first + 1);
    slots.take(loaded);
    this.#account(-chunk.memoryBytes);
    chunk.fill(slots);
    this.#account(chunk.memoryBytes);
    if (isAhead) {
      chunk.aheadBytes = page.place.byteLength;
      this.#pages!.aheadBytes += chunk.aheadBytes;
    }
    this.#pageCount--;
    this.#chunkCount++;
    if (this.#chunkCount > HEAD_CHUNKS) this.#pages!.grown(this);
  }

  #readAhead(): void {
    const pages = this.#pages!;
    let chunk = this.#first;
    let bytes = 0;
    for (let ahead = 0; ahead < AHEAD_CHUNKS && chunk !== null && bytes < AHEAD_BYTES; ahead++) {
      bytes += chunk.page === null ? chunk.aheadBytes : chunk.page.place.byteLength;
      if (chunk.page?.state === PAGE_STORED && pages.aheadBytes < pages.aheadBytesMax) {
        pages.load(chunk.page, true);
      }
      chunk = chunk.next;
    }
  }

  // --- chunks

  #setExpiry(chunk: LaneChunk, index: number, expiryMs: number): void {
    if (chunk.expiries === null) this.#account(chunk.refs.length * 8);
    if (expiryMs !== Infinity) this.#hasExpiry = true;
    chunk.setExpiry(index, expiryMs);
  }

  #expireRequeued(nowMs: number, max: number, visit: EntryVisitor): number {
    const requeued = this.#requeued;
    if (requeued === null || requeued.expiryMinMs > nowMs) return 0;
    const before = requeued.memoryBytes;
    const expired = requeued.expire(nowMs, max, (index) => {
      visit(requeued.refAt(index), requeued.positionAt(index), requeued.entryAt(index));
    });
    if (requeued.memoryBytes !== before) this.#account(requeued.memoryBytes - before);
    return expired;
  }

  #skipHoles(): LaneChunk {
    let chunk = this.#first!;
    for (;;) {
      while (chunk.head < chunk.tail && chunk.refs[chunk.head] === 0) chunk.head++;
      if (chunk.head < chunk.tail || chunk.page !== null) return chunk;
      const next = chunk.next!;
      this.#closeFirst(chunk);
      chunk = next;
    }
  }

  #openChunk(): LaneChunk {
    const chunk = this.#pool.take(this.nextPosition, this.#last === null);
    this.#account(chunk.memoryBytes);
    this.#append(chunk);
    this.#chunkCount++;
    if (this.#pages !== null && this.#chunkCount > HEAD_CHUNKS) this.#pages.grown(this);
    return chunk;
  }

  #append(chunk: LaneChunk): void {
    if (this.#last === null) this.#first = chunk;
    else this.#last.next = chunk;
    this.#last = chunk;
  }

  #closeFirst(chunk: LaneChunk): void {
    this.#account(-chunk.memoryBytes);
    this.#first = chunk.next;
    if (chunk.next === null) this.#last = null;
    // The chunk may be used by another lane next.
    if (chunk === this.#lastPage) this.#lastPage = null;
    this.#chunkCount--;
    if (chunk.aheadBytes > 0) this.#pages!.aheadBytes -= chunk.aheadBytes;
    this.#pool.give(chunk);
    if (this.#pageCount > 0) this.#readAhead();
  }

  #forgetChunks(): void {
    this.#first = null;
    this.#last = null;
    this.#lastPage = null;
    this.#chunkCount = 0;
    this.#pageCount = 0;
    this.#hasExpiry = false;
  }

  #closeAll(): void {
    let chunk = this.#first;
    this.#forgetChunks();
    while (chunk !== null) {
      const next = chunk.next;
      this.#account(-chunk.memoryBytes);
      if (chunk.aheadBytes > 0) this.#pages!.aheadBytes -= chunk.aheadBytes;
      if (chunk.page === null) this.#pool.give(chunk);
      else this.#pages!.drop(chunk.page);
      chunk = next;
    }
  }
}

// Whether a chunk may be written to pages. Messages that were read ahead stay in memory.
function isCold(chunk: LaneChunk): boolean {
  return chunk.page === null && chunk.draft === null && chunk.aheadBytes === 0;
}
