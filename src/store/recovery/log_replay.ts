// Reads the commit log back: finds the batches that are true, in their order. Recovery calls it and
// passes the function that takes each batch. It knows nothing of entries.
//
// A batch may stand in several files, when the log had to go on in a fresh file. The last copy
// counts, because an earlier one may never have reached the disk although it can be read. Batches
// form a chain (format.ts). If a missing batch had been safe, the file is damaged, and reading goes
// on behind the damage. If it had not, a loss of power has torn the log there. Then everything
// behind it has to go, or there would be an effect without its cause.
//
// The last batches can be read, but nothing says that they are safe: a sync of them may even have
// failed. So they are written to a new file before anything builds on them.

import { DiskError } from "../file_system.ts";
import { type BatchPlace, isForeign } from "../format/batch_reader.ts";
import { renameFile } from "../format/batch_writer.ts";
import { type Damage, scanBatches } from "../log/batch_scan.ts";
import type { DataFile, DataFiles } from "../folder/data_files.ts";
import { dataFileName } from "../format/format.ts";
import type { Manifest } from "../folder/manifest.ts";

/** Called for each true batch. `bytes` hold it, and begin at `base` in the file. */
export type OnLogBatch = (
  batch: BatchPlace,
  where: { bytes: Uint8Array; base: number; file: DataFile },
) => void;

/** The result of reading a log. */
interface Replay {
  /** The last batch that is true. */
  lastBatch: number;
  /** Whether all true batches are safe now. */
  isSafe: boolean;
  /** Parts that could not be read although they had been safe. */
  damages: Damage[];
  /** Parts that had not been safe, and are gone. */
  cuts: Damage[];
}

/**
 * What may be done to the files. "none": nothing. "cut": batches that are not true may be cut off.
 * "rewrite": in addition, batches that are not known to be safe may be written again.
 */
export type Repair = "none" | "cut" | "rewrite";

/** A place from which on no batch is true. */
interface Cut {
  index: number;
  offset: number;
}

/** A batch that no other batch yet says was safe. */
interface Doubtful {
  batch: BatchPlace;
  bytes: Uint8Array;
  base: number;
  file: DataFile;
}

/** Reads the log of a folder, once. */
export class LogReplay implements Replay {
  lastBatch: number;
  isSafe = true;
  readonly damages: Damage[] = [];
  readonly cuts: Damage[] = [];
  readonly #files: DataFiles;
  readonly #seed: number;
  #logs: readonly DataFile[];
  readonly #repair: Repair;
  readonly #onBatch: OnLogBatch;
  /** Whether batches name their files. */
  #isNumbered = false;
  #doubtful: Doubtful[] = [];
  #cut: Cut | null = null;
  readonly #safeBatch: number;
  /**
   * The last batch that any batch says is safe; null until it is looked for, when the chain is
   * broken.
   */
  #lastSafe: number | null = null;
  /**
   * Torn ends of files. They are damage only where a batch is missing. A log that went on in a
   * fresh file leaves a torn end too, and then the next batch follows in the next file.
   */
  #torn: Damage[] = [];

  constructor(files: DataFiles, manifest: Manifest, options: { repair: Repair; on: OnLogBatch }) {
    this.#files = files;
    this.#seed = manifest.seed;
    this.#safeBatch = manifest.safeBatch;
    this.lastBatch = manifest.lastBatch;
    this.#logs = files.ofKind("log").filter((log) => log.number >= manifest.fromLog);
    this.#repair = options.repair;
    this.#onBatch = options.on;
  }

  /** Reads everything. @throws DiskError */
  run(): this {
    this.#logs = this.#logs.filter((log) => !this.#isForeign(log));
    const logs = this.#logs;
    const ends = this.#ends();
    for (let index = 0; index < logs.length && this.#cut === null; index++) {
      this.#readFile(index, ends[index]!);
    }
    if (this.lastBatch < this.#safeBatch) this.#missingAtEnd();
    else this.cuts.push(...this.#torn);
    if (this.#repair !== "rewrite") this.isSafe = false;
    if (this.#cut !== null && this.#repair !== "none") this.#cutFrom(this.#cut);
    if (this.#doubtful.length > 0) this.#settleDoubtful();
    return this;
  }

  // Whether a file has the name of another one. In that place its batches would hide those of the
  // files in between, so the file is left alone.
  #isForeign(log: DataFile): boolean {
    let writtenAs = "";
    scanBatches(this.#files, log, this.#seed, (_, batch) => {
      if (isForeign(batch, log.number)) writtenAs = dataFileName("log", batch.file);
      // A version that writes numbers of files writes them in every batch.
      else if (batch.file === 0 && this.#isNumbered) writtenAs = "an earlier one";
      else this.#isNumbered ||= batch.file !== 0;
      return false;
    });
    if (writtenAs === "") return false;
    const what = `it was written as ${writtenAs} and is not read`;
    this.damages.push({ file: log.name, offset: 0, what });
    this.#files.forget(log);
    return true;
  }

  // Returns, for each file, the lowest batch number in any later file. Copies of that batch and of
  // those behind it do not count.
  #ends(): number[] {
    const ends: number[] = [];
    let first = Infinity;
    for (const log of this.#logs.toReversed()) {
      ends.unshift(first);
      scanBatches(this.#files, log, this.#seed, (_, batch) => {
        first = Math.min(first, batch.number);
        return false;
      });
    }
    return ends;
  }

  #readFile(index: number, end: number): void {
    const file = this.#logs[index]!;
    const scan = scanBatches(this.#files, file, this.#seed, (bytes, batch, base, gapBytes) => {
      if (batch.number >= end) return false;
      if (batch.number <= this.lastBatch) return true;
      const offset = base + batch.start;
      if (batch.previous !== this.lastBatch) {
        if (batch.previous > this.#findLastSafe()) {
          this.#cut = { index, offset };
          return false;
        }
        this.#missing(file, offset - gapBytes, { gapBytes, next: batch.number });
      }
      this.#torn = [];
      this.lastBatch = batch.number;
      this.#take({ batch, bytes, base, file });
      return true;
    });
    if (scan.tornBytes === 0) return;
    const what = `an end of ${scan.tornBytes} bytes does not check`;
    this.#torn.push({ file: file.name, offset: scan.byteLength, what });
  }

