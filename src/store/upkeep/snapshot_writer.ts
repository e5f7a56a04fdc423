// Writes a snapshot while everything goes on: definitions, then the rows of all holdings, a bounded
// piece a turn. Each piece carries the number of the open batch, so recovery knows which entries
// its rows already contain. When the snapshot is whole and safe, the manifest names it and the logs
// before it are no longer needed.
//
// Damage costs only the batch that it hits. Batches are small, so that a flipped bit costs few
// rows. Many messages depend on definitions, last positions and pages, so these stand in the
// snapshot twice, at both ends.

import { ByteWriter } from "../../lib/byte_writer.ts";
import { DiskError, type FileHandle } from "../file_system.ts";
import { type Page, PAGE_GONE } from "../page.ts";
import type { DefinitionKind } from "../port.ts";
import { BatchWriter, type Placed } from "../format/batch_writer.ts";
import type { DataFile, DataFiles } from "../folder/data_files.ts";
import { ENTRY_END } from "../format/format.ts";
import type { StoreSizes } from "../folder/sizes.ts";

/** The content of a snapshot. */
export interface SnapshotSource {
  // The iterators are read over many turns. Definitions and queues that come or go meanwhile are in
  // the log, too.
  definitions(): Iterator<{ kind: DefinitionKind; key: string; value: unknown }, undefined>;
  lastPositions(): Iterator<{ queueId: number; position: number }, undefined>;
  pages(): Iterator<Page, undefined>;
  lastQueueId(): number;
  /** Body references below this one may have rows. */
  readonly refEnd: number;
  /** Gives every row of a body reference to `visit`. */
  rowsOf(ref: number, visit: (placed: Placed) => void): void;
}

const NO_RUNS: readonly number[] = [];

type Phase = "definitions" | "positions" | "pages" | "rows" | "syncing" | "done" | "failed";

/** One snapshot in the making. */
export class SnapshotWriter {
  /** The last batch that is in the snapshot as a whole. */
  readonly lastBatch: number;
  /** Number of the log file with the next batch. */
  readonly fromLog: number;
  readonly file: DataFile;
  readonly #handle: FileHandle;
  readonly #source: SnapshotSource;
  readonly #writer: BatchWriter;
  readonly #sizes: StoreSizes;
  /** Batches of the piece being written. */
  readonly #piece = new ByteWriter();
  /** Batch number in the headers of the piece. */
  #batch = 0;
  #nowMs = 0;
  #phase: Phase = "definitions";
  #definitions!: ReturnType<SnapshotSource["definitions"]>;
  #positions!: ReturnType<SnapshotSource["lastPositions"]>;
  #pages!: ReturnType<SnapshotSource["pages"]>;
  #nextRef = 1;
  /** Whether the parts that stand in it twice are being written for the second time. */
  #isAgain = false;
  /** Whether the end has been written. */
  #isWhole = false;
  #error: DiskError | null = null;

  /** @throws DiskError when no file can be made */
  constructor(
    files: DataFiles,
    source: SnapshotSource,
    options: { seed: number; lastBatch: number; fromLog: number; sizes: StoreSizes },
  ) {
    const { file, handle } = files.create("snapshot");
    this.file = file;
    this.#handle = handle;
    this.#source = source;
    this.#sizes = options.sizes;
    this.lastBatch = options.lastBatch;
    this.fromLog = options.fromLog;
    this.#writer = new BatchWriter(options.seed);
    this.#beginDefinitions();
  }

  /** Name of the part that the next step writes. */
  get phase(): string {
    return this.#phase;
  }

  /** Whether the snapshot is whole and safe on disk. */
  get isDone(): boolean {
    return this.#phase === "done";
  }

  /** The error; null while there is none. */
  get error(): DiskError | null {
    return this.#error;
  }

  /** Whether another step can be done at once. */
  get isRunning(): boolean {
    return this.#phase !== "syncing" && this.#phase !== "done" && this.#phase !== "failed";
  }

