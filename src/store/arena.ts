// The arena: every message record of the node, in large blocks written front to back. A body
// reference names a record wherever it lies, so survivors can be moved out of a nearly dead block
// without telling any queue. The memory store owns it; it never knows queues or positions.

import { assert } from "../lib/assert.ts";
import {
  Block,
  holderCountAt,
  moveRecord,
  recordBytesAt,
  recordBytesOf,
  recordRefAt,
  setHolderCountAt,
  viewRecord,
  writeRecord,
} from "./block.ts";
import type { MessageSource, RecordView } from "./port.ts";
import { ReferenceTable } from "./reference_table.ts";

/** Size of an ordinary block. */
export const BLOCK_BYTES: number = 4 * 1024 * 1024;
// A record larger than this gets a block of its own, so that it never wastes the rest of a shared one.
const SHARED_RECORD_BYTES_MAX = BLOCK_BYTES / 4;
const POOLED_BLOCKS_MAX = 4;
// Compaction starts when less than half of what is held is alive, beyond a few blocks of slack.
const COMPACTION_SLACK_BYTES = 4 * BLOCK_BYTES;
const COMPACTION_STEP_BYTES = 256 * 1024;

/** Blocks of records and the table that names them. */
export class Arena {
  readonly #blocks: (Block | undefined)[] = [];
  readonly #freeIndexes: number[] = [];
  readonly #pool: Block[] = [];
  readonly #references = new ReferenceTable();
  #current: Block;
  #victim: Block | null = null;
  #victimAt = 0;
  #heldBytes = 0;
  #liveBytes = 0;

  constructor() {
    this.#current = this.#openBlock(BLOCK_BYTES);
  }

  /** Bytes of blocks in use and of the reference table. */
  get memoryBytes(): number {
    return this.#heldBytes + this.#references.memoryBytes;
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
    const recordBytes = recordBytesOf(message);
    const block = this.#blockFor(recordBytes);
    const ref = this.#references.allocate();
    const at = writeRecord(block, message, ref);
    setHolderCountAt(block, at, holderCount);
    this.#references.place(ref, block.index, at);
    this.#liveBytes += recordBytes;
    return ref;
  }

  /** One holder fewer; frees the record with the last one. */
  release(ref: number): void {
    const block = this.#blocks[this.#references.blockOf(ref)]!;
    const at = this.#references.offsetOf(ref);
    const holderCount = holderCountAt(block, at);
    assert(holderCount > 0 && recordRefAt(block, at) === ref, "release of a free record");
    setHolderCountAt(block, at, holderCount - 1);
    if (holderCount > 1) return;
    const recordBytes = recordBytesAt(block, at);
    this.#references.free(ref);
    this.#liveBytes -= recordBytes;
    block.liveBytes -= recordBytes;
    if (block.liveBytes === 0) this.#emptied(block);
  }

  /** Points `view` at a live record. */
  open(ref: number, view: RecordView): void {
    viewRecord(this.#blocks[this.#references.blockOf(ref)]!, this.#references.offsetOf(ref), view);
  }

  /** Moves at most a bounded piece of survivors together; true when more is worth moving. */
  compact(): boolean {
    if (this.#victim === null && !this.#chooseVictim()) return false;
    const victim = this.#victim!;
    const stopAt = this.#victimAt + COMPACTION_STEP_BYTES;
    while (this.#victimAt < victim.usedBytes && this.#victimAt < stopAt) {
      const at = this.#victimAt;
      this.#victimAt += recordBytesAt(victim, at);
      if (holderCountAt(victim, at) > 0) this.#moveOut(victim, at);
    }
    // Moving the last survivor, or its release meanwhile, has given the block back (see #emptied).
    if (this.#victim !== null) assert(victim.liveBytes > 0, "an empty block is not a victim");
    return true;
  }

  #moveOut(victim: Block, at: number): void {
    const target = this.#blockFor(recordBytesAt(victim, at));
    const to = moveRecord(victim, at, target);
    this.#references.place(recordRefAt(target, to), target.index, to);
    setHolderCountAt(victim, at, 0);
    if (victim.liveBytes === 0) this.#emptied(victim);
  }

  #chooseVictim(): boolean {
    if (this.#heldBytes <= 2 * this.#liveBytes + COMPACTION_SLACK_BYTES) return false;
    let best: Block | null = null;
    for (const block of this.#blocks) {
      if (block === undefined || block === this.#current) continue;
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
    if (block === this.#victim) this.#victim = null;
    this.#heldBytes -= block.capacityBytes;
    this.#blocks[block.index] = undefined;
    const isPooled = block.capacityBytes === BLOCK_BYTES && this.#pool.length < POOLED_BLOCKS_MAX;
    if (isPooled) this.#pool.push(block);
    else this.#freeIndexes.push(block.index);
  }
}
