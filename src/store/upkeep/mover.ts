// Empties a data file in which few records are alive. It copies them to a segment file, and when
// the copies are safe, enters their new places into the log (docs/storage.md "Segments"). It moves
// one group of records at a time, and leaves out a record that is freed meanwhile. Keeper chooses
// the file.

import type { Arena } from "../memory/arena.ts";
import { DiskError, type FileHandle } from "../file_system.ts";
import type { RecordView } from "../port.ts";
import { emptyView } from "../views.ts";
import { BatchWriter } from "../format/batch_writer.ts";
import type { CommitLog } from "../log/commit_log.ts";
import type { DataFile, DataFiles } from "../folder/data_files.ts";
import { type Holdings, NO_HOLDING } from "../live/holdings.ts";
import type { StoreSizes } from "../folder/sizes.ts";

const REFS_PER_STEP = 65_536;
// Each queue that holds a record needs an entry about the new place, and a fanout may have
// thousands of them.
const HOLDERS_PER_GROUP = 4096;

interface Copy {
  ref: number;
  /**
   * Offset from which the record was copied. A reference that was used again has another offset.
   */
  fromOffset: number;
  toOffset: number;
  recordBytes: number;
}

/** Moves live records. */
export class Mover {
  readonly #parts: {
    files: DataFiles;
    log: CommitLog;
    holdings: Holdings;
    arena: Arena;
    load: (ref: number, done: (error: Error | null) => void) => void;
    /** Called when nothing in the file is alive any more. */
    emptied: (file: DataFile) => void;
    wake: () => void;
    options: { logger: { log(level: "error", message: string, fields?: object): void } };
    sizes: StoreSizes;
  };
  readonly #writer: BatchWriter;
  readonly #view: RecordView = emptyView();
  #victim: DataFile | null = null;
  #next = 1;
  #loading = 0;
  #hasFailed = false;
  #isSyncing = false;
  #group: number[] = [];
  #segment: { file: DataFile; handle: FileHandle } | null = null;

  constructor(
    parts: {
      files: DataFiles;
      log: CommitLog;
      holdings: Holdings;
      arena: Arena;
      load: (ref: number, done: (error: Error | null) => void) => void;
      emptied: (file: DataFile) => void;
      wake: () => void;
      options: { logger: { log(level: "error", message: string, fields?: object): void } };
      sizes: StoreSizes;
      seed: number;
    },
  ) {
    this.#parts = parts;
    this.#writer = new BatchWriter(parts.seed);
  }

  get isBusy(): boolean {
    return this.#victim !== null;
  }

  /** Whether records are being read to be copied. */
  get isLoading(): boolean {
    return this.#loading > 0;
  }

  /** Starts to empty a file. */
  begin(victim: DataFile): void {
    victim.isPinned = true;
    this.#victim = victim;
    this.#next = 1;
    this.#hasFailed = false;
  }

  /** Does a bounded piece of the work; true when the next can be done at once. */
  step(nowMs: number): boolean {
    if (this.#loading > 0 || this.#isSyncing) return false;
    if (this.#hasFailed) return this.#end();
    if (this.#group.length > 0) return this.#copyGroup(nowMs);
    return this.#gather();
  }

  #end(): boolean {
    this.#victim!.isPinned = false;
    this.#victim = null;
    this.#group = [];
    return false;
  }

  // Collects references to records in the file, and has those read that are not in memory.
  #gather(): boolean {
    const { holdings, arena, load, sizes } = this.#parts;
    const victim = this.#victim!.number;
    let bytes = 0;
    let holders = 0;
    const stopAt = Math.min(holdings.refEnd, this.#next + REFS_PER_STEP);
    for (; this.#next < stopAt; this.#next++) {
      if (bytes >= sizes.moveGroupBytes) break;
      if (this.#group.length >= sizes.moveGroupRecords || holders >= HOLDERS_PER_GROUP) break;
      if (holdings.fileOf(this.#next) !== victim) continue;
      this.#group.push(this.#next);
      bytes += holdings.recordBytesOf(this.#next);
      for (let one = holdings.first(this.#next); one !== NO_HOLDING; one = holdings.next(one)) {
        holders++;
      }
    }
    if (this.#group.length === 0) return this.#next < holdings.refEnd ? true : this.#end();
    for (const ref of this.#group) {
      if (arena.isResident(ref)) continue;
      this.#loading++;
      load(ref, (error) => {
        this.#loading--;
        // A record that cannot be read stays where it is. Its queue will find out.
        if (error !== null) this.#group = this.#group.filter((other) => other !== ref);
      });
    }
    return this.#loading === 0;
  }

  #copyGroup(nowMs: number): boolean {
    const { holdings, arena, log } = this.#parts;
    const victim = this.#victim!.number;
    try {
      const segment = this.#openSegment();
      const writer = this.#writer;
      writer.open(writer.out.bytes);
      const copies: Copy[] = [];
      for (const ref of this.#group) {
        if (holdings.fileOf(ref) !== victim || !arena.open(ref, this.#view)) continue;
        const at = writer.record(this.#view);
        copies.push({
          ref,
          fromOffset: holdings.offsetOf(ref),
          toOffset: segment.file.byteLength + at,
          recordBytes: writer.out.byteCount - at,
        });
      }
      this.#group = [];
      if (copies.length === 0) return true;
      writer.finish(log.openBatch, nowMs);
      const { out } = writer;
      segment.handle.write(out.bytes, 0, out.byteCount, segment.file.byteLength);
      segment.file.byteLength += out.byteCount;
      this.#sync(segment, copies);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#fail(error);
    }
    return false;
  }

  #sync(segment: { file: DataFile; handle: FileHandle }, copies: readonly Copy[]): void {
    this.#isSyncing = true;
    segment.handle.sync((error) => {
      this.#isSyncing = false;
      if (error !== null) this.#fail(error);
      else for (const copy of copies) this.#moved(segment.file, copy);
      const isFull = segment.file.byteLength >= this.#parts.sizes.segmentFileBytes;
      if (error === null && isFull) this.close();
      this.#parts.wake();
    });
  }

  #moved(segment: DataFile, copy: Copy): void {
    const { holdings, log } = this.#parts;
    const { ref, recordBytes } = copy;
    const victim = this.#victim!;
    const isSame = holdings.fileOf(ref) === victim.number &&
      holdings.offsetOf(ref) === copy.fromOffset;
    if (!isSame) return;
    for (let one = holdings.first(ref); one !== NO_HOLDING; one = holdings.next(one)) {
      const position = holdings.positionOf(one);
      log.batch.moved(holdings.queueOf(one), position, segment.number, copy.toOffset);
    }
    victim.liveRecords--;
    victim.liveBytes -= holdings.recordBytesOf(ref);
    segment.liveRecords++;
    segment.liveBytes += recordBytes;
    holdings.place(ref, segment.number, copy.toOffset, recordBytes);
    log.wantSync();
  }

  #openSegment(): { file: DataFile; handle: FileHandle } {
    if (this.#segment !== null) return this.#segment;
    this.#segment = this.#parts.files.create("segment");
    this.#segment.file.isPinned = true;
    return this.#segment;
  }

  /** Ends the current segment file. Copies that are not safe do not count. */
  close(): void {
    if (this.#segment === null) return;
    const { file, handle } = this.#segment;
    this.#segment = null;
    handle.close();
    file.isPinned = false;
    if (file.liveRecords === 0) this.#parts.emptied(file);
  }

  // Gives the copies up. The segment file is not written to again.
  #fail(error: DiskError): void {
    this.#hasFailed = true;
    this.close();
    const fields = { file: this.#victim?.name, error: error.message };
    this.#parts.options.logger.log("error", "cannot move records out of a data file", fields);
  }
}
