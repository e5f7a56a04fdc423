// The timing heap of the core behind the `TimingStructure` contract. Called by schedulers and by
// users of the package; it holds one instance with its own memory and reads no clock.

import { type CoreExports, instantiateCore } from "./instance.ts";
import {
  type DueBatch,
  failure,
  type TimerEntry,
  TimingHeapError,
  type TimingStructure,
} from "./types.ts";

// The transfer area's entries, 32 bytes each, seen as 32-bit words and as doubles.
const wordsPerEntry = 8;
const doublesPerEntry = 4;
const payloadWord = 0;
const groupWord = 1;
const dueDouble = 1;
const handleDouble = 2;
const orderDouble = 3;

/** Limits of a {@linkcode TimingHeap}. */
export interface TimingHeapOptions {
  /** Most linear memory to grow to, rounded down to 64 KiB pages; 4 GiB when absent. */
  readonly maxMemoryBytes?: number;
}

interface OrderedEntry extends TimerEntry {
  readonly order: number;
}

/** Timers of many groups in WebAssembly memory: up to 33 million at 15 bytes each. */
export class TimingHeap implements TimingStructure {
  readonly #core: CoreExports;
  // The calls made per timer, as fields: looking them up among the exports costs a tenth of a call.
  readonly #insert: CoreExports["insert"];
  readonly #cancel: CoreExports["cancel"];
  readonly #popDue: CoreExports["pop_due"];
  readonly #nextDue: CoreExports["next_due"];
  readonly #areaAt: number;
  readonly #areaCapacity: number;
  // Views of the transfer area; growing the memory detaches them, which makes their length 0.
  #words = new Uint32Array(0);
  #doubles = new Float64Array(0);

  constructor(options: TimingHeapOptions = {}) {
    this.#core = instantiateCore();
    this.#insert = this.#core.insert;
    this.#cancel = this.#core.cancel;
    this.#popDue = this.#core.pop_due;
    this.#nextDue = this.#core.next_due;
    if (options.maxMemoryBytes !== undefined) {
      this.#core.memory_limit(options.maxMemoryBytes);
    }
    this.#areaAt = this.#core.area_at();
    this.#areaCapacity = this.#core.area_capacity();
  }

  get count(): number {
    return this.#core.count();
  }

  /** Bytes of linear memory in use, without what is free to be used again. */
  get liveMemoryBytes(): number {
    return this.#core.memory_live();
  }

  /** Size of the linear memory; it grows and never shrinks. */
  get memoryBytes(): number {
    return this.#core.memory.buffer.byteLength;
  }

  openGroup(): number {
    return orThrow(this.#core.group_open());
  }

  closeGroup(group: number): void {
    orThrow(this.#core.group_close(group));
  }

  clearGroup(group: number): number {
    return orThrow(this.#core.group_clear(group));
  }

  groupCount(group: number): number {
    return orThrow(this.#core.group_count(group));
  }

  insert(group: number, dueMs: number, payload: number): number {
    return orThrow(this.#insert(group, dueMs, payload));
  }

  tryInsert(group: number, dueMs: number, payload: number): number {
    return this.#insert(group, dueMs, payload);
  }

  /**
   * Inserts one timer for each due time, with fewer crossings than `insert`. Answers the handles;
   * throws at the first refusal, what came before it is in.
   */
  insertMany(
    group: number,
    dueMs: ArrayLike<number>,
    payloads: ArrayLike<number>,
  ): Float64Array {
    const handles = new Float64Array(dueMs.length);
    for (let from = 0; from < handles.length; from += this.#areaCapacity) {
      const count = Math.min(this.#areaCapacity, handles.length - from);
      this.#refreshViews();
      for (let index = 0; index < count; index++) {
        this.#words[index * wordsPerEntry + payloadWord] = payloads[from + index]!;
        this.#words[index * wordsPerEntry + groupWord] = group;
        this.#doubles[index * doublesPerEntry + dueDouble] = dueMs[from + index]!;
      }
      const inserted = this.#core.insert_many(count);
      this.#refreshViews();
      for (let index = 0; index < count; index++) {
        const handle = this.#doubles[index * doublesPerEntry + handleDouble]!;
        if (index === inserted) throw new TimingHeapError(handle);
        handles[from + index] = handle;
      }
    }
    return handles;
  }

  cancel(handle: number): number {
    return this.#cancel(handle);
  }

  popDue(nowMs: number, batch: DueBatch, max: number = batch.capacity): number {
    const count = orThrow(
      this.#popDue(nowMs, max < batch.capacity ? max : batch.capacity),
    );
    this.#refreshViews();
    const words = this.#words;
    const doubles = this.#doubles;
    for (let index = 0; index < count; index++) {
      batch.payloads[index] = words[index * wordsPerEntry + payloadWord]!;
      batch.groups[index] = words[index * wordsPerEntry + groupWord]!;
      batch.dueMs[index] = doubles[index * doublesPerEntry + dueDouble]!;
      batch.handles[index] = doubles[index * doublesPerEntry + handleDouble]!;
    }
    batch.count = count;
    return count;
  }

  nextDueMs(): number {
    return this.#nextDue();
  }

  list(group: number, offset: number, limit: number): TimerEntry[] {
    orThrow(this.#core.snapshot_begin(group));
    const wanted = offset + limit;
    const found: OrderedEntry[] = [];
    let settled = 0;
    // What the snapshot has not handed out is due at its floor or later: enough is known once the
    // wanted ones all come before that.
    while (settled < wanted && this.#core.snapshot_done() === 0) {
      this.#readPage(found);
      const floorMs = this.#core.snapshot_floor();
      while (settled < found.length && found[settled]!.dueMs < floorMs) {
        settled++;
      }
    }
    found.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order);
    return found.slice(offset, wanted).map((
      { group, payload, dueMs, handle },
    ) => (
      { group, payload, dueMs, handle }
    ));
  }

  firstDueMs(group: number): number {
    return this.#bound(this.#core.group_first_due, group);
  }

  lastDueMs(group: number): number {
    return this.#bound(this.#core.group_last_due, group);
  }

  #bound(read: (group: number) => number, group: number): number {
    let dueMs = read(group);
    if (dueMs === failure.scanNeeded) {
      this.#core.bounds_refresh();
      dueMs = read(group);
    }
    return dueMs === -Infinity ? dueMs : orThrow(dueMs);
  }

  #readPage(into: OrderedEntry[]): void {
    const count = orThrow(this.#core.snapshot_next(this.#areaCapacity));
    this.#refreshViews();
    for (let index = 0; index < count; index++) {
      into.push({
        group: this.#words[index * wordsPerEntry + groupWord]!,
        payload: this.#words[index * wordsPerEntry + payloadWord]!,
        dueMs: this.#doubles[index * doublesPerEntry + dueDouble]!,
        handle: this.#doubles[index * doublesPerEntry + handleDouble]!,
        order: this.#doubles[index * doublesPerEntry + orderDouble]!,
      });
    }
  }

  #refreshViews(): void {
    if (this.#words.length !== 0) return;
    const buffer = this.#core.memory.buffer as ArrayBuffer;
    this.#words = new Uint32Array(
      buffer,
      this.#areaAt,
      this.#areaCapacity * wordsPerEntry,
    );
    this.#doubles = new Float64Array(
      buffer,
      this.#areaAt,
      this.#areaCapacity * doublesPerEntry,
    );
  }
}

function orThrow(result: number): number {
  if (result < 0) throw new TimingHeapError(result);
  return result;
}