  #findLastSafe(): number {
    if (this.#lastSafe !== null) return this.#lastSafe;
    let lastSafe = this.#safeBatch;
    for (const log of this.#logs) {
      scanBatches(this.#files, log, this.#seed, (_, batch) => {
        lastSafe = Math.max(lastSafe, batch.safe);
        return true;
      });
    }
    return this.#lastSafe = lastSafe;
  }

  #missing(file: DataFile, offset: number, hole: { gapBytes: number; next: number }): void {
    const missing = `batches between ${this.lastBatch} and ${hole.next} are missing`;
    const what = hole.gapBytes === 0 ? missing : `${hole.gapBytes} bytes do not check: ${missing}`;
    this.damages.push(...this.#torn, { file: file.name, offset, what });
  }

  #missingAtEnd(): void {
    const what = `batches between ${this.lastBatch} and ${this.#safeBatch} are missing`;
    const file = this.#logs.at(-1)?.name ?? "the log";
    this.damages.push(...this.#torn, { file, offset: 0, what });
  }

  // A batch waits with its bytes until a later batch says that it was safe.
  #take(found: Doubtful): void {
    const { batch } = found;
    const isKnown = batch.number <= this.#safeBatch;
    if (isKnown || this.#repair !== "rewrite") return this.#onBatch(batch, found);
    const doubtful = this.#doubtful;
    let safeCount = 0;
    while (safeCount < doubtful.length && doubtful[safeCount]!.batch.number <= batch.safe) {
      const { batch: safe, ...where } = doubtful[safeCount++]!;
      this.#onBatch(safe, where);
    }
    doubtful.splice(0, safeCount);
    doubtful.push(found);
  }

  // If no new file can be made, the old files are synced. That is better than not to start.
  #settleDoubtful(): void {
    let found = this.#doubtful;
    try {
      found = this.#rewrite(found);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.isSafe = false;
      for (const log of this.#logs) if (this.#files.get(log.number) === log) this.#sync(log);
      this.syncNames();
    }
    for (const { batch, ...where } of found) this.#onBatch(batch, where);
    this.#doubtful = [];
  }

  /**
   * Makes the names of the files safe. The node may have died before it did so, and a file is not
   * safe before its name is.
   */
  syncNames(): void {
    this.#files.fs.syncFolder("");
  }

  #rewrite(found: readonly Doubtful[]): Doubtful[] {
    const fresh = this.#files.createUnnamed("log");
    const { file, handle } = fresh;
    try {
      const copies = found.map((doubtful): Doubtful => {
        const { batch, bytes } = doubtful;
        const offset = file.byteLength;
        const copy = bytes.slice(batch.start, batch.end);
        renameFile(copy, copy.length, { file: file.number, seed: this.#seed });
        handle.write(copy, 0, copy.length, offset);
        file.byteLength += copy.length;
        return { batch, bytes, base: offset - batch.start, file };
      });
      handle.syncNow();
      fresh.name();
      handle.close();
      return copies;
    } catch (error) {
      if (error instanceof DiskError) fresh.discard();
      throw error;
    }
  }

  #cutFrom(cut: Cut): void {
    for (const log of this.#logs.slice(cut.index + 1)) this.#files.remove(log);
    this.#sync(this.#logs[cut.index]!, cut.offset);
  }

  #sync(log: DataFile, byteLength?: number): void {
    const handle = this.#files.fs.open(log.name, "readwrite");
    try {
      if (byteLength !== undefined) handle.truncate(byteLength);
      handle.syncNow();
      log.byteLength = handle.byteLength;
    } finally {
      handle.close();
    }
  }
}
