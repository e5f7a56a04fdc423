// The facts of a file store about messages that survive a restart: where each record lies on disk
// and which queues hold it, at which position and in which state. Snapshots and the mover read it.
// It consists of flat arrays in chunks, which are never copied to grow: one row per body reference,
// one per holding.
//
//   by ref      file | offset | recordBytes | first holding ──┐
//   by holding  queue | position | state, entry | delay | next <┘  one per durable queue that holds it

import { assert } from "../../lib/assert.ts";
import { HolderIndex } from "./holder_index.ts";

/** Rows in a chunk: a power of two. */
const CHUNK_ROWS = 16_384;
const CHUNK_SHIFT = 14;
const CHUNK_MASK = CHUNK_ROWS - 1;
/** The number that stands for no holding. */
export const NO_HOLDING = 0;
// A search of more steps has the record's holders indexed.
const SEARCH_STEPS_MAX = 16;

/** Rows by body reference; all zero where no record is placed. */
class RecordChunk {
  placedCount = 0;
  readonly file = new Uint32Array(CHUNK_ROWS);
  readonly offset = new Uint32Array(CHUNK_ROWS);
  readonly recordBytes = new Uint32Array(CHUNK_ROWS);
  readonly first = new Uint32Array(CHUNK_ROWS);
}

/** The ends and numbers of delays. */
class Delays {
  readonly dueMs = new Float64Array(CHUNK_ROWS);
  readonly number = new Float64Array(CHUNK_ROWS);
}

/** Rows by holding. */
class HoldingChunk {
  readonly queue = new Uint32Array(CHUNK_ROWS);
  readonly position = new Float64Array(CHUNK_ROWS);
  readonly entry = new Uint32Array(CHUNK_ROWS);
  readonly state = new Uint8Array(CHUNK_ROWS);
  readonly next = new Uint32Array(CHUNK_ROWS);
  /** Null until the first message in the chunk is delayed. */
  delays: Delays | null = null;
}

const RECORD_ROW_BYTES = 16;
const HOLDING_ROW_BYTES = 21;
const DELAYS_BYTES = 16 * CHUNK_ROWS;

/** Records on disk and their holders. */
export class Holdings {
  readonly #records: (RecordChunk | undefined)[] = [];
  /** The chunk that was emptied last. It is used next. */
  #spare: RecordChunk | undefined = new RecordChunk();
  #recordChunkCount = 1;
  // Holding 0 stands for no holding.
  #holdings: HoldingChunk[] = [new HoldingChunk()];
  #firstFree = NO_HOLDING;
  #unused = NO_HOLDING + 1;
  readonly #index = new HolderIndex();
  #delayBytes = 0;
  /** How many holdings there are. */
  count = 0;

  /** Body references below this one may have rows. */
  get refEnd(): number {
    return this.#records.length * CHUNK_ROWS;
  }

  get memoryBytes(): number {
    return this.#recordChunkCount * CHUNK_ROWS * RECORD_ROW_BYTES +
      this.#holdings.length * CHUNK_ROWS * HOLDING_ROW_BYTES + this.#delayBytes;
  }

  // --- records

  /** Returns the number of the record's file; 0 when it is on no disk. */
  fileOf(ref: number): number {
    const chunk = this.#records[ref >>> CHUNK_SHIFT];
    return chunk === undefined ? 0 : chunk.file[ref & CHUNK_MASK]!;
  }

  offsetOf(ref: number): number {
    return this.#recordsOf(ref).offset[ref & CHUNK_MASK]!;
  }

  recordBytesOf(ref: number): number {
    return this.#recordsOf(ref).recordBytes[ref & CHUNK_MASK]!;
  }

