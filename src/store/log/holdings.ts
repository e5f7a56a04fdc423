// What a file store knows of the messages it keeps across restarts: where each record lies on disk and
// which queues hold it, at which position and in which state. Snapshots are written from it and records
// are moved by it. Flat arrays: one row per body reference, one per holding.
//
//   by ref      file | offset | recordBytes | first holding ──┐
//   by holding  queue | position | state, entry | due | next <┘  one per durable queue that holds it

import { assert } from "../../lib/assert.ts";

const CAPACITY_MIN = 1024;
/** No holding. */
export const NO_HOLDING = 0;

type Column = Uint32Array | Float64Array | Uint8Array;

function grown<T extends Column>(column: T, capacity: number): T {
  const Type = column.constructor as new (capacity: number) => T;
  const next = new Type(capacity);
  next.set(column);
  return next;
}

/** Records on disk and who holds them. */
export class Holdings {
  // By body reference.
  #file = new Uint32Array(CAPACITY_MIN);
  #offset = new Uint32Array(CAPACITY_MIN);
  #recordBytes = new Uint32Array(CAPACITY_MIN);
  #first = new Uint32Array(CAPACITY_MIN);
  // By holding; 0 is none.
  #queue = new Uint32Array(CAPACITY_MIN);
  #position = new Float64Array(CAPACITY_MIN);
  #entry = new Uint32Array(CAPACITY_MIN);
  #state = new Uint8Array(CAPACITY_MIN);
  #dueMs = new Float64Array(CAPACITY_MIN);
  #next = new Uint32Array(CAPACITY_MIN);
  #firstFree = NO_HOLDING;
  #unused = 1;
  /** How many holdings there are. */
  count = 0;

  /** Body references below this one may have rows. */
  get refEnd(): number {
    return this.#file.length;
  }

  get memoryBytes(): number {
    return this.#file.length * 16 + this.#queue.length * 29;
  }

  // --- records

  /** Number of the file the record lies in; 0 when it is on no disk. */
  fileOf(ref: number): number {
    return ref < this.#file.length ? this.#file[ref]! : 0;
  }

  offsetOf(ref: number): number {
    return this.#offset[ref]!;
  }

  recordBytesOf(ref: number): number {
    return this.#recordBytes[ref]!;
  }

  /** Says where the record lies. */
  place(ref: number, file: number, offset: number, recordBytes: number): void {
    if (ref >= this.#file.length) this.#growRefs(ref);
    this.#file[ref] = file;
    this.#offset[ref] = offset;
    this.#recordBytes[ref] = recordBytes;
  }

  /** The record is free: its row is empty again. */
  forget(ref: number): void {
    assert(this.#first[ref] === NO_HOLDING, "a freed record is still held");
    this.#file[ref] = 0;
  }

  /**
   * Moves every record in a range of one file to another place, for a log that starts afresh, and says
   * how many records of how many bytes they were.
   */
  relocate(
    from: { file: number; offset: number; byteCount: number },
    to: { file: number; offset: number },
  ): { records: number; bytes: number } {
    const moved = { records: 0, bytes: 0 };
    const end = from.offset + from.byteCount;
    for (let ref = 1; ref < this.#file.length; ref++) {
      const offset = this.#offset[ref]!;
      if (this.#file[ref] !== from.file || offset < from.offset || offset >= end) continue;
      this.#file[ref] = to.file;
      this.#offset[ref] = to.offset + offset - from.offset;
      moved.records++;
      moved.bytes += this.#recordBytes[ref]!;
    }
    return moved;
  }

  // --- holdings

  /** First holding of a record; `next` leads on. */
  first(ref: number): number {
    return ref < this.#first.length ? this.#first[ref]! : NO_HOLDING;
  }

  next(holding: number): number {
    return this.#next[holding]!;
  }

  queueOf(holding: number): number {
    return this.#queue[holding]!;
  }

  positionOf(holding: number): number {
    return this.#position[holding]!;
  }

  entryOf(holding: number): number {
    return this.#entry[holding]!;
  }

  stateOf(holding: number): number {
    return this.#state[holding]!;
  }

  dueMsOf(holding: number): number {
    return this.#dueMs[holding]!;
  }

  /** The queue holds the record at `position` from now on; its record has a place. */
  add(ref: number, queueId: number, position: number): number {
    const holding = this.#allocate();
    this.#queue[holding] = queueId;
    this.#position[holding] = position;
    this.#entry[holding] = 0;
    this.#state[holding] = 0;
    this.#next[holding] = this.#first[ref]!;
    this.#first[ref] = holding;
    this.count++;
    return holding;
  }

  /** The queue's holding of a record; NO_HOLDING when it has none. */
  find(ref: number, queueId: number): number {
    let holding = this.first(ref);
    while (holding !== NO_HOLDING && this.#queue[holding] !== queueId) {
      holding = this.#next[holding]!;
    }
    return holding;
  }

  setState(holding: number, state: number, entry: number): void {
    this.#state[holding] = state;
    this.#entry[holding] = entry;
  }

  setDueMs(holding: number, dueMs: number): void {
    this.#dueMs[holding] = dueMs;
  }

  setPosition(holding: number, position: number): void {
    this.#position[holding] = position;
  }

  /** The queue holds the record no longer; nothing when it did not. */
  remove(ref: number, queueId: number): void {
    let before = NO_HOLDING;
    let holding = this.first(ref);
    while (holding !== NO_HOLDING && this.#queue[holding] !== queueId) {
      before = holding;
      holding = this.#next[holding]!;
    }
    if (holding === NO_HOLDING) return;
    if (before === NO_HOLDING) this.#first[ref] = this.#next[holding]!;
    else this.#next[before] = this.#next[holding]!;
    this.#next[holding] = this.#firstFree;
    this.#firstFree = holding;
    this.count--;
  }

  #allocate(): number {
    const free = this.#firstFree;
    if (free !== NO_HOLDING) {
      this.#firstFree = this.#next[free]!;
      return free;
    }
    if (this.#unused === this.#queue.length) this.#growHoldings();
    return this.#unused++;
  }

  #growRefs(ref: number): void {
    let capacity = this.#file.length;
    while (capacity <= ref) capacity *= 2;
    this.#file = grown(this.#file, capacity);
    this.#offset = grown(this.#offset, capacity);
    this.#recordBytes = grown(this.#recordBytes, capacity);
    this.#first = grown(this.#first, capacity);
  }

  #growHoldings(): void {
    const capacity = this.#queue.length * 2;
    this.#queue = grown(this.#queue, capacity);
    this.#position = grown(this.#position, capacity);
    this.#entry = grown(this.#entry, capacity);
    this.#state = grown(this.#state, capacity);
    this.#dueMs = grown(this.#dueMs, capacity);
    this.#next = grown(this.#next, capacity);
  }
}
