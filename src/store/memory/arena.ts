// The arena: large blocks that hold every message record of the node, written front to back. A body
// reference names a record wherever the record lies, so live records can be moved out of a nearly
// dead block without telling any queue. The memory store owns the arena. The arena never knows
// queues or positions.

import { assert } from "../../lib/assert.ts";
import { dropBytes } from "../../lib/bytes.ts";
import {
  Block,
  holderCountAt,
  isStubAt,
  moveRecord,
  recordBytesAt,
  recordBytesOf,
  recordRefAt,
  setHolderCountAt,
  STUB_BYTES,
  type StubMeta,
  viewRecord,
  writeRecord,
  writeStub,
} from "./block.ts";
import type { MessageSource, RecordView } from "../port.ts";
import { REFERENCE_BYTES, ReferenceTable } from "./reference_table.ts";

/** Size of an ordinary block. */
export const BLOCK_BYTES: number = 4 * 1024 * 1024;
// A record larger than this gets a block of its own, so that it never wastes the rest of a shared one.
const SHARED_RECORD_BYTES_MAX = BLOCK_BYTES / 4;
const POOLED_BLOCKS_MAX = 4;
// Compaction starts when less than two thirds of the held bytes are alive, beyond a slack of four
// blocks.
const HELD_RATIO_MAX = 1.5;
const COMPACTION_SLACK_BYTES = 4 * BLOCK_BYTES;
// Above `heldBytesMax`, compaction starts earlier: it leaves only the live bytes and these blocks,
// which may be open or half moved.
const OPEN_BLOCKS = 3;
// The pool keeps one block for each of these bytes that may be held: 16 blocks × 4 MiB.
const HELD_PER_POOLED_BYTES = 16 * BLOCK_BYTES;
const COMPACTION_STEP_BYTES = 256 * 1024;

/** Blocks of records and the table that names them. */
export class Arena {
  readonly #blocks: (Block | undefined)[] = [];
  readonly #freeIndexes: number[] = [];
  readonly #pool: Block[] = [];
  readonly #references = new ReferenceTable();
  #current: Block;
  /**
   * The block that takes stubs, so that stubs keep no block whose contents are given up; null
   * before the first stub.
   */
  #stubs: Block | null = null;
  #victim: Block | null = null;
  #victimAt = 0;
  #heldBytes = 0;
  #liveBytes = 0;
  /** The held bytes should stay below this. */
  readonly #heldBytesMax: number;
  readonly #pooledBlocksMax: number;

  constructor(heldBytesMax = Infinity) {
    this.#heldBytesMax = heldBytesMax;
    const pooled = Math.max(1, Math.floor(heldBytesMax / HELD_PER_POOLED_BYTES));
    this.#pooledBlocksMax = Math.min(POOLED_BLOCKS_MAX, pooled);
    this.#current = this.#openBlock(BLOCK_BYTES);
  }

  /** Bytes of blocks in use and of the reference table. */
  get memoryBytes(): number {
    return this.#heldBytes + this.#references.memoryBytes;
  }

  /** Bytes of live records and of their places in the table. */
  get usedBytes(): number {
    return this.#liveBytes + this.#references.count * REFERENCE_BYTES;
  }

  /** Bytes of live records. */
  get liveBytes(): number {
    return this.#liveBytes;
  }

  /** How many records are alive. */
  get recordCount(): number {
    return this.#references.count;
  }

  /** Copies a message in and returns its body reference. */
  append(message: MessageSource, holderCount: number): number {
    const block = this.#blockFor(recordBytesOf(message));
    const ref = this.#references.allocate();
    this.#place(ref, block, writeRecord(block, message, ref), holderCount);
    return ref;
  }

  /** Takes one holder away. Frees the record with the last holder, and returns whether it did. */
  release(ref: number): boolean {
    const block = this.#blocks[this.#references.blockOf(ref)]!;
    const at = this.#references.offsetOf(ref);
    const holderCount = holderCountAt(block, at);
    assert(holderCount > 0 && recordRefAt(block, at) === ref, "release of a free record");
    setHolderCountAt(block, at, holderCount - 1);
    if (holderCount > 1) return false;
    const recordBytes = recordBytesAt(block, at);
    this.#references.free(ref);
    this.#liveBytes -= recordBytes;
    block.liveBytes -= recordBytes;
    if (block.liveBytes === 0) this.#emptied(block);
    return true;
  }

