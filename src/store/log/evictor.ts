// Keeps the bytes of records in memory within a bound: goes round all references and gives up those
// parts that a disk has. What is needed again is read again. Keeper calls it once a turn.

import type { Arena } from "../arena.ts";
import type { RecordView } from "../port.ts";
import { emptyView } from "../views.ts";
import type { StubMeta } from "../block.ts";
import type { Holdings } from "./holdings.ts";

const REFS_PER_STEP = 8192;
const BYTES_PER_STEP = 4 * 1024 * 1024;

/** Gives up record bytes that are on disk. */
export class Evictor {
  readonly #arena: Arena;
  readonly #holdings: Holdings;
  readonly #residentBytesMax: number;
  readonly #view: RecordView = emptyView();
  readonly #meta: StubMeta = { flags: 0, priority: 0, bodyBytes: 0, arrivalMs: 0, expiryMs: 0 };
  #next = 1;
  /** References looked at since something was given up. */
  #fruitless = 0;

  constructor(parts: { arena: Arena; holdings: Holdings }, residentBytesMax: number) {
    this.#arena = parts.arena;
    this.#holdings = parts.holdings;
    this.#residentBytesMax = residentBytesMax;
  }

  /**
   * Looks at a bounded number of references and gives up records of at least `recordBytesMin`; true
   * while memory is above its bound and it helps.
   */
  step(recordBytesMin: number): boolean {
    if (this.#arena.liveBytes <= this.#residentBytesMax) return false;
    const end = this.#holdings.refEnd;
    let givenUpBytes = 0;
    for (let looked = 0; looked < REFS_PER_STEP && givenUpBytes < BYTES_PER_STEP; looked++) {
      if (this.#next >= end) this.#next = 1;
      givenUpBytes += this.#giveUp(this.#next++, recordBytesMin);
    }
    this.#fruitless = givenUpBytes > 0 ? 0 : this.#fruitless + REFS_PER_STEP;
    return this.#arena.liveBytes > this.#residentBytesMax && this.#fruitless < end;
  }

  #giveUp(ref: number, recordBytesMin: number): number {
    const arena = this.#arena;
    if (this.#holdings.fileOf(ref) === 0) return 0;
    if (this.#holdings.recordBytesOf(ref) < recordBytesMin) return 0;
    if (!arena.isResident(ref)) return 0;
    const before = arena.liveBytes;
    const view = this.#view;
    const meta = this.#meta;
    arena.describe(ref, view);
    meta.flags = view.flags;
    meta.priority = view.priority;
    meta.bodyBytes = view.bodyEnd - view.bodyStart;
    meta.arrivalMs = view.arrivalMs;
    meta.expiryMs = view.expiryMs;
    arena.evict(ref, meta);
    return before - arena.liveBytes;
  }
}
