// The ready messages of a queue that holds messages whose content header is larger than a frame that
// some client has agreed to. Those messages stand apart from the lane, grouped by the header size
// that a consumer must take, so that they hold up no others; positions keep the order. An ApartLane
// replaces the queue's lane as long as a message stands apart. dispatch.ts and get_head.ts put
// messages here.
//
//   lane         3 · 5 6 7 8 …
//   ≤ 4084       (none: every consumer takes them)
//   ≤ 131 064    1 4         for consumers with a frame_max of 131 072
//   more         2           set aside until a consumer comes that takes it

import {
  type EntryVisitor,
  HEAD_READY,
  type ReadWaiter,
  type ReadyLane,
  type TakenMessages,
} from "../../store/port.ts";
import { RequeuedHeap } from "../../store/memory/requeued_heap.ts";

// Limits beyond this number are not kept apart: they share the next larger class.
const CLASSES_MAX = 64;

/** Messages for every consumer that takes content headers of `limitBytes`. */
interface SizeClass {
  limitBytes: number;
  /** No message of this class has a smaller header. */
  minBytes: number;
  /** No message of this class has a larger header. */
  maxBytes: number;
  readonly messages: RequeuedHeap;
  isSkipped: boolean;
}

/** A lane and the messages that stand apart from it. */
export class ApartLane implements ReadyLane {
  headRef = 0;
  headPosition = 0;
  headEntry = 0;
  headExpiryMs = Infinity;
  /** Whether the loaded head stands apart from the lane. */
  isHeadApart = false;
  /**
   * The limit of the loaded head's class: a consumer that takes headers of this size takes the head.
   */
  headLimitBytes = 0;
  /** Number of messages that stand apart. */
  count = 0;
  /** Before this broker time, ms, no further line of log says that messages fit no consumer. */
  quietUntilMs = 0;
  /** The lane of all other messages. */
  readonly inner: ReadyLane;
  readonly #account: (deltaBytes: number) => void;
  /** Sorted by rising limit; the last class has no limit. */
  #classes: SizeClass[] = [];
  #head: SizeClass | null = null;

  /** `account` is called when the memory for messages apart changes. */
  constructor(inner: ReadyLane, account: (deltaBytes: number) => void) {
    this.inner = inner;
    this.#account = account;
  }

  get messageCount(): number {
    return this.inner.messageCount + this.count;
  }

  get nextPosition(): number {
    return this.inner.nextPosition;
  }

  set nextPosition(position: number) {
    this.inner.nextPosition = position;
  }

  push(ref: number, entry: number, expiryMs: number): number {
    return this.inner.push(ref, entry, expiryMs);
  }

  restore(position: number, ref: number, entry: number, expiryMs: number): void {
    this.inner.restore(position, ref, entry, expiryMs);
  }

