// The unsettled deliveries of one channel: delivery tags in rising order, with the data that the broker
// needs to take each message back. The session enters deliveries and settles tags. The table tells the
// queues and frees prefetch, and never writes a frame. Flat arrays, no object per message.

import { assert } from "../../lib/assert.ts";
import type { Consumer } from "./consumer.ts";
import type { Delivery } from "./delivery.ts";
import type { Queue } from "./queue.ts";
import { SETTLED_AS_ACKED, SETTLED_AS_RETURNED, type SettleRun } from "./settle_run.ts";

const CAPACITY_MIN = 16;

/** Unacked deliveries of one channel. */
export class Unacked {
  /** Number of unsettled deliveries, those that a transaction holds included. */
  count = 0;
  /** Number of unsettled deliveries to consumers, which a channel's prefetch counts. */
  consumerCount = 0;
  #head = 0;
  #tail = 0;
  #tags = new Float64Array(CAPACITY_MIN);
  #positions = new Float64Array(CAPACITY_MIN);
  /** Body reference; 0 means settled. */
  #refs = new Uint32Array(CAPACITY_MIN);
  #entries = new Uint32Array(CAPACITY_MIN);
  #bodyBytes = new Uint32Array(CAPACITY_MIN);
  /** 1 while a transaction holds the tag. */
  #held = new Uint8Array(CAPACITY_MIN);
  #queues: (Queue | null)[] = [];
  #consumers: (Consumer | null)[] = [];

