// Keeps the bytes of records in memory within a bound: goes round all references and gives up those
// parts that a disk has, or lets them be written to one first where they need not survive. What is
// needed again is read again. Keeper calls it once a turn; backlogs of small messages are the pager's.

import type { Logger } from "../../lib/logger.ts";
import type { Arena } from "../arena.ts";
import type { StubMeta } from "../block.ts";
import { DiskError } from "../file_system.ts";
import type { RecordView } from "../port.ts";
import { emptyView } from "../views.ts";
import type { DataFile } from "./data_files.ts";
import type { Holdings } from "./holdings.ts";
import type { ReadAhead } from "./read_ahead.ts";
import { Spiller } from "./spiller.ts";
import type { SegmentWriter } from "./segment_writer.ts";

const REFS_PER_STEP = 8192;
const BYTES_PER_STEP = 4 * 1024 * 1024;
// Writing a record is worth more than its stub.
const SPILLED_BYTES_MIN = 256;
const RETRY_MS = 1000;

/** What an {@link Evictor} is made of. */
export interface EvictorParts {
  options: { logger: Logger; residentBytesMax: number };
  arena: Arena;
  holdings: Holdings;
  ahead: ReadAhead;
  segments: SegmentWriter;
  seed: number;
  /** Nothing alive is in the file. */
  emptied: (file: DataFile) => void;
}

/** Gives up record bytes that are on disk. */
export class Evictor {
  readonly #parts: EvictorParts;
  readonly #spiller: Spiller;
  readonly #view: RecordView = emptyView();
  readonly #meta: StubMeta = { flags: 0, priority: 0, bodyBytes: 0, arrivalMs: 0, expiryMs: 0 };
  #next = 1;
  /** References looked at since something was given up. */
  #fruitless = 0;
  #spillAtMs = -Infinity;

  constructor(parts: EvictorParts) {
    this.#parts = parts;
    this.#spiller = new Spiller(parts);
  }

  /**
   * Looks at a bounded number of references and gives up records of at least `recordBytesMin`; true
   * while memory is above its bound and it helps. `maySpill`: the disk has room to write.
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
    // None is looked at twice: it may be on its way to a disk already.
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

  /** A record that has no place on a disk is no more. */
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
      this.#spiller.write(nowMs);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#spillAtMs = nowMs + RETRY_MS;
      const fields = { error: error.message };
      this.#parts.options.logger.log("error", "cannot write messages to make room", fields);
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
