// The positions of one queue while its state is rebuilt: the row of RecoveredRows for the message
// at each position. Positions are nearly dense, so blocks of adjacent ones are found by number and
// hold their rows side by side. Recovery makes a table, which is dropped when the broker has taken
// the messages over.

import { NO_ROW, type RecoveredRows } from "./recovered_rows.ts";

const BLOCK_POSITIONS = 128;

/** Adjacent positions. */
class PositionBlock {
  readonly rows = new Uint32Array(BLOCK_POSITIONS);
  count = 0;
}

/** Rows by position. */
export class PositionTable {
  /** Positions in the table. */
  count = 0;
  readonly rows: RecoveredRows;
  readonly #blocks = new Map<number, PositionBlock>();
  // The next position asked for is nearly always in the same block.
  #lastNumber = -1;
  #lastBlock: PositionBlock | undefined = undefined;

  constructor(rows: RecoveredRows) {
    this.rows = rows;
  }

  #blockOf(number: number): PositionBlock | undefined {
    if (number === this.#lastNumber) return this.#lastBlock;
    this.#lastNumber = number;
    this.#lastBlock = this.#blocks.get(number);
    return this.#lastBlock;
  }

  /** Returns the row of a position, or NO_ROW. */
  find(position: number): number {
    const number = Math.floor(position / BLOCK_POSITIONS);
    const block = this.#blockOf(number);
    return block === undefined ? NO_ROW : block.rows[position - number * BLOCK_POSITIONS]!;
  }

  /** Returns the row of a position, made if there is none. The caller sets its columns. */
  put(position: number): number {
    const known = this.find(position);
    if (known !== NO_ROW) return known;
    const row = this.rows.allocate();
    this.#enter(position, row);
    return row;
  }

  /** Removes a position that is in the table. */
  remove(position: number): void {
    this.rows.free(this.#leave(position));
  }

  /** Moves the row of a position in the table to another position, which is free. */
  move(position: number, newPosition: number): void {
    this.#enter(newPosition, this.#leave(position));
  }

  #enter(position: number, row: number): void {
    const number = Math.floor(position / BLOCK_POSITIONS);
    let block = this.#blockOf(number);
    if (block === undefined) {
      block = new PositionBlock();
      this.#blocks.set(number, block);
      this.#lastBlock = block;
    }
    block.rows[position - number * BLOCK_POSITIONS] = row;
    block.count++;
    this.count++;
  }

  #leave(position: number): number {
    const number = Math.floor(position / BLOCK_POSITIONS);
    const block = this.#blockOf(number)!;
    const index = position - number * BLOCK_POSITIONS;
    const row = block.rows[index]!;
    block.rows[index] = NO_ROW;
    this.count--;
    if (--block.count === 0) {
      this.#blocks.delete(number);
      this.#lastBlock = undefined;
    }
    return row;
  }

  /** Visits all positions in rising order. The visited position may be removed. */
  each(visit: (position: number, row: number) => void): void {
    for (const number of Float64Array.from(this.#blocks.keys()).sort()) {
      const { rows } = this.#blocks.get(number)!;
      const base = number * BLOCK_POSITIONS;
      for (let index = 0; index < BLOCK_POSITIONS; index++) {
        const row = rows[index]!;
        if (row !== NO_ROW) visit(base + index, row);
      }
    }
  }
}
