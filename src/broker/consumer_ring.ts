// The consumers of one queue in the order in which they are served: higher priority first, round robin
// among equals. A consumer without capacity leaves its ring, so a queue with thousands of busy
// consumers costs nothing; whoever frees capacity puts it back. Queue owns one.

import type { Consumer } from "./consumer.ts";

interface PriorityRing {
  readonly priority: number;
  /** Consumers of this priority, blocked or not. */
  count: number;
  readonly waiting: Consumer[];
  /** Index of the consumer whose turn it is; the one before it comes last. */
  next: number;
}

/** Serves consumers by priority and turn. */
export class ConsumerRing {
  readonly #all = new Set<Consumer>();
  /** Highest priority first; a ring stays while its priority has any consumer. */
  #rings: PriorityRing[] = [];
  /** How many consumers take content headers of at most so many bytes, by that limit. */
  readonly #headerLimits = new Map<number, number>();
  /** Bytes of the largest content header that every consumer takes. */
  headerBytesMin = Infinity;
  /** Bytes of the largest content header that any consumer takes; 0 without consumers. */
  headerBytesMax = 0;

  get count(): number {
    return this.#all.size;
  }

  /** Every consumer, blocked or not, in the order of arrival. */
  get all(): Iterable<Consumer> {
    return this.#all;
  }

  /** The first consumer that came, if any. */
  get first(): Consumer | undefined {
    for (const consumer of this.#all) return consumer;
    return undefined;
  }

  add(consumer: Consumer): void {
    this.#all.add(consumer);
    this.#count(consumer.headerBytesMax, 1);
    consumer.isBlocked = false;
    const ring = this.#ringOf(consumer.priority);
    ring.count++;
    putLast(ring, consumer);
  }

  remove(consumer: Consumer): void {
    if (!this.#all.delete(consumer)) return;
    this.#count(consumer.headerBytesMax, -1);
    const ring = this.#ringOf(consumer.priority);
    const index = consumer.isBlocked ? -1 : ring.waiting.lastIndexOf(consumer);
    if (index >= 0) takeOut(ring, index);
    if (--ring.count === 0) this.#rings = this.#rings.filter((other) => other !== ring);
  }

  /** Ends every consumer and tells its channel: the queue is gone or cannot be read. */
  cancelAll(): void {
    for (const consumer of [...this.#all]) {
      consumer.isCancelled = true;
      this.remove(consumer);
      consumer.channel.cancelled(consumer);
    }
  }

  /** Puts a consumer that was found without capacity back in turn, behind all others. */
  unblock(consumer: Consumer): void {
    if (!consumer.isBlocked || consumer.isCancelled) return;
    consumer.isBlocked = false;
    putLast(this.#ringOf(consumer.priority), consumer);
  }

  /** Makes it the turn of a consumer among those of its priority, whether it was blocked or not. */
  putFirst(consumer: Consumer): void {
    if (consumer.isCancelled) return;
    const ring = this.#ringOf(consumer.priority);
    if (!consumer.isBlocked) takeOut(ring, ring.waiting.indexOf(consumer));
    consumer.isBlocked = false;
    ring.waiting.splice(ring.next, 0, consumer);
  }

  /** Puts every consumer back in turn. */
  unblockAll(): void {
    for (const consumer of this.#all) this.unblock(consumer);
  }

  /** The consumer whose turn it is, or null when none has capacity. */
  next(): Consumer | null {
    const ring = this.#ringInTurn();
    return ring === null ? null : ring.waiting[ring.next++]!;
  }

  /** Whether there is one that has capacity; it stays its turn. */
  hasCapacity(): boolean {
    return this.#ringInTurn() !== null;
  }

  // The ring whose next consumer has capacity.
  #ringInTurn(): PriorityRing | null {
    for (const ring of this.#rings) {
      const waiting = ring.waiting;
      while (waiting.length > 0) {
        if (ring.next >= waiting.length) ring.next = 0;
        const consumer = waiting[ring.next]!;
        if (consumer.hasCapacity()) return ring;
        consumer.isBlocked = true;
        takeOut(ring, ring.next);
      }
    }
    return null;
  }

  /** The different limits of consumers on the size of a content header. */
  get headerLimits(): Iterable<number> {
    return this.#headerLimits.keys();
  }

  /** The consumer whose turn it is among those that take such a header, or null; others keep theirs. */
  nextFor(headerBytes: number): Consumer | null {
    for (const ring of this.#rings) {
      const index = indexFor(ring, headerBytes);
      if (index < 0) continue;
      const consumer = ring.waiting[index]!;
      takeOut(ring, index);
      putLast(ring, consumer);
      return consumer;
    }
    return null;
  }

  /** Whether one has capacity that takes such a header. */
  hasCapacityFor(headerBytes: number): boolean {
    return this.#rings.some((ring) => indexFor(ring, headerBytes) >= 0);
  }

  #count(limitBytes: number, change: number): void {
    const limits = this.#headerLimits;
    const count = (limits.get(limitBytes) ?? 0) + change;
    if (count > 0) limits.set(limitBytes, count);
    else limits.delete(limitBytes);
    this.headerBytesMin = Math.min(...limits.keys());
    this.headerBytesMax = Math.max(0, ...limits.keys());
  }

  #ringOf(priority: number): PriorityRing {
    const found = this.#rings.find((ring) => ring.priority === priority);
    if (found !== undefined) return found;
    const ring: PriorityRing = { priority, count: 0, waiting: [], next: 0 };
    this.#rings.push(ring);
    this.#rings.sort((a, b) => b.priority - a.priority);
    return ring;
  }
}

// A consumer that was just served stands before the next one, so that is where the rotation ends.
function putLast(ring: PriorityRing, consumer: Consumer): void {
  ring.waiting.splice(ring.next, 0, consumer);
  ring.next++;
}

// Where the next consumer stands that takes such a header and has capacity; -1 when there is none.
function indexFor(ring: PriorityRing, headerBytes: number): number {
  const { waiting } = ring;
  for (let passed = 0; passed < waiting.length;) {
    if (ring.next >= waiting.length) ring.next = 0;
    const index = (ring.next + passed) % waiting.length;
    const consumer = waiting[index]!;
    if (consumer.headerBytesMax < headerBytes) passed++;
    else if (consumer.hasCapacity()) return index;
    else {
      consumer.isBlocked = true;
      takeOut(ring, index);
    }
  }
  return -1;
}

function takeOut(ring: PriorityRing, index: number): void {
  ring.waiting.splice(index, 1);
  if (index < ring.next) ring.next--;
}