  /** Fills in the facts about a live record, and its parts if they are in memory. */
  describe(ref: number, view: RecordView): void {
    viewRecord(this.#blocks[this.#references.blockOf(ref)]!, this.#references.offsetOf(ref), view);
  }

  /** Points `view` at a live record; false when its parts are not in memory. */
  open(ref: number, view: RecordView): boolean {
    const block = this.#blocks[this.#references.blockOf(ref)]!;
    const at = this.#references.offsetOf(ref);
    if (isStubAt(block, at)) return false;
    viewRecord(block, at, view);
    return true;
  }

  /** Body references at and above this one are not in use. */
  get refEnd(): number {
    return this.#references.end;
  }

  /** Whether a reference names a record. */
  isAlive(ref: number): boolean {
    return this.#references.isUsed(ref);
  }

  /** Whether the parts of a record are in memory. */
  isResident(ref: number): boolean {
    const block = this.#blocks[this.#references.blockOf(ref)]!;
    return !isStubAt(block, this.#references.offsetOf(ref));
  }

  /** Takes in a record whose parts are on a disk, and returns its body reference. */
  appendStub(meta: StubMeta, holderCount: number): number {
    const block = this.#blockForStub();
    const ref = this.#references.allocate();
    const at = writeStub(block, meta, ref);
    this.#place(ref, block, at, holderCount);
    return ref;
  }

  /** Gives up the parts of a record that a disk has; its body reference stays. */
  evict(ref: number, meta: StubMeta): void {
    const holderCount = this.#drop(ref);
    const block = this.#blockForStub();
    this.#place(ref, block, writeStub(block, meta, ref), holderCount);
  }

  /** Brings the parts of a record back. */
  fill(ref: number, message: MessageSource): void {
    const holderCount = this.#drop(ref);
    const block = this.#blockFor(recordBytesOf(message));
    this.#place(ref, block, writeRecord(block, message, ref), holderCount);
  }

  #place(ref: number, block: Block, at: number, holderCount: number): void {
    setHolderCountAt(block, at, holderCount);
    this.#references.place(ref, block.index, at);
    this.#liveBytes += recordBytesAt(block, at);
  }

  // Takes a live record out of its block and returns its holder count. The caller must give the
  // record a new place.
  #drop(ref: number): number {
    const block = this.#blocks[this.#references.blockOf(ref)]!;
    const at = this.#references.offsetOf(ref);
    const holderCount = holderCountAt(block, at);
    const recordBytes = recordBytesAt(block, at);
    setHolderCountAt(block, at, 0);
    this.#liveBytes -= recordBytes;
    block.liveBytes -= recordBytes;
    if (block.liveBytes === 0) this.#emptied(block);
    return holderCount;
  }

  /**
   * Moves a bounded number of live records out of a nearly dead block; true when more is worth
   * moving.
   */
  compact(): boolean {
    if (this.#victim === null && !this.#chooseVictim()) return false;
    const victim = this.#victim!;
    const stopAt = this.#victimAt + COMPACTION_STEP_BYTES;
    while (this.#victimAt < victim.usedBytes && this.#victimAt < stopAt) {
      const at = this.#victimAt;
      this.#victimAt += recordBytesAt(victim, at);
      if (holderCountAt(victim, at) > 0) this.#moveOut(victim, at);
    }
    // When the last live record has moved or was released meanwhile, #emptied has given the block
    // back.
    if (this.#victim !== null) assert(victim.liveBytes > 0, "an empty block is not a victim");
    return true;
  }

  #moveOut(victim: Block, at: number): void {
    const target = isStubAt(victim, at)
      ? this.#blockForStub()
      : this.#blockFor(recordBytesAt(victim, at));
    const to = moveRecord(victim, at, target);
    this.#references.place(recordRefAt(target, to), target.index, to);
    setHolderCountAt(victim, at, 0);
    if (victim.liveBytes === 0) this.#emptied(victim);
  }

  #chooseVictim(): boolean {
    const usualBytes = HELD_RATIO_MAX * this.#liveBytes + COMPACTION_SLACK_BYTES;
    const leastBytes = this.#liveBytes + OPEN_BLOCKS * BLOCK_BYTES;
    const heldBytesMax = Math.max(this.#heldBytesMax, leastBytes);
    if (this.#heldBytes <= Math.min(usualBytes, heldBytesMax)) return false;
    let best: Block | null = null;
    for (const block of this.#blocks) {
      if (block === undefined || block === this.#current || block === this.#stubs) continue;
      if (block.capacityBytes !== BLOCK_BYTES) continue;
      if (best === null || block.liveBytes < best.liveBytes) best = block;
    }
    // A block that is mostly alive costs more to move than it gives back.
    if (best === null || best.liveBytes > BLOCK_BYTES * 0.75) return false;
    this.#victim = best;
    this.#victimAt = 0;
    return true;
  }

  #blockFor(recordBytes: number): Block {
    if (recordBytes > SHARED_RECORD_BYTES_MAX) return this.#openBlock(recordBytes);
    const current = this.#current;
    // Starting over in an empty block keeps a busy, short queue inside the processor's cache.
    if (current.liveBytes === 0) current.usedBytes = 0;
    if (current.usedBytes + recordBytes <= BLOCK_BYTES) return current;
    this.#current = this.#openBlock(BLOCK_BYTES);
    return this.#current;
  }

  #blockForStub(): Block {
    const stubs = this.#stubs;
    if (stubs !== null && stubs.usedBytes + STUB_BYTES <= BLOCK_BYTES) return stubs;
    this.#stubs = this.#openBlock(BLOCK_BYTES);
    return this.#stubs;
  }

  #openBlock(capacityBytes: number): Block {
    this.#heldBytes += capacityBytes;
    if (capacityBytes === BLOCK_BYTES) {
      const pooled = this.#pool.pop();
      if (pooled !== undefined) {
        pooled.usedBytes = 0;
        this.#blocks[pooled.index] = pooled;
        return pooled;
      }
    }
    const index = this.#freeIndexes.pop() ?? this.#blocks.length;
    const block = new Block(index, capacityBytes);
    this.#blocks[index] = block;
    return block;
  }

  #emptied(block: Block): void {
    if (block === this.#current) return;
    if (block === this.#stubs) this.#stubs = null;
    if (block === this.#victim) this.#victim = null;
    this.#heldBytes -= block.capacityBytes;
    this.#blocks[block.index] = undefined;
    const isPooled = block.capacityBytes === BLOCK_BYTES &&
      this.#pool.length < this.#pooledBlocksMax;
    if (isPooled) {
      this.#pool.push(block);
    } else {
      this.#freeIndexes.push(block.index);
      dropBytes(block.bytes);
    }
  }
}
