// A queue's retry queue: the messages it holds back until their delay is over, as a group of timers in
// the scheduler (docs/automatic-retries.md "The retry queue"). Queue puts messages in and gets them
// back when they are due; nothing here decides how long a message waits or what becomes of it.

import type { Scheduler } from "../schedule/scheduler.ts";

/** Messages in a chunk: a power of two. */
const CHUNK_ROWS = 8192;
const CHUNK_SHIFT = 13;
const CHUNK_MASK = CHUNK_ROWS - 1;
const ROW_BYTES = 28;
const NONE = 0xffff_ffff;

class DelayedChunk {
  readonly refs = new Uint32Array(CHUNK_ROWS);
  readonly entries = new Uint32Array(CHUNK_ROWS);
  readonly bodyBytes = new Uint32Array(CHUNK_ROWS);
  readonly positions = new Float64Array(CHUNK_ROWS);
  readonly dueMs = new Float64Array(CHUNK_ROWS);
}

/** Node-wide table of delayed messages; a timer's payload is an index into it. It grows by chunks. */
export class DelayedTable {
  readonly #chunks: DelayedChunk[] = [];
  #firstFree = NONE;
  #unused = 0;
  count = 0;
  bodyBytes = 0;

  /** Bytes of the arrays. */
  get memoryBytes(): number {
    return this.#chunks.length * CHUNK_ROWS * ROW_BYTES;
  }

  #chunkOf(index: number): DelayedChunk {
    return this.#chunks[index >>> CHUNK_SHIFT]!;
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

  /** Enters a message and returns its index. */
  add(message: DelayedMessage): number {
    const index = this.#allocate();
    const chunk = this.#chunkOf(index);
    const at = index & CHUNK_MASK;
    chunk.refs[at] = message.ref;
    chunk.entries[at] = message.entry;
    chunk.bodyBytes[at] = message.bodyBytes;
    chunk.positions[at] = message.position;
    chunk.dueMs[at] = message.dueMs;
    this.count++;
    this.bodyBytes += message.bodyBytes;
    return index;
  }

  /** Forgets a message. */
  remove(index: number): void {
    this.count--;
    this.bodyBytes -= this.bodyBytesAt(index);
    this.#chunkOf(index).refs[index & CHUNK_MASK] = this.#firstFree;
    this.#firstFree = index;
    if (this.count > 0) return;
    this.#chunks.length = 1;
    this.#firstFree = NONE;
    this.#unused = 0;
  }

  #allocate(): number {
    const free = this.#firstFree;
    if (free !== NONE) {
      this.#firstFree = this.refAt(free);
      return free;
    }
    const index = this.#unused++;
    if (index >>> CHUNK_SHIFT === this.#chunks.length) this.#chunks.push(new DelayedChunk());
    return index;
  }
}

/** A message to be held back, or one that is. */
export interface DelayedMessage {
  ref: number;
  position: number;
  entry: number;
  bodyBytes: number;
  /** Broker time at which the delay ends, ms. */
  dueMs: number;
}

/** A delayed message as management lists it. */
export interface ListedDelay extends DelayedMessage {
  /** Names the message as long as it is delayed. */
  id: number;
}

/** The delayed messages of one queue. */
export class RetryQueue {
  readonly name: string;
  readonly #scheduler: Scheduler;
  readonly #table: DelayedTable;
  readonly #group: number;
  count = 0;
  bodyBytes = 0;
  /** Index of the message that was added last. */
  lastIndex = 0;

  /** `onDue` gets the table index of each message whose timer fires; it must `take` it. */
  constructor(
    name: string,
    parts: { scheduler: Scheduler; table: DelayedTable; onDue: (index: number) => void },
  ) {
    this.name = name;
    this.#scheduler = parts.scheduler;
    this.#table = parts.table;
    this.#group = parts.scheduler.openGroup(parts.onDue);
  }

  /**
   * Holds a message back until `wakeMs`, which is its due time or an earlier expiry. Its index in the
   * table is in `lastIndex` then, and the answer is the handle of its timer.
   * @throws SchedulerFullError when no timer can be had; nothing has changed then
   */
  add(message: DelayedMessage, wakeMs: number): number {
    const index = this.#table.add(message);
    let handle: number;
    try {
      handle = this.#scheduler.insert(this.#group, wakeMs, index);
    } catch (error) {
      this.#table.remove(index);
      throw error;
    }
    this.count++;
    this.bodyBytes += message.bodyBytes;
    this.lastIndex = index;
    return handle;
  }

  /** Stops the timer of a message that is to be taken before it fires; false when it has fired. */
  cancel(handle: number): boolean {
    return this.#scheduler.cancel(handle);
  }

  /** Gives up the message whose timer has fired or was cancelled. */
  take(index: number): void {
    this.count--;
    this.bodyBytes -= this.#table.bodyBytesAt(index);
    this.#table.remove(index);
  }

  /** Gives up everything, in order of the timers. */
  clear(visit: (ref: number, position: number) => void): number {
    const cleared = this.count;
    for (const { payload } of this.#scheduler.list(this.#group, 0, this.count)) {
      visit(this.#table.refAt(payload), this.#table.positionAt(payload));
      this.take(payload);
    }
    this.#scheduler.clearGroup(this.#group);
    return cleared;
  }

  /** Gives up the timers; everything must have been cleared. */
  close(): void {
    this.#scheduler.closeGroup(this.#group);
  }

  /** A page of messages by the time at which they wake. */
  list(offset: number, limit: number): ListedDelay[] {
    return this.#scheduler.list(this.#group, offset, limit).map(({ payload, handle }) => ({
      id: handle,
      ref: this.#table.refAt(payload),
      position: this.#table.positionAt(payload),
      entry: this.#table.entryAt(payload),
      bodyBytes: this.#table.bodyBytesAt(payload),
      dueMs: this.#table.dueMsAt(payload),
    }));
  }

  /** When the next message wakes, Infinity when there is none. */
  get nextDueMs(): number {
    return this.#scheduler.firstDueMs(this.#group);
  }

  /** When the last message wakes, -Infinity when there is none. */
  get lastDueMs(): number {
    return this.#scheduler.lastDueMs(this.#group);
  }
}