  /** Puts the loaded head of the inner lane apart. `headerBytes` is the size of its content header. */
  setApart(headerBytes: number, limits: Iterable<number>): void {
    const { inner } = this;
    this.learn(limits);
    const found = this.#classes.find(({ limitBytes }) => headerBytes <= limitBytes)!;
    this.#change(found, ({ messages }) => {
      messages.push(inner.headPosition, inner.headRef, inner.headEntry, inner.headExpiryMs);
    });
    found.minBytes = Math.min(found.minBytes, headerBytes);
    found.maxBytes = Math.max(found.maxBytes, headerBytes);
    inner.shift();
  }

  /** Splits the classes, so that clients with these limits can be told apart. */
  learn(limits: Iterable<number>): void {
    if (this.count === 0) this.#classes = [newClass(Infinity)];
    for (const limitBytes of limits) this.#learn(limitBytes);
  }

  #learn(limitBytes: number): void {
    const classes = this.#classes;
    const index = classes.findIndex((one) => limitBytes <= one.limitBytes);
    const above = classes[index]!;
    if (above.limitBytes === limitBytes || classes.length >= CLASSES_MAX) return;
    if (above.maxBytes <= limitBytes) {
      classes.splice(index + 1, 0, newClass(above.limitBytes));
      above.limitBytes = limitBytes;
      return;
    }
    classes.splice(index, 0, newClass(limitBytes));
    if (above.minBytes <= limitBytes) this.#putBack(above);
  }

  // The messages go back to the lane. Their sizes are measured again when they reach its head.
  #putBack(from: SizeClass): void {
    this.#change(from, ({ messages }) => {
      for (; messages.count > 0; messages.shift()) {
        const ref = messages.refAt(0);
        this.inner.restore(messages.positionAt(0), ref, messages.entryAt(0), messages.expiryAt(0));
      }
    });
  }

  // Changes one class and updates the counts and the memory account.
  #change(changed: SizeClass, change: (changed: SizeClass) => void): void {
    const { messages } = changed;
    const bytesBefore = bytesOf(messages);
    const countBefore = messages.count;
    change(changed);
    this.count += messages.count - countBefore;
    const deltaBytes = bytesOf(messages) - bytesBefore;
    if (deltaBytes !== 0) this.#account(deltaBytes);
    if (messages.count > 0) return;
    changed.minBytes = Infinity;
    changed.maxBytes = 0;
  }

  head(waiter: ReadWaiter): number {
    this.rewind();
    return this.headFor(Infinity, waiter);
  }

  /**
   * Loads the oldest message that the lane holds or that a client with this limit takes from those
   * apart.
   */
  headFor(headerBytesMax: number, waiter: ReadWaiter): number {
    const { inner } = this;
    const state = inner.head(waiter);
    const apart = this.#oldest(headerBytesMax);
    this.#head = apart;
    this.isHeadApart = apart !== null &&
      (state !== HEAD_READY || apart.messages.positionAt(0) < inner.headPosition);
    if (this.isHeadApart) this.#loadApart(apart!);
    else if (state === HEAD_READY) this.#loadInner();
    return this.isHeadApart ? HEAD_READY : state;
  }

  #oldest(headerBytesMax: number): SizeClass | null {
    let oldest: SizeClass | null = null;
    for (const one of this.#classes) {
      if (one.limitBytes > headerBytesMax) break;
      if (one.messages.count === 0 || one.isSkipped) continue;
      const position = one.messages.positionAt(0);
      if (oldest === null || position < oldest.messages.positionAt(0)) oldest = one;
    }
    return oldest;
  }

  #loadApart({ messages, limitBytes }: SizeClass): void {
    this.headRef = messages.refAt(0);
    this.headPosition = messages.positionAt(0);
    this.headEntry = messages.entryAt(0);
    this.headExpiryMs = messages.expiryAt(0);
    this.headLimitBytes = limitBytes;
  }

  #loadInner(): void {
    const { inner } = this;
    this.headRef = inner.headRef;
    this.headPosition = inner.headPosition;
    this.headEntry = inner.headEntry;
    this.headExpiryMs = inner.headExpiryMs;
  }

  /**
   * Passes over the class of the loaded head until `rewind`: no consumer with capacity takes its
   * messages.
   */
  skip(): void {
    this.#head!.isSkipped = true;
  }

  /** Looks at every class again, the skipped ones included. */
  rewind(): void {
    for (const one of this.#classes) one.isSkipped = false;
  }

  shift(): void {
    if (this.isHeadApart) this.#change(this.#head!, ({ messages }) => messages.shift());
    else this.inner.shift();
  }

  /** Returns how many messages have a header that is too large for a client with this limit. */
  countAbove(headerBytesMax: number): number {
    let count = 0;
    for (const one of this.#classes) {
      if (one.limitBytes > headerBytesMax) count += one.messages.count;
    }
    return count;
  }

  /** No message that stands apart has a smaller header. */
  get minBytes(): number {
    return Math.min(...this.#classes.map(({ minBytes }) => minBytes));
  }

  nextExpiryMs(): number {
    const expiries = this.#classes.map(({ messages }) => messages.expiryMinMs);
    return Math.min(this.inner.nextExpiryMs(), ...expiries);
  }

  expire(nowMs: number, max: number, visit: EntryVisitor, waiter: ReadWaiter): number {
    let expired = 0;
    for (const one of this.#classes) {
      if (one.messages.expiryMinMs > nowMs || expired >= max) continue;
      this.#change(one, ({ messages }) => {
        expired += messages.expire(nowMs, max - expired, (index) => {
          visit(messages.refAt(index), messages.positionAt(index), messages.entryAt(index));
        });
      });
    }
    return expired < max
      ? expired + this.inner.expire(nowMs, max - expired, visit, waiter)
      : expired;
  }

  takeAll(): TakenMessages {
    const taken = this.#classes.map(({ messages }) => messages).filter(({ count }) => count > 0);
    const all = new TakenApart(this.inner.takeAll(), taken, this.#account);
    this.#classes = [];
    this.count = 0;
    return all;
  }

  peek(max: number, visit: EntryVisitor): void {
    this.inner.peek(max, visit);
  }
}

/** The messages of a lane and of its apart classes that a purge has taken. */
class TakenApart implements TakenMessages {
  readonly messageCount: number;
  readonly #inner: TakenMessages;
  readonly #apart: RequeuedHeap[];
  readonly #account: (deltaBytes: number) => void;

  constructor(
    inner: TakenMessages,
    apart: RequeuedHeap[],
    account: (deltaBytes: number) => void,
  ) {
    this.messageCount = apart.reduce((sum, { count }) => sum + count, inner.messageCount);
    this.#inner = inner;
    this.#apart = apart;
    this.#account = account;
  }

  releaseSome(max: number, release: (ref: number) => void): boolean {
    let left = max;
    while (this.#apart.length > 0 && left > 0) {
      const messages = this.#apart.at(-1)!;
      for (; messages.count > 0 && left > 0; left--) release(messages.takeLast());
      if (messages.count > 0) return true;
      this.#account(-messages.memoryBytes);
      this.#apart.pop();
    }
    return left > 0 ? this.#inner.releaseSome(left, release) : true;
  }
}

function newClass(limitBytes: number): SizeClass {
  const messages = new RequeuedHeap();
  return { limitBytes, minBytes: Infinity, maxBytes: 0, messages, isSkipped: false };
}

// The memory of an empty class is not counted: its heap is small and ends with the lane.
function bytesOf(messages: RequeuedHeap): number {
  return messages.count === 0 ? 0 : messages.memoryBytes;
}
