// Keeps the bytes of records in memory within a bound. It goes round all references and gives up
// the parts of records that a disk has. It has records that no disk has, because they need not
// survive, written to a segment first. A part that is needed again is read again. Keeper calls it
// once a turn; the pager handles backlogs of small messages.

import type { Arena } from "../memory/arena.ts";
import type { StubMeta } from "../memory/block.ts";
import { DiskError } from "../file_system.ts";
import type { RecordView } from "../port.ts";
import { emptyView } from "../views.ts";
import type { Holdings } from "../live/holdings.ts";
import type { ReadAhead } from "./read_ahead.ts";
import { Spiller } from "./spiller.ts";
import type { SegmentWriter } from "../folder/segment_writer.ts";
import type { Troubles } from "../folder/troubles.ts";

const REFS_PER_STEP = 8192;
const BYTES_PER_STEP = 4 * 1024 * 1024;
// Only records of at least this size are spilled; a smaller one saves too little beside its stub.
const SPILLED_BYTES_MIN = 256;
const RETRY_MS = 1000;

/** The parts of an {@link Evictor}. */
export interface EvictorParts {
  options: { residentBytesMax: number };
  troubles: Troubles;
  arena: Arena;
  holdings: Holdings;
  ahead: ReadAhead;
  segments: SegmentWriter;
  seed: number;
}

/** Gives up the bytes of records that are on a disk. */
export class Evictor {
  readonly #parts: EvictorParts;
  readonly #spiller: Spiller;
  readonly #view: RecordView = emptyView();
  readonly #meta: StubMeta = { flags: 0, priority: 0, bodyBytes: 0, arrivalMs: 0, expiryMs: 0 };
  #next = 1;
  /** References looked at since a record was last given up. */
  #fruitless = 0;
  #spillAtMs = -Infinity;

  constructor(parts: EvictorParts) {
    this.#parts = parts;
    this.#spiller = new Spiller(parts);
  }

  /**
   * Looks at a bounded number of references and gives up records of at least `recordBytesMin`.
   * Returns true while memory is above its bound and this helps. `maySpill`: the disk has room to
   * write.
   */
  step(nowMs: number, recordBytesMin: number, maySpill: boolean): boolean {
    const { arena, options } = this.#parts;
    const before = arena.liveBytes;
    const spiller = this.#spiller;
    if (spiller.hasSettled && !spiller.settle(this.#evictRef)) this.#spillAtMs = nowMs + RETRY_MS;
    if (arena.liveBytes <= options.residentBytesMax) return spiller.hasSettled;
    const spilledBytesMin = maySpill && nowMs >= this.#spillAtMs
      ? Math.max(recordBytesMin, SPILLED_BYTES_MIN)
      : Infinity;
    const end = arena.refEnd;
    // No reference is looked at twice: its record may be on its way to a disk already.
    const most = Math.min(REFS_PER_STEP, end - 1);
    for (let looked = 0; looked < most; looked++) {
      if (before - arena.liveBytes >= BYTES_PER_STEP || spiller.isFull) break;
      if (this.#next >= end) this.#next = 1;
      this.#look(this.#next++, recordBytesMin, spilledBytesMin);
    }
    this.#spill(nowMs);
    this.#fruitless = arena.liveBytes < before ? 0 : this.#fruitless + most;
    const isPressed = arena.liveBytes > options.residentBytesMax && this.#fruitless < end;
    return isPressed || spiller.hasSettled;
  }

  /** Is told that a record without a place on a disk has been freed. */
  freed(ref: number): void {
    this.#spiller.freed(ref);
  }

  #look(ref: number, recordBytesMin: number, spilledBytesMin: number): void {
    const { ahead, arena, holdings } = this.#parts;
    if (!arena.isAlive(ref) || !arena.isResident(ref)) return;
    if (ahead.count > 0 && ahead.has(ref)) return;
    if (holdings.fileOf(ref) !== 0) {
      if (holdings.recordBytesOf(ref) >= recordBytesMin) this.#evict(ref);
      return;
    }
    const view = this.#view;
    arena.describe(ref, view);
    if (view.bodyEnd - view.addressStart >= spilledBytesMin) this.#spiller.add(ref);
  }

  #spill(nowMs: number): void {
    try {
      if (this.#spiller.write(nowMs)) this.#parts.troubles.worked("spill");
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#spillAtMs = nowMs + RETRY_MS;
      this.#parts.troubles.failed("spill", "write messages to make room", error);
    }
  }

  readonly #evictRef = (ref: number): void => this.#evict(ref);

  #evict(ref: number): void {
    const { arena } = this.#parts;
    const view = this.#view;
    const meta = this.#meta;
    arena.describe(ref, view);
    meta.flags = view.flags;
    meta.priority = view.priority;
    meta.bodyBytes = view.bodyEnd - view.bodyStart;
    meta.arrivalMs = view.arrivalMs;
    meta.expiryMs = view.expiryMs;
    arena.evict(ref, meta);
  }
}
