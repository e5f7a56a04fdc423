// The ready index of one priority of one queue, in memory: a list of chunks in order of position, and
// in front of it the messages that were requeued at the place they had before. Implements ReadyLane
// for broker/; it holds body references only and never opens a record.

import {
  type EntryVisitor,
  HEAD_EMPTY,
  HEAD_READY,
  type ReadWaiter,
  type ReadyLane,
} from "./port.ts";
import type { ChunkPool, LaneChunk } from "./lane_chunk.ts";
import { RequeuedHeap } from "./requeued_heap.ts";

/** Told how the memory of a lane changes, in bytes. */
export type MemoryAccount = (deltaBytes: number) => void;

/** A lane whose index is entirely in memory. */
export class MemoryLane implements ReadyLane {
  messageCount = 0;
  headRef = 0;
  headPosition = 0;
  headEntry = 0;
  headExpiryMs = Infinity;
  #first: LaneChunk | null = null;
  #last: LaneChunk | null = null;
  #requeued: RequeuedHeap | null = null;
  /** The position that the next push takes. */
  nextPosition = 1;
  readonly #pool: ChunkPool;
  readonly #account: MemoryAccount;

  constructor(pool: ChunkPool, account: MemoryAccount) {
    this.#pool = pool;
    this.#account = account;
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
    // Positions may have been skipped at recovery; a chunk implies its own.
    return last.base + last.tail === this.nextPosition ? last : this.#openChunk();
  }

  restore(position: number, ref: number, entry: number, expiryMs: number): void {
    this.#requeued ??= new RequeuedHeap();
    const before = this.#requeued.memoryBytes;
    this.#requeued.push(position, ref, entry, expiryMs);
    this.#account(this.#requeued.memoryBytes - before);
    this.messageCount++;
  }

  // The memory lane answers at once, so the waiter is never told.
  head(_waiter: ReadWaiter): number {
    const requeued = this.#requeued;
    if (requeued !== null && requeued.count > 0) {
      // A position that was out for delivery is smaller than any that never was.
      this.headRef = requeued.refAt(0);
      this.headPosition = requeued.positionAt(0);
      this.headEntry = requeued.entryAt(0);
      this.headExpiryMs = requeued.expiryAt(0);
      return HEAD_READY;
    }
    if (this.messageCount === 0) return HEAD_EMPTY;
    const chunk = this.#skipHoles();
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
    for (let chunk = this.#first; chunk !== null; chunk = chunk.next) {
      if (chunk.expiryMinMs < nextMs) nextMs = chunk.expiryMinMs;
    }
    return nextMs;
  }

  expire(nowMs: number, max: number, visit: EntryVisitor): number {
    let expired = this.#expireRequeued(nowMs, max, visit);
    for (let chunk = this.#first; chunk !== null && expired < max; chunk = chunk.next) {
      if (chunk.expiryMinMs <= nowMs) expired += expireChunk(chunk, nowMs, max - expired, visit);
    }
    this.messageCount -= expired;
    if (this.messageCount === (this.#requeued?.count ?? 0)) this.#closeAll();
    return expired;
  }

  clear(visit: EntryVisitor): number {
    const cleared = this.messageCount;
    this.peek(cleared, visit);
    if (this.#requeued !== null) this.#account(-this.#requeued.memoryBytes);
    this.#requeued = null;
    this.messageCount = 0;
    this.#closeAll();
    return cleared;
  }

  peek(max: number, visit: EntryVisitor): void {
    let left = max;
    const requeued = this.#requeued;
    if (requeued !== null) {
      for (const index of requeued.ordered().slice(0, left)) {
        visit(requeued.refAt(index), requeued.positionAt(index), requeued.entryAt(index));
        left--;
      }
    }
    for (let chunk = this.#first; chunk !== null && left > 0; chunk = chunk.next) {
      for (let index = chunk.head; index < chunk.tail && left > 0; index++) {
        const ref = chunk.refs[index]!;
        if (ref === 0) continue;
        visit(ref, chunk.base + index, chunk.entries[index]!);
        left--;
      }
    }
  }

  #setExpiry(chunk: LaneChunk, index: number, expiryMs: number): void {
    if (chunk.expiries === null) this.#account(chunk.capacity * 8);
    chunk.setExpiry(index, expiryMs);
  }

  #expireRequeued(nowMs: number, max: number, visit: EntryVisitor): number {
    const requeued = this.#requeued;
    if (requeued === null || requeued.expiryMinMs > nowMs) return 0;
    return requeued.expire(nowMs, max, (index) => {
      visit(requeued.refAt(index), requeued.positionAt(index), requeued.entryAt(index));
    });
  }

  #skipHoles(): LaneChunk {
    let chunk = this.#first!;
    for (;;) {
      while (chunk.head < chunk.tail && chunk.refs[chunk.head] === 0) chunk.head++;
      if (chunk.head < chunk.tail) return chunk;
      const next = chunk.next!;
      this.#closeFirst(chunk);
      chunk = next;
    }
  }

  #openChunk(): LaneChunk {
    const chunk = this.#pool.take(this.nextPosition, this.#last === null);
    this.#account(chunk.memoryBytes);
    if (this.#last === null) this.#first = chunk;
    else this.#last.next = chunk;
    this.#last = chunk;
    return chunk;
  }

  #closeFirst(chunk: LaneChunk): void {
    this.#account(-chunk.memoryBytes);
    this.#first = chunk.next;
    if (chunk.next === null) this.#last = null;
    this.#pool.give(chunk);
  }

  #closeAll(): void {
    while (this.#first !== null) this.#closeFirst(this.#first);
  }
}

function expireChunk(chunk: LaneChunk, nowMs: number, max: number, visit: EntryVisitor): number {
  const expiries = chunk.expiries!;
  let expired = 0;
  let expiryMinMs = Infinity;
  for (let index = chunk.head; index < chunk.tail; index++) {
    const ref = chunk.refs[index]!;
    if (ref === 0) continue;
    const expiryMs = expiries[index]!;
    if (expiryMs <= nowMs && expired < max) {
      chunk.refs[index] = 0;
      expired++;
      visit(ref, chunk.base + index, chunk.entries[index]!);
    } else if (expiryMs < expiryMinMs) {
      expiryMinMs = expiryMs;
    }
  }
  chunk.expiryMinMs = expiryMinMs;
  return expired;
}
