// Body references: small integers that name records wherever they lie. The arena looks every record
// up here, so that moving a record changes only one place. References are reused, last freed first.
// The table never reads a record. It grows by chunks, which are never copied, and its memory is
// given back when no record is alive.
//
//   ref   1        2        3        …
//   block [ 0    ] [ 0    ] [ free ]     index of the arena block
//   at    [ 0    ] [ 72   ] [ next ]     byte offset in the block; for a free one the next free ref

import { assert } from "../../lib/assert.ts";

/** Bytes of a reference in the table. */
export const REFERENCE_BYTES = 8;
/** References in a chunk: a power of two. */
const CHUNK_REFS = 16_384;
const CHUNK_SHIFT = 14;
const CHUNK_MASK = CHUNK_REFS - 1;
const REF_MAX = 0x7fff_ffff;
const FREE = 0xffff_ffff;

class ReferenceChunk {
  readonly block = new Uint32Array(CHUNK_REFS);
  readonly at = new Uint32Array(CHUNK_REFS);
}

/** Maps body references (> 0) to block and offset. */
export class ReferenceTable {
  readonly #chunks: ReferenceChunk[] = [new ReferenceChunk()];
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
    return this.#chunks.length * CHUNK_REFS * REFERENCE_BYTES;
  }

  #chunkOf(ref: number): ReferenceChunk {
    return this.#chunks[ref >>> CHUNK_SHIFT]!;
  }

  /** Returns a free reference and marks it as used. */
  allocate(): number {
    this.#count++;
    const free = this.#firstFree;
    if (free !== 0) {
      this.#firstFree = this.#chunkOf(free).at[free & CHUNK_MASK]!;
      return free;
    }
    const ref = this.#unused++;
    if (ref >>> CHUNK_SHIFT === this.#chunks.length) {
      assert(ref <= REF_MAX, "body references are used up");
      this.#chunks.push(new ReferenceChunk());
    }
    return ref;
  }

  /** Sets the place of the record of `ref`. */
  place(ref: number, block: number, at: number): void {
    const chunk = this.#chunkOf(ref);
    chunk.block[ref & CHUNK_MASK] = block;
    chunk.at[ref & CHUNK_MASK] = at;
  }

  /** References at and above this one are not in use. */
  get end(): number {
    return this.#unused;
  }

  /** Whether a reference is in use. */
  isUsed(ref: number): boolean {
    return ref > 0 && ref < this.#unused && this.#chunkOf(ref).block[ref & CHUNK_MASK] !== FREE;
  }

  /** Block of a live reference. */
  blockOf(ref: number): number {
    const block = this.#chunkOf(ref).block[ref & CHUNK_MASK]!;
    assert(block !== FREE, "use of a free body reference");
    return block;
  }

  /** Offset of a live reference. */
  offsetOf(ref: number): number {
    return this.#chunkOf(ref).at[ref & CHUNK_MASK]!;
  }

  /** Gives a reference back. */
  free(ref: number): void {
    const chunk = this.#chunkOf(ref);
    chunk.block[ref & CHUNK_MASK] = FREE;
    chunk.at[ref & CHUNK_MASK] = this.#firstFree;
    this.#firstFree = ref;
    this.#count--;
    if (this.#count === 0 && this.#chunks.length > 1) this.#shrink();
  }

  #shrink(): void {
    this.#chunks.length = 1;
    this.#firstFree = 0;
    this.#unused = 1;
  }
}
