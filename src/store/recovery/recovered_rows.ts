// The facts about each message while the state of a folder is rebuilt: flat arrays in chunks, one
// row per message, for all queues together. Arrays of ten million rows would be copied each time
// they grow; chunks are not. PositionTable says which row belongs to which position. The broker
// takes the rows over one by one.

import type { MessageRow } from "../format/message_row.ts";

/** Rows in a chunk: a power of two. */
const CHUNK_ROWS = 8192;
const CHUNK_SHIFT = 13;
const CHUNK_MASK = CHUNK_ROWS - 1;

/** The number that stands for no row. */
export const NO_ROW = 0;

/** Some rows, column by column. */
class RowChunk {
  readonly since = new Float64Array(CHUNK_ROWS);
  readonly file = new Uint32Array(CHUNK_ROWS);
  readonly offset = new Uint32Array(CHUNK_ROWS);
  readonly recordBytes = new Uint32Array(CHUNK_ROWS);
  readonly entry = new Uint32Array(CHUNK_ROWS);
  readonly bodyBytes = new Uint32Array(CHUNK_ROWS);
  readonly dueMs = new Float64Array(CHUNK_ROWS);
  readonly delayNumber = new Float64Array(CHUNK_ROWS);
  readonly arrivalMs = new Float64Array(CHUNK_ROWS);
  readonly expiryMs = new Float64Array(CHUNK_ROWS);
  readonly state = new Uint8Array(CHUNK_ROWS);
  readonly flags = new Uint8Array(CHUNK_ROWS);
  readonly priority = new Uint8Array(CHUNK_ROWS);
}

/** The rows of a folder. */
export class RecoveredRows {
  readonly #chunks: RowChunk[] = [];
  #firstFree = NO_ROW;
  #unused = NO_ROW + 1;

  /** Returns a new row. The caller sets its columns. */
  allocate(): number {
    const free = this.#firstFree;
    if (free !== NO_ROW) {
      this.#firstFree = this.#chunks[free >>> CHUNK_SHIFT]!.offset[free & CHUNK_MASK]!;
      return free;
    }
    const row = this.#unused++;
    if (row >>> CHUNK_SHIFT === this.#chunks.length) this.#chunks.push(new RowChunk());
    return row;
  }

  /** Frees a row. */
  free(row: number): void {
    this.#chunks[row >>> CHUNK_SHIFT]!.offset[row & CHUNK_MASK] = this.#firstFree;
    this.#firstFree = row;
  }

  /** Gives up all rows. */
  clear(): void {
    this.#chunks.length = 0;
    this.#firstFree = NO_ROW;
    this.#unused = NO_ROW + 1;
  }

  /** Sets all columns of a row. The row shows the state before the batch `since`. */
  set(row: number, said: MessageRow, since: number): void {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT]!;
    const at = row & CHUNK_MASK;
    chunk.since[at] = since;
    chunk.file[at] = said.file;
    chunk.offset[at] = said.offset;
    chunk.recordBytes[at] = said.recordBytes;
    chunk.state[at] = said.state;
    chunk.entry[at] = said.entry;
    chunk.dueMs[at] = said.dueMs;
    chunk.delayNumber[at] = said.delayNumber;
    chunk.flags[at] = said.flags;
    chunk.priority[at] = said.priority;
    chunk.bodyBytes[at] = said.bodyBytes;
    chunk.arrivalMs[at] = said.arrivalMs;
    chunk.expiryMs[at] = said.expiryMs;
  }

  /** Copies all columns of a row into `into`. */
  get(row: number, into: MessageRow): void {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT]!;
    const at = row & CHUNK_MASK;
    into.file = chunk.file[at]!;
    into.offset = chunk.offset[at]!;
    into.recordBytes = chunk.recordBytes[at]!;
    into.state = chunk.state[at]!;
    into.entry = chunk.entry[at]!;
    into.dueMs = chunk.dueMs[at]!;
    into.delayNumber = chunk.delayNumber[at]!;
    into.flags = chunk.flags[at]!;
    into.priority = chunk.priority[at]!;
    into.bodyBytes = chunk.bodyBytes[at]!;
    into.arrivalMs = chunk.arrivalMs[at]!;
    into.expiryMs = chunk.expiryMs[at]!;
  }

  /** Returns the batch before which the row shows the state. Older entries add nothing to it. */
  sinceOf(row: number): number {
    return this.#chunks[row >>> CHUNK_SHIFT]!.since[row & CHUNK_MASK]!;
  }

  setSince(row: number, since: number): void {
    this.#chunks[row >>> CHUNK_SHIFT]!.since[row & CHUNK_MASK] = since;
  }

  stateOf(row: number): number {
    return this.#chunks[row >>> CHUNK_SHIFT]!.state[row & CHUNK_MASK]!;
  }

  setState(row: number, state: number, entry: number): void {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT]!;
    chunk.state[row & CHUNK_MASK] = state;
    chunk.entry[row & CHUNK_MASK] = entry;
  }

  /** Changes the state and leaves the deliveries. */
  changeState(row: number, state: number): void {
    this.#chunks[row >>> CHUNK_SHIFT]!.state[row & CHUNK_MASK] = state;
  }

  setDelay(row: number, dueMs: number, number: number): void {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT]!;
    chunk.dueMs[row & CHUNK_MASK] = dueMs;
    chunk.delayNumber[row & CHUNK_MASK] = number;
  }

  setPlace(row: number, file: number, offset: number): void {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT]!;
    chunk.file[row & CHUNK_MASK] = file;
    chunk.offset[row & CHUNK_MASK] = offset;
  }
}