  /** Writes one piece. `onSynced` is called once, when the file is safe or has failed. */
  step(openBatch: number, nowMs: number, onSynced: () => void): void {
    this.#batch = openBatch;
    this.#nowMs = nowMs;
    this.#piece.byteCount = 0;
    this.#writer.open(this.#writer.out.bytes);
    if (this.#phase === "definitions") this.#writeDefinitions();
    else if (this.#phase === "positions") this.#writePositions();
    else if (this.#phase === "pages") this.#writePages();
    else this.#writeRows();
    try {
      this.#flush();
      if (this.#isWhole) this.#sync(onSynced);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#fail(error);
      onSynced();
    }
  }

  #beginDefinitions(): void {
    this.#definitions = this.#source.definitions();
    this.#positions = this.#source.lastPositions();
    this.#pages = this.#source.pages();
    this.#begin("definitions");
  }

  #writeDefinitions(): void {
    this.#writer.lastQueueId(this.#source.lastQueueId());
    while (!this.#isPieceFull) {
      const { value: next } = this.#definitions.next();
      if (next === undefined) return this.#begin("positions");
      this.#writer.defined(next.kind, next.key, next.value);
    }
  }

  #writePositions(): void {
    while (!this.#isPieceFull) {
      const { value: next } = this.#positions.next();
      if (next === undefined) return this.#begin("pages");
      this.#writer.lastPosition(next.queueId, next.position);
    }
  }

  // Pages come before the rows. The log takes a page apart that is taken apart after this; a page
  // that was taken apart before has rows.
  #writePages(): void {
    while (!this.#isPieceFull) {
      const { value: page } = this.#pages.next();
      if (page === undefined) return this.#isAgain ? this.#end() : this.#begin("rows");
      const isThere = page.isLogged && page.state !== PAGE_GONE;
      if (isThere) this.#writer.paged(page.owner.queueId, page.place, NO_RUNS);
    }
  }

  // Asked after each entry. Also ends a batch that is large enough.
  get #isPieceFull(): boolean {
    if (this.#writer.out.byteCount >= this.#sizes.snapshotBatchBytes) this.#endBatch();
    return this.#piece.byteCount + this.#writer.out.byteCount >= this.#sizes.snapshotPieceBytes;
  }

  #endBatch(): void {
    if (this.#writer.isEmpty) return;
    const { out } = this.#writer;
    const chain = { previous: 0, safe: 0, file: this.file.number };
    this.#writer.finish(this.#batch, this.#nowMs, chain);
    this.#piece.range(out.bytes, 0, out.byteCount);
    this.#writer.open(out.bytes);
  }

  #begin(phase: Phase): void {
    this.#phase = phase;
  }

  #writeRows(): void {
    const end = Math.min(this.#source.refEnd, this.#nextRef + this.#sizes.snapshotPieceRefs);
    while (this.#nextRef < end && !this.#isPieceFull) {
      this.#source.rowsOf(this.#nextRef++, this.#visitRow);
    }
    if (this.#nextRef < this.#source.refEnd) return;
    this.#isAgain = true;
    this.#beginDefinitions();
  }

  #end(): void {
    this.#writer.mark(ENTRY_END);
    this.#isWhole = true;
  }

  readonly #visitRow = (placed: Placed): void => this.#writer.placed(placed);

  #flush(): void {
    this.#endBatch();
    const { bytes, byteCount } = this.#piece;
    if (byteCount === 0) return;
    this.#handle.write(bytes, 0, byteCount, this.file.byteLength);
    this.file.byteLength += byteCount;
  }

  #sync(onSynced: () => void): void {
    this.#phase = "syncing";
    this.#handle.sync((error) => {
      if (this.#phase !== "syncing") return;
      this.#handle.close();
      if (error === null) this.#phase = "done";
      else this.#fail(error);
      onSynced();
    });
  }

  /** Ends the snapshot in any state. Its file is of no use. */
  abandon(): void {
    if (this.isRunning || this.#phase === "syncing") this.#handle.close();
    this.#phase = "failed";
  }

  #fail(error: DiskError): void {
    if (this.#phase !== "syncing") this.#handle.close();
    this.#phase = "failed";
    this.#error = error;
  }
}
