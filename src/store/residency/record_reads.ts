// The records that are being read, and who waits for each. When a queue reaches a head that is on
// disk only, the records behind it are read as well, with one read for those that lie together,
// because they are wanted next. ReadAhead says how many. FileStore asks; the answer comes in a
// later turn.

import type { Logger } from "../../lib/logger.ts";
import type { Arena } from "../memory/arena.ts";
import type { ReadWaiter, ReadyLane } from "../port.ts";
import type { DataFiles } from "../folder/data_files.ts";
import type { Holdings } from "../live/holdings.ts";
import { ReadAhead } from "./read_ahead.ts";
import { RecordFiles, type RecordPlace, type RecordResult } from "./record_files.ts";

const AHEAD_BYTES = 1024 * 1024;
// Records that are read ahead may take a quarter of the memory for contents (memory / 4).
const AHEAD_PART = 4;
// Nothing is read ahead while this many bytes are under way, because memory is given up no faster.
const UNDER_WAY_BYTES = 4 * 1024 * 1024;
// Up to this many bytes of other queues between two records are read along.
const GAP_BYTES_MAX = 16 * 1024;

/** The parts of {@link RecordReads}. */
export interface RecordReadsParts {
  options: { residentBytesMax: number };
  arena: Arena;
  holdings: Holdings;
  files: DataFiles;
  seed: number;
  logger: Logger;
  /** Called when something has been read and a turn should follow. */
  wake: () => void;
}

interface Wanted extends RecordPlace {
  ref: number;
}

/** Reads records into memory. */
export class RecordReads {
  readonly ahead: ReadAhead;
  readonly #parts: RecordReadsParts;
  readonly #records: RecordFiles;
  /** The waiters by reference; none for a record that is read ahead. */
  readonly #waiters = new Map<number, ReadWaiter[]>();
  #bytesUnderWay = 0;

  constructor(parts: RecordReadsParts) {
    this.#parts = parts;
    this.ahead = new ReadAhead(parts.options.residentBytesMax / AHEAD_PART);
    this.#records = new RecordFiles(parts.files, parts.seed);
  }

  /** Asks for a record; see Store. */
  request(ref: number, waiter: ReadWaiter): void {
    if (this.#joins(ref, waiter)) return;
    this.#read([this.#want(ref, [waiter])]);
  }

  /** Asks for the record of a loaded head, and for some of those behind it; see Store. */
  requestHead(lane: ReadyLane, waiter: ReadWaiter): void {
    const { headRef } = lane;
    if (this.#joins(headRef, waiter)) return;
    const head = this.#want(headRef, [waiter]);
    const wanted = [head];
    const { ahead } = this;
    const underWayBytes = this.#bytesUnderWay + head.recordBytes;
    const bytesMax = Math.min(AHEAD_BYTES, UNDER_WAY_BYTES - underWayBytes, ahead.freeBytes / 2);
    let byteCount = 0;
    // One more, because `peek` visits the head, too.
    lane.peek(ahead.recordsFor(lane) + 1, (ref) => {
      if (byteCount >= bytesMax || !this.#isMissing(ref)) return;
      const next = this.#placeOf(ref);
      const gapBytes = gapBetween(wanted.at(-1)!, next);
      byteCount += next.recordBytes + (gapBytes <= GAP_BYTES_MAX ? gapBytes : 0);
      // A record behind one that does not fit is not wanted before that one.
      if (byteCount > bytesMax) return;
      this.#waiters.set(ref, []);
      ahead.add(lane, ref, next.recordBytes);
      wanted.push(next);
    });
    for (const run of runsOf(wanted)) this.#read(run);
  }

  /** Reports records that could not be asked for. To be called once a turn. */
  step(): void {
    this.#records.step();
  }

  #joins(ref: number, waiter: ReadWaiter): boolean {
    const waiters = this.#waiters.get(ref);
    waiters?.push(waiter);
    return waiters !== undefined;
  }

  #isMissing(ref: number): boolean {
    return !this.#parts.arena.isResident(ref) && !this.#waiters.has(ref);
  }

  #want(ref: number, waiters: ReadWaiter[]): Wanted {
    this.#waiters.set(ref, waiters);
    return this.#placeOf(ref);
  }

  #placeOf(ref: number): Wanted {
    const { holdings } = this.#parts;
    return {
      ref,
      file: holdings.fileOf(ref),
      offset: holdings.offsetOf(ref),
      recordBytes: holdings.recordBytesOf(ref),
    };
  }

  #read(run: readonly Wanted[]): void {
    const last = run.at(-1)!;
    let byteCount = last.offset + last.recordBytes - run[0]!.offset;
    this.#bytesUnderWay += byteCount;
    this.#records.read(run, (wanted, result) => {
      // All records of a run come together.
      this.#bytesUnderWay -= byteCount;
      byteCount = 0;
      // One bad sector must not keep its neighbours from being read.
      const isRetried = result.error !== null && run.length > 1;
      if (isRetried && this.#waiters.get(wanted.ref)!.length > 0) this.#read([wanted]);
      else this.#arrived(wanted, result);
      this.#parts.wake();
    });
    if (this.#records.hasRefused) this.#parts.wake();
  }

  #arrived(wanted: Wanted, { message, error }: RecordResult): void {
    const { arena, holdings, logger } = this.#parts;
    const { ref, file, offset } = wanted;
    const waiters = this.#waiters.get(ref)!;
    this.#waiters.delete(ref);
    // A reference that was freed meanwhile may name another message now. Then the waiters ask
    // again.
    const isSame = holdings.fileOf(ref) === file && holdings.offsetOf(ref) === offset;
    if (isSame && message !== null && !arena.isResident(ref)) arena.fill(ref, message);
    else this.ahead.used(ref);
    if (error !== null && waiters.length > 0) {
      logger.log("error", "cannot read a message", { error: error.message });
    }
    for (const waiter of waiters) {
      if (error === null || !isSame) waiter.readArrived();
      else waiter.readFailed(error);
    }
  }
}

// Groups records that lie together, in their order on disk.
function runsOf(wanted: Wanted[]): Wanted[][] {
  wanted.sort((a, b) => a.file - b.file || a.offset - b.offset);
  const runs: Wanted[][] = [];
  for (const one of wanted) {
    const run = runs.at(-1);
    if (run !== undefined && gapBetween(run.at(-1)!, one) <= GAP_BYTES_MAX) run.push(one);
    else runs.push([one]);
  }
  return runs;
}

// Returns the bytes between two records; Infinity when they do not lie in this order in one file.
function gapBetween(first: RecordPlace, second: RecordPlace): number {
  const gapBytes = second.offset - first.offset - first.recordBytes;
  return first.file === second.file && gapBytes >= 0 ? gapBytes : Infinity;
}