  #recordsOf(ref: number): RecordChunk {
    return this.#records[ref >>> CHUNK_SHIFT]!;
  }

  /** Sets the place of a record. */
  place(ref: number, file: number, offset: number, recordBytes: number): void {
    const chunk = this.#records[ref >>> CHUNK_SHIFT] ?? this.#openRecords(ref >>> CHUNK_SHIFT);
    const at = ref & CHUNK_MASK;
    if (chunk.file[at] === 0) chunk.placedCount++;
    chunk.file[at] = file;
    chunk.offset[at] = offset;
    chunk.recordBytes[at] = recordBytes;
  }

  #openRecords(index: number): RecordChunk {
    const spare = this.#spare;
    if (spare === undefined) this.#recordChunkCount++;
    const chunk = spare ?? new RecordChunk();
    this.#spare = undefined;
    while (this.#records.length < index) this.#records.push(undefined);
    this.#records[index] = chunk;
    return chunk;
  }

  /** Empties the row of a freed record. */
  forget(ref: number): void {
    const chunk = this.#recordsOf(ref);
    const at = ref & CHUNK_MASK;
    assert(chunk.first[at] === NO_HOLDING, "a freed record is still held");
    chunk.file[at] = 0;
    if (--chunk.placedCount > 0) return;
    if (this.#spare !== undefined) this.#recordChunkCount--;
    this.#spare = chunk;
    this.#records[ref >>> CHUNK_SHIFT] = undefined;
  }

  /**
   * Changes the place of every record in a range of one file, for a log that goes on in a fresh
   * file. Returns the number and bytes of these records.
   */
  relocate(
    from: { file: number; offset: number; byteCount: number },
    to: { file: number; offset: number },
  ): { records: number; bytes: number } {
    const moved = { records: 0, bytes: 0 };
    const end = from.offset + from.byteCount;
    for (const chunk of this.#records) {
      if (chunk === undefined) continue;
      const { file, offset, recordBytes } = chunk;
      for (let at = 0; at < CHUNK_ROWS; at++) {
        if (file[at] !== from.file) continue;
        const before = offset[at]!;
        if (before < from.offset || before >= end) continue;
        file[at] = to.file;
        offset[at] = to.offset + before - from.offset;
        moved.records++;
        moved.bytes += recordBytes[at]!;
      }
    }
    return moved;
  }

  // --- holdings

  /** Returns the first holding of a record; `next` leads to the others. */
  first(ref: number): number {
    const chunk = this.#records[ref >>> CHUNK_SHIFT];
    return chunk === undefined ? NO_HOLDING : chunk.first[ref & CHUNK_MASK]!;
  }

  #holdingsOf(holding: number): HoldingChunk {
    return this.#holdings[holding >>> CHUNK_SHIFT]!;
  }

  next(holding: number): number {
    return this.#holdingsOf(holding).next[holding & CHUNK_MASK]!;
  }

  queueOf(holding: number): number {
    return this.#holdingsOf(holding).queue[holding & CHUNK_MASK]!;
  }

  positionOf(holding: number): number {
    return this.#holdingsOf(holding).position[holding & CHUNK_MASK]!;
  }

  entryOf(holding: number): number {
    return this.#holdingsOf(holding).entry[holding & CHUNK_MASK]!;
  }

  stateOf(holding: number): number {
    return this.#holdingsOf(holding).state[holding & CHUNK_MASK]!;
  }

  /** Returns when the delay of a delayed message ends, ms. */
  dueMsOf(holding: number): number {
    const { delays } = this.#holdingsOf(holding);
    return delays === null ? 0 : delays.dueMs[holding & CHUNK_MASK]!;
  }

  /** Returns the number of its delay. */
  delayNumberOf(holding: number): number {
    const { delays } = this.#holdingsOf(holding);
    return delays === null ? 0 : delays.number[holding & CHUNK_MASK]!;
  }

  /** Adds a holding: the queue holds the record at `position`. The record must have a place. */
  add(ref: number, queueId: number, position: number): number {
    const holding = this.#allocate();
    const chunk = this.#holdingsOf(holding);
    const at = holding & CHUNK_MASK;
    const { first } = this.#recordsOf(ref);
    chunk.queue[at] = queueId;
    chunk.position[at] = position;
    chunk.entry[at] = 0;
    chunk.state[at] = 0;
    chunk.next[at] = first[ref & CHUNK_MASK]!;
    first[ref & CHUNK_MASK] = holding;
    this.#index.set(ref, queueId, holding);
    this.count++;
    return holding;
  }

  /** Returns the queue's holding of a record; NO_HOLDING when it has none. */
  find(ref: number, queueId: number): number {
    let holding = this.first(ref);
    for (let steps = 0; holding !== NO_HOLDING; steps++) {
      if (this.queueOf(holding) === queueId) return holding;
      if (steps === SEARCH_STEPS_MAX) return this.#lookUp(ref, queueId);
      holding = this.next(holding);
    }
    return holding;
  }

  #lookUp(ref: number, queueId: number): number {
    const index = this.#index;
    if (!index.has(ref)) {
      index.open(ref);
      let holding = this.first(ref);
      for (; holding !== NO_HOLDING; holding = this.next(holding)) {
        index.set(ref, this.queueOf(holding), holding);
      }
    }
    return index.get(ref, queueId) ?? NO_HOLDING;
  }

  setState(holding: number, state: number, entry: number): void {
    const chunk = this.#holdingsOf(holding);
    chunk.state[holding & CHUNK_MASK] = state;
    chunk.entry[holding & CHUNK_MASK] = entry;
  }

  setDelay(holding: number, dueMs: number, number: number): void {
    const chunk = this.#holdingsOf(holding);
    if (chunk.delays === null) {
      chunk.delays = new Delays();
      this.#delayBytes += DELAYS_BYTES;
    }
    chunk.delays.dueMs[holding & CHUNK_MASK] = dueMs;
    chunk.delays.number[holding & CHUNK_MASK] = number;
  }

  setPosition(holding: number, position: number): void {
    this.#holdingsOf(holding).position[holding & CHUNK_MASK] = position;
  }

  /** Removes the queue's holding of a record, if it has one. */
  remove(ref: number, queueId: number): void {
    const holding = this.find(ref, queueId);
    if (holding === NO_HOLDING) return;
    this.#index.delete(ref, queueId);
    // The first holding takes the place of the removed one, so that its predecessor need not be
    // known.
    const first = this.first(ref);
    if (holding !== first) this.#copy(ref, first, holding);
    const chunk = this.#holdingsOf(first);
    this.#recordsOf(ref).first[ref & CHUNK_MASK] = chunk.next[first & CHUNK_MASK]!;
    chunk.next[first & CHUNK_MASK] = this.#firstFree;
    this.#firstFree = first;
    if (--this.count === 0) this.#shrink();
  }

  #copy(ref: number, from: number, to: number): void {
    const chunk = this.#holdingsOf(to);
    const queueId = this.queueOf(from);
    chunk.queue[to & CHUNK_MASK] = queueId;
    this.setPosition(to, this.positionOf(from));
    this.setState(to, this.stateOf(from), this.entryOf(from));
    if (this.#holdingsOf(from).delays !== null) {
      this.setDelay(to, this.dueMsOf(from), this.delayNumberOf(from));
    }
    this.#index.set(ref, queueId, to);
  }

  #allocate(): number {
    const free = this.#firstFree;
    if (free !== NO_HOLDING) {
      this.#firstFree = this.next(free);
      return free;
    }
    const holding = this.#unused++;
    if (holding >>> CHUNK_SHIFT === this.#holdings.length) this.#holdings.push(new HoldingChunk());
    return holding;
  }

  // Gives back the memory of a backlog when nothing is held.
  #shrink(): void {
    this.#firstFree = NO_HOLDING;
    this.#unused = NO_HOLDING + 1;
    this.#holdings.length = 1;
    this.#delayBytes = this.#holdings[0]!.delays === null ? 0 : DELAYS_BYTES;
  }
}