  /** Enters a delivery; `consumer` is null for basic.get. Tags must rise. */
  push(tag: number, consumer: Consumer | null, delivery: Delivery): void {
    if (this.#tail === this.#tags.length) this.#makeRoom();
    const index = this.#tail++;
    assert(index === this.#head || this.#tags[index - 1]! < tag, "delivery tags must rise");
    this.#tags[index] = tag;
    this.#positions[index] = delivery.position;
    this.#refs[index] = delivery.ref;
    this.#entries[index] = delivery.entry;
    this.#bodyBytes[index] = delivery.bodyBytes;
    this.#held[index] = 0;
    this.#queues[index] = delivery.queue;
    this.#consumers[index] = consumer;
    this.count++;
    delivery.queue.settlement.delivered(delivery);
    if (consumer === null) return;
    this.consumerCount++;
    consumer.unackedCount++;
  }

  /**
   * Acks a tag, or all up to it; tag 0 with `multiple` means all. Returns false when the tag is
   * unknown.
   */
  ack(tag: number, multiple: boolean): boolean {
    const last = this.#lastOf(tag, multiple);
    if (last < 0) return tag === 0 && multiple;
    for (let index = multiple ? this.#head : last; index <= last; index++) {
      if (this.#refs[index] !== 0 && this.#held[index] === 0) this.#ackAt(index);
    }
    this.#trim();
    return true;
  }

  /**
   * Rejects a tag, or all up to it, for CAUSE_REJECT or CAUSE_NACK. Returns false when the tag is
   * unknown.
   */
  reject(tag: number, multiple: boolean, requeue: boolean, cause: number): boolean {
    const last = this.#lastOf(tag, multiple);
    if (last < 0) return tag === 0 && multiple;
    for (let index = multiple ? this.#head : last; index <= last; index++) {
      if (this.#refs[index] !== 0 && this.#held[index] === 0) this.#rejectAt(index, requeue, cause);
    }
    this.#trim();
    return true;
  }

  /**
   * Returns how many entries a settlement of all up to a tag must look at; 0 when the tag is unknown.
   * Tag 0 means all.
   */
  reach(tag: number): number {
    const last = this.#lastOf(tag, true);
    return last < 0 ? 0 : last - this.#head + 1;
  }

  /** The highest tag; 0 when there is none. */
  get lastTag(): number {
    return this.count === 0 ? 0 : this.#tags[this.#tail - 1]!;
  }

  /**
   * Settles the next deliveries of a run and looks at no more than `max` entries. Returns how many
   * entries it has looked at.
   */
  settleSome(run: SettleRun, max: number): number {
    const start = this.#firstFrom(run.nextTag);
    let index = start;
    for (; index < this.#tail && index - start < max; index++) {
      const tag = this.#tags[index]!;
      if (tag > run.lastTag) break;
      run.nextTag = tag + 1;
      if (this.#refs[index] === 0) continue;
      if (this.#held[index] !== 0 && !run.includesHeld) continue;
      if (run.how === SETTLED_AS_ACKED) this.#ackAt(index);
      else this.#rejectAt(index, run.how === SETTLED_AS_RETURNED, run.cause);
    }
    this.#trim();
    return index - start;
  }

  /** Whether a run has no more deliveries to settle. */
  isOver(run: SettleRun): boolean {
    const index = this.#firstFrom(run.nextTag);
    return index >= this.#tail || this.#tags[index]! > run.lastTag;
  }

  /** Visits the queues of the deliveries of a run; it may visit the same queue more than once. */
  visitQueues(run: SettleRun, visit: (queue: Queue) => void): void {
    let last: Queue | null = null;
    for (let index = this.#firstFrom(run.nextTag); index < this.#tail; index++) {
      if (this.#tags[index]! > run.lastTag) return;
      const queue = this.#queues[index]!;
      if (queue === last || queue === null) continue;
      visit(queue);
      last = queue;
    }
  }

  // Returns the index of the first entry whose tag is not below `tag`; the tail when there is none.
  #firstFrom(tag: number): number {
    let low = this.#head;
    let high = this.#tail;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#tags[middle]! < tag) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Returns all messages to their queues, for CAUSE_RECOVER or CAUSE_CLOSE (retry/rules.ts). A recover leaves
   * messages that a transaction holds; a close returns them too.
   */
  requeueAll(cause: number, includesHeld: boolean): void {
    for (let index = this.#head; index < this.#tail; index++) {
      if (this.#refs[index] === 0) continue;
      if (this.#held[index] !== 0 && !includesHeld) continue;
      this.#rejectAt(index, true, cause);
    }
    this.#trim();
  }

  /**
   * Holds a tag, or all up to it, for a transaction and appends the tags to `into`; held tags cannot be
   * settled. Returns false when the tag is unknown or a transaction holds it already.
   */
  holdForTx(tag: number, multiple: boolean, into: number[]): boolean {
    const last = this.#lastOf(tag, multiple);
    if (last < 0) return tag === 0 && multiple;
    for (let index = multiple ? this.#head : last; index <= last; index++) {
      if (this.#refs[index] === 0 || this.#held[index] !== 0) continue;
      this.#held[index] = 1;
      into.push(this.#tags[index]!);
    }
    return true;
  }

  /** Releases held tags, at rollback or just before they are settled at commit. */
  releaseTx(tags: readonly number[]): void {
    for (const tag of tags) {
      const index = this.#indexOf(tag);
      if (index >= 0) this.#held[index] = 0;
    }
  }

  // Returns the index of the last entry that the tag names; -1 when none can be settled.
  #lastOf(tag: number, multiple: boolean): number {
    if (tag === 0 && multiple) return this.count === 0 ? -1 : this.#tail - 1;
    const index = this.#indexOf(tag);
    return index >= 0 && this.#held[index] === 0 ? index : -1;
  }

  #indexOf(tag: number): number {
    if (this.count === 0) return -1;
    // Tags are dense unless settled ones were removed by #makeRoom, so the first guess is nearly always
    // right.
    const guess = this.#head + (tag - this.#tags[this.#head]!);
    if (guess >= this.#head && guess < this.#tail && this.#tags[guess] === tag) {
      return this.#refs[guess] === 0 ? -1 : guess;
    }
    let low = this.#head;
    let high = this.#tail - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = this.#tags[middle]!;
      if (found === tag) return this.#refs[middle] === 0 ? -1 : middle;
      if (found < tag) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  #ackAt(index: number): void {
    const { settlement } = this.#queues[index]!;
    settlement.left(this.#bodyBytes[index]!);
    settlement.acked(this.#refs[index]!, this.#positions[index]!, this.#entries[index]!);
    this.#leave(index);
  }

  #rejectAt(index: number, requeue: boolean, cause: number): void {
    const { settlement } = this.#queues[index]!;
    const ref = this.#refs[index]!;
    const position = this.#positions[index]!;
    const entry = this.#entries[index]!;
    settlement.left(this.#bodyBytes[index]!);
    // The table forgets the message first, because the queue's next step may look at this channel.
    this.#leave(index);
    if (requeue) settlement.returned(ref, position, entry, cause);
    else settlement.rejected(ref, position, entry);
  }

  #leave(index: number): void {
    const consumer = this.#consumers[index]!;
    this.#refs[index] = 0;
    this.#queues[index] = null;
    this.#consumers[index] = null;
    this.count--;
    if (consumer === null) return;
    this.consumerCount--;
    consumer.unackedCount--;
    if (consumer.isBlocked) consumer.queue.unblock(consumer);
  }

  #trim(): void {
    if (this.count === 0) {
      this.#head = 0;
      this.#tail = 0;
      if (this.#tags.length > CAPACITY_MIN * 64) this.#resize(CAPACITY_MIN);
      return;
    }
    while (this.#refs[this.#head] === 0) this.#head++;
  }

  // Removes settled entries, and doubles the arrays when that does not free half of them.
  #makeRoom(): void {
    let to = 0;
    for (let index = this.#head; index < this.#tail; index++) {
      if (this.#refs[index] === 0) continue;
      this.#move(index, to);
      to++;
    }
    this.#queues.length = to;
    this.#consumers.length = to;
    this.#head = 0;
    this.#tail = to;
    if (to > this.#tags.length / 2) this.#resize(this.#tags.length * 2);
  }

  #move(from: number, to: number): void {
    this.#tags[to] = this.#tags[from]!;
    this.#positions[to] = this.#positions[from]!;
    this.#refs[to] = this.#refs[from]!;
    this.#entries[to] = this.#entries[from]!;
    this.#bodyBytes[to] = this.#bodyBytes[from]!;
    this.#held[to] = this.#held[from]!;
    this.#queues[to] = this.#queues[from]!;
    this.#consumers[to] = this.#consumers[from]!;
  }

  #resize(capacity: number): void {
    this.#tags = resized(this.#tags, new Float64Array(capacity), this.#tail);
    this.#positions = resized(this.#positions, new Float64Array(capacity), this.#tail);
    this.#refs = resized(this.#refs, new Uint32Array(capacity), this.#tail);
    this.#entries = resized(this.#entries, new Uint32Array(capacity), this.#tail);
    this.#bodyBytes = resized(this.#bodyBytes, new Uint32Array(capacity), this.#tail);
    this.#held = resized(this.#held, new Uint8Array(capacity), this.#tail);
    this.#queues.length = this.#tail;
    this.#consumers.length = this.#tail;
  }
}

function resized<T extends Float64Array | Uint32Array | Uint8Array>(
  from: T,
  to: T,
  count: number,
): T {
  to.set(from.subarray(0, count));
  return to;
}
