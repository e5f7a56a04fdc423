// The positions of one queue while its state is rebuilt: a hash table from position to what is known of
// the message there. Made by recovery, thrown away when the broker has taken the messages over.

/** Columns a row has. */
export interface PositionRow {
  file: number;
  offset: number;
  recordBytes: number;
  state: number;
  entry: number;
  dueMs: number;
  flags: number;
  priority: number;
  bodyBytes: number;
  arrivalMs: number;
  expiryMs: number;
}

const CAPACITY_MIN = 16;
const EMPTY = 0;
const USED = 1;
const GONE = 2;

/** Rows by position; open addressing over flat arrays. */
export class PositionTable {
  /** Rows in the table. */
  count = 0;
  #filled = 0;
  #capacity = 0;
  #use!: Uint8Array;
  #position!: Float64Array;
  /** The batch that the row tells the state before; older entries have nothing to add. */
  since!: Float64Array;
  file!: Uint32Array;
  offset!: Uint32Array;
  recordBytes!: Uint32Array;
  state!: Uint8Array;
  entry!: Uint32Array;
  dueMs!: Float64Array;
  flags!: Uint8Array;
  priority!: Uint8Array;
  bodyBytes!: Uint32Array;
  arrivalMs!: Float64Array;
  expiryMs!: Float64Array;

  constructor() {
    this.#allocate(CAPACITY_MIN);
  }

  /** Index of a position's row, or -1. */
  find(position: number): number {
    let index = slotOf(position, this.#capacity);
    while (this.#use[index] !== EMPTY) {
      if (this.#use[index] === USED && this.#position[index] === position) return index;
      index = (index + 1) & (this.#capacity - 1);
    }
    return -1;
  }

  /** Index of a position's row, made if there is none; its columns are the caller's to set. */
  put(position: number): number {
    const found = this.find(position);
    if (found >= 0) return found;
    if (this.#filled * 2 >= this.#capacity) this.#rehash();
    let index = slotOf(position, this.#capacity);
    while (this.#use[index] === USED) index = (index + 1) & (this.#capacity - 1);
    if (this.#use[index] === EMPTY) this.#filled++;
    this.#use[index] = USED;
    this.#position[index] = position;
    this.since[index] = 0;
    this.count++;
    return index;
  }

  /** Removes the row at an index. */
  remove(index: number): void {
    this.#use[index] = GONE;
    this.count--;
  }

  /** Sets every column but `since`. */
  set(index: number, row: PositionRow): void {
    this.file[index] = row.file;
    this.offset[index] = row.offset;
    this.recordBytes[index] = row.recordBytes;
    this.state[index] = row.state;
    this.entry[index] = row.entry;
    this.dueMs[index] = row.dueMs;
    this.flags[index] = row.flags;
    this.priority[index] = row.priority;
    this.bodyBytes[index] = row.bodyBytes;
    this.arrivalMs[index] = row.arrivalMs;
    this.expiryMs[index] = row.expiryMs;
  }

  /** Copies the columns of one row to another, `since` included. */
  copy(from: number, to: number): void {
    for (const column of this.#columns()) column[to] = column[from]!;
  }

  /** Indexes of all rows, in no order. */
  *indexes(): Iterable<number> {
    for (let index = 0; index < this.#capacity; index++) {
      if (this.#use[index] === USED) yield index;
    }
  }

  /** All positions, in rising order. */
  positions(): Float64Array {
    const positions = new Float64Array(this.count);
    let at = 0;
    for (let index = 0; index < this.#capacity; index++) {
      if (this.#use[index] === USED) positions[at++] = this.#position[index]!;
    }
    return positions.sort();
  }

  #columns(): (Uint8Array | Uint32Array | Float64Array)[] {
    return [
      this.since,
      this.file,
      this.offset,
      this.recordBytes,
      this.state,
      this.entry,
      this.dueMs,
      this.flags,
      this.priority,
      this.bodyBytes,
      this.arrivalMs,
      this.expiryMs,
    ];
  }

  #allocate(capacity: number): void {
    this.#capacity = capacity;
    this.#use = new Uint8Array(capacity);
    this.#position = new Float64Array(capacity);
    this.since = new Float64Array(capacity);
    this.file = new Uint32Array(capacity);
    this.offset = new Uint32Array(capacity);
    this.recordBytes = new Uint32Array(capacity);
    this.state = new Uint8Array(capacity);
    this.entry = new Uint32Array(capacity);
    this.dueMs = new Float64Array(capacity);
    this.flags = new Uint8Array(capacity);
    this.priority = new Uint8Array(capacity);
    this.bodyBytes = new Uint32Array(capacity);
    this.arrivalMs = new Float64Array(capacity);
    this.expiryMs = new Float64Array(capacity);
  }

  // Doubles, or only sweeps the gone rows out when they are what fills the table.
  #rehash(): void {
    const use = this.#use;
    const position = this.#position;
    const before = this.#columns();
    this.#allocate(this.count * 4 > this.#capacity ? this.#capacity * 2 : this.#capacity);
    this.count = 0;
    this.#filled = 0;
    const after = this.#columns();
    for (let index = 0; index < use.length; index++) {
      if (use[index] !== USED) continue;
      const to = this.put(position[index]!);
      for (let column = 0; column < after.length; column++) {
        after[column]![to] = before[column]![index]!;
      }
    }
  }
}

// Positions are dense, so nearly any spread does; the multiplication keeps runs from piling up.
function slotOf(position: number, capacity: number): number {
  const low = position >>> 0;
  const high = (position / 0x1_0000_0000) >>> 0;
  const hash = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return (hash ^ (hash >>> 15)) & (capacity - 1);
}
