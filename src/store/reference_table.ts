// Body references: small integers that name records wherever they lie. The arena looks every record
// up here, so that moving one means changing one place. References are reused, last freed first, and
// the table is given back when nothing is alive; it never reads a record.
//
//   ref   1        2        3        …
//   block [ 0    ] [ 0    ] [ free ]     index of the arena block
//   at    [ 0    ] [ 72   ] [ next ]     byte offset in the block; for a free one the next free ref

import { assert } from "../lib/assert.ts";

const CAPACITY_MIN = 1024;
const CAPACITY_MAX = 0x7fff_ffff;
const FREE = 0xffff_ffff;

/** Maps body references (> 0) to block and offset. */
export class ReferenceTable {
  #block = new Uint32Array(CAPACITY_MIN);
  #at = new Uint32Array(CAPACITY_MIN);
  #firstFree = 0;
  /** References at and above this one have never been used since the last shrink. */
  #unused = 1;
  #count = 0;

  /** How many references are in use. */
  get count(): number {
    return this.#count;
  }

  /** Bytes of the table itself. */
  get memoryBytes(): number {
    return this.#block.byteLength + this.#at.byteLength;
  }

  /** Takes a reference out of the free ones. */
  allocate(): number {
    this.#count++;
    const free = this.#firstFree;
    if (free !== 0) {
      this.#firstFree = this.#at[free]!;
      return free;
    }
    if (this.#unused === this.#block.length) this.#grow();
    return this.#unused++;
  }

  /** Says where the record of `ref` lies. */
  place(ref: number, block: number, at: number): void {
    this.#block[ref] = block;
    this.#at[ref] = at;
  }

  /** References at and above this one are not in use. */
  get end(): number {
    return this.#unused;
  }

  /** Whether a reference is in use. */
  isUsed(ref: number): boolean {
    return ref > 0 && ref < this.#unused && this.#block[ref] !== FREE;
  }

  /** Block of a live reference. */
  blockOf(ref: number): number {
    const block = this.#block[ref]!;
    assert(block !== FREE, "use of a free body reference");
    return block;
  }

  /** Offset of a live reference. */
  offsetOf(ref: number): number {
    return this.#at[ref]!;
  }

  /** Gives a reference back. */
  free(ref: number): void {
    this.#block[ref] = FREE;
    this.#at[ref] = this.#firstFree;
    this.#firstFree = ref;
    this.#count--;
    if (this.#count === 0 && this.#block.length > CAPACITY_MIN) this.#shrink();
  }

  #shrink(): void {
    // Only a table that has grown well beyond the small change of a busy queue is worth renewing.
    if (this.#block.length < CAPACITY_MIN * 64) return;
    this.#block = new Uint32Array(CAPACITY_MIN);
    this.#at = new Uint32Array(CAPACITY_MIN);
    this.#firstFree = 0;
    this.#unused = 1;
  }

  #grow(): void {
    const capacity = this.#block.length * 2;
    assert(capacity <= CAPACITY_MAX, "body references are used up");
    const block = new Uint32Array(capacity);
    block.set(this.#block);
    const at = new Uint32Array(capacity);
    at.set(this.#at);
    this.#block = block;
    this.#at = at;
  }
}
