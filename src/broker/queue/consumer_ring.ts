// The consumers of one queue in the order in which they are served: higher priority first, round
// robin among equals. A consumer without capacity leaves its ring, so thousands of busy consumers
// cost a queue nothing. The code that frees capacity puts the consumer back. Queue owns one ring.

import type { Consumer } from "./consumer.ts";

interface PriorityRing {
  readonly priority: number;
  /** Consumers of this priority, blocked or not. */
  count: number;
  readonly waiting: Consumer[];
  /** Index of the consumer whose turn it is. The consumer before it has its turn last. */
  next: number;
}

/** Serves consumers by priority and in turn. */
export class ConsumerRing {
  readonly #all = new Set<Consumer>();
  /** Sorted by falling priority. A ring exists while a consumer has its priority. */
  #rings: PriorityRing[] = [];
  /** Number of consumers by their limit on the size of a content header. */
  readonly #headerLimits = new Map<number, number>();
  /** Bytes of the largest content header that all consumers take. */
  headerBytesMin = Infinity;
  /** Bytes of the largest content header that at least one consumer takes; 0 without consumers. */
  headerBytesMax = 0;

  get count(): number {
    return this.#all.size;
  }

  /** All consumers, blocked or not, in the order of arrival. */
  get all(): Iterable<Consumer> {
    return this.#all;
  }

  /** The consumer that came first, if any. */
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

  /** Cancels every consumer and tells its channel, because the queue is gone or cannot be read. */
  cancelAll(): void {
    for (const consumer of [...this.#all]) {
      consumer.isCancelled = true;
      this.remove(consumer);
      consumer.channel.cancelled(consumer);
    }
  }

  /** Puts a blocked consumer back into its ring, behind all others. */
  unblock(consumer: Consumer): void {
    if (!consumer.isBlocked || consumer.isCancelled) return;
    consumer.isBlocked = false;
    putLast(this.#ringOf(consumer.priority), consumer);
  }

  /** Makes this consumer the next among those of its priority, blocked or not. */
  putFirst(consumer: Consumer): void {
    if (consumer.isCancelled) return;
    const ring = this.#ringOf(consumer.priority);
    if (!consumer.isBlocked) takeOut(ring, ring.waiting.indexOf(consumer));
    consumer.isBlocked = false;
    ring.waiting.splice(ring.next, 0, consumer);
  }

  /** Returns the consumer whose turn it is and ends its turn; null when none has capacity. */
  next(): Consumer | null {
    const ring = this.#ringInTurn();
    return ring === null ? null : ring.waiting[ring.next++]!;
  }

  /** Whether a consumer has capacity. The turn does not change. */
  hasCapacity(): boolean {
    return this.#ringInTurn() !== null;
  }

  // Returns the first ring whose next consumer has capacity.
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

  /** The different limits of the consumers on the size of a content header. */
  get headerLimits(): Iterable<number> {
    return this.#headerLimits.keys();
  }

  /**
   * Returns the consumer whose turn it is among those that take a header of this size, or null.
   * Consumers that are passed over keep their turn.
   */
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

  /** Whether a consumer that takes a header of this size has capacity. */
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

// The rotation ends before the next consumer, so a consumer that was just served is inserted there.
function putLast(ring: PriorityRing, consumer: Consumer): void {
  ring.waiting.splice(ring.next, 0, consumer);
  ring.next++;
}

// Returns the index of the next consumer that takes a header of this size and has capacity; -1 if
// none does.
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
