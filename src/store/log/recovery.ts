// Rebuilds what a data folder says: the newest snapshot, then every batch behind it. Nothing in here
// changes a file but for what log_replay.ts cuts off. What is damaged is reported and the rest is used (design:
// "Recovery"). The file store keeps what comes out, the broker takes it over.
//
// A snapshot is taken while things go on, so each of its rows says how the message stood before some
// batch. Entries are facts that hold from their batch on: those older than a row add nothing to it, all
// others are applied in order, and a position nobody knows any more is no error.

import { DiskError } from "../file_system.ts";
import type { PagePlace } from "../page.ts";
import { type DefinitionKind, RECORD_PERSISTENT, type RemovalCause } from "../port.ts";
import { VarintError } from "../varint.ts";
import {
  type BatchPlace,
  type BatchVisitor,
  EntryReader,
  type RecordMeta,
} from "./batch_reader.ts";
import type { Placed } from "./batch_writer.ts";
import { type Damage, scanBatches } from "./batch_scan.ts";
import type { DataFile, DataFiles } from "./data_files.ts";
import { dataFileName, STATE_DELAYED, STATE_OUT, STATE_READY } from "./format.ts";
import { LogReplay, type OnLogBatch, type Repair } from "./log_replay.ts";
import { type Manifest, writeManifest } from "./manifest.ts";
import { PageFormatError, PageReader, type PageRow } from "./page_reader.ts";
import { PositionTable } from "./position_table.ts";

/** A page as it was found. */
export interface RecoveredPage extends PagePlace {
  /** The batch that it tells the state before; older entries have nothing to add. */
  since: number;
}

/** One queue as it was found. */
export interface RecoveredQueue {
  readonly rows: PositionTable;
  /** By first position. */
  readonly pages: Map<number, RecoveredPage>;
  /** The highest position that was ever used, as far as is known. */
  lastPosition: number;
}

/** Everything a data folder says. */
export class Recovered implements BatchVisitor {
  readonly definitions: Record<DefinitionKind, Map<string, unknown>> = {
    exchange: new Map(),
    queue: new Map(),
    binding: new Map(),
  };
  readonly queues: Map<number, RecoveredQueue> = new Map();
  /** Highest queue id that was ever used. */
  queueIdMax = 0;
  /** The last batch of the log. */
  lastLogBatch = 0;
  /** Highest batch number that is in use. */
  lastBatch = 0;
  /** Broker time of the last batch, ms. */
  lastTimeMs = 0;
  /** What could not be read. */
  readonly damages: Damage[] = [];
  /** What had not been safe when the node ended, and is gone. */
  readonly cuts: Damage[] = [];
  /** Bytes of batches read behind the snapshot. */
  replayedBytes = 0;
  /** Files they were in. */
  replayedFiles = 0;
  isSnapshotWhole = false;
  #file = 0;
  #batch = 0;
  readonly #reader = new EntryReader();
  readonly #files: DataFiles;
  readonly #pageReader: PageReader;

  constructor(files: DataFiles, seed: number) {
    this.#files = files;
    this.#pageReader = new PageReader(seed);
  }

  /** Applies a batch of a log or snapshot file. */
  apply(bytes: Uint8Array, batch: BatchPlace, file: DataFile): void {
    this.#file = file.number;
    this.#batch = batch.number;
    this.lastBatch = Math.max(this.lastBatch, batch.number);
    this.lastTimeMs = Math.max(this.lastTimeMs, batch.timeMs);
    this.#reader.read(bytes, batch, this);
  }

  /** The rows of a queue. */
  queue(queueId: number): RecoveredQueue {
    let queue = this.queues.get(queueId);
    if (queue === undefined) {
      queue = { rows: new PositionTable(), pages: new Map(), lastPosition: 0 };
      this.queues.set(queueId, queue);
    }
    return queue;
  }

  /** Index of the row an entry of this batch is about, -1 when it has nothing to add. */
  #rowOf(rows: PositionTable, position: number): number {
    const index = rows.find(position);
    return index >= 0 && rows.since[index]! > this.#batch ? -1 : index;
  }

  // --- entries

  enqueued(queueId: number, position: number, record: RecordMeta): void {
    const queue = this.queue(queueId);
    queue.lastPosition = Math.max(queue.lastPosition, position);
    const known = queue.rows.find(position);
    if (known >= 0 && queue.rows.since[known]! > this.#batch) return;
    queue.rows.set(queue.rows.put(position), {
      file: this.#file,
      offset: this.#base + record.offset,
      recordBytes: record.recordBytes,
      state: STATE_READY,
      entry: 0,
      dueMs: 0,
      flags: record.flags,
      priority: record.priority,
      bodyBytes: record.bodyBytes,
      arrivalMs: record.arrivalMs,
      expiryMs: record.expiryMs,
    });
  }

  /** Offset in the file of the bytes being applied. */
  #base = 0;

  /** Says where in the file the bytes given to `apply` begin. */
  set base(offset: number) {
    this.#base = offset;
  }

  placed(placed: Placed): void {
    const queue = this.queue(placed.queueId);
    queue.lastPosition = Math.max(queue.lastPosition, placed.position);
    const index = queue.rows.put(placed.position);
    queue.rows.set(index, placed);
    queue.rows.since[index] = this.#batch;
  }

  delivered(queueId: number, position: number, entry: number): void {
    this.#setState(queueId, position, STATE_OUT, entry);
  }

  requeued(queueId: number, position: number, entry: number): void {
    this.#setState(queueId, position, STATE_READY, entry);
  }

  delayed(queueId: number, position: number, dueMs: number, entry: number): void {
    const index = this.#setState(queueId, position, STATE_DELAYED, entry);
    if (index >= 0) this.queue(queueId).rows.dueMs[index] = dueMs;
  }

  #setState(queueId: number, position: number, state: number, entry: number): number {
    const { rows } = this.queue(queueId);
    const index = this.#rowOf(rows, position);
    if (index < 0) return -1;
    rows.state[index] = state;
    rows.entry[index] = entry;
    return index;
  }

  returned(queueId: number, position: number, newPosition: number): void {
    const queue = this.queue(queueId);
    const { rows } = queue;
    queue.lastPosition = Math.max(queue.lastPosition, newPosition);
    if (this.#rowOf(rows, position) < 0) return;
    const known = rows.find(newPosition);
    if (known < 0 || rows.since[known]! <= this.#batch) {
      const to = rows.put(newPosition);
      rows.copy(rows.find(position), to);
      rows.state[to] = STATE_READY;
      rows.since[to] = 0;
    }
    rows.remove(rows.find(position));
  }

  removed(queueId: number, position: number, _cause: RemovalCause): void {
    const { rows } = this.queue(queueId);
    const index = this.#rowOf(rows, position);
    if (index >= 0) rows.remove(index);
  }

  purged(queueId: number): void {
    const { rows, pages } = this.queue(queueId);
    for (const index of rows.indexes()) {
      if (rows.state[index] !== STATE_OUT && rows.since[index]! <= this.#batch) rows.remove(index);
    }
    for (const page of pages.values()) if (page.since <= this.#batch) pages.delete(page.first);
  }

  paged(queueId: number, place: PagePlace, runs: readonly number[]): void {
    const queue = this.queue(queueId);
    const { rows, pages } = queue;
    queue.lastPosition = Math.max(queue.lastPosition, place.last);
    let position = place.first;
    for (let run = 0; run < runs.length; run += 2) {
      position += runs[run]!;
      for (const end = position + runs[run + 1]!; position < end; position++) {
        const index = this.#rowOf(rows, position);
        if (index >= 0) rows.remove(index);
      }
    }
    const known = pages.get(place.first);
    if (known !== undefined && known.since > this.#batch) return;
    pages.set(place.first, { ...place, since: this.#batch });
  }

  // What cannot be read of a page is reported.
  #reading(place: PagePlace, read: () => void): void {
    try {
      read();
    } catch (error) {
      const isDamage = error instanceof PageFormatError || error instanceof VarintError;
      if (!isDamage && !(error instanceof DiskError)) throw error;
      const what = `page of ${place.count} messages: ${error.message}`;
      const name = this.#files.get(place.file)?.name ?? dataFileName("segment", place.file);
      this.damages.push({ file: name, offset: place.offset, what });
    }
  }

  #readPage(place: PagePlace, visit: (row: PageRow) => void): void {
    const file = this.#files.get(place.file);
    if (file === undefined) throw new PageFormatError("the file is missing");
    const reader = this.#pageReader;
    reader.open(this.#files.reader(file).readNow(place.offset, place.indexEnd));
    while (reader.next()) if ((reader.row.flags & RECORD_PERSISTENT) !== 0) visit(reader.row);
  }

  unpaged(queueId: number, first: number): void {
    const { rows, pages } = this.queue(queueId);
    const page = pages.get(first);
    if (page === undefined || page.since > this.#batch) return;
    pages.delete(first);
    const file = this.#files.get(page.file);
    if (file !== undefined) file.unpagedBatch = this.#batch;
    this.#reading(page, () => this.#expand(page, rows));
  }

  // Puts a row for every message of a page whose state is not known from later.
  #expand(page: RecoveredPage, rows: PositionTable): void {
    this.#readPage(page, (row) => {
      const known = rows.find(row.position);
      if (known >= 0 && rows.since[known]! > this.#batch) return;
      rows.set(rows.put(row.position), {
        file: page.file,
        offset: page.offset + row.recordAt,
        recordBytes: row.recordBytes,
        state: STATE_READY,
        entry: row.entry,
        dueMs: 0,
        flags: row.flags,
        priority: row.priority,
        bodyBytes: row.bodyBytes,
        arrivalMs: row.arrivalMs,
        expiryMs: row.expiryMs,
      });
    });
  }

  pageMoved(queueId: number, first: number, file: number, offset: number): void {
    const page = this.queue(queueId).pages.get(first);
    if (page === undefined || page.since > this.#batch) return;
    page.file = file;
    page.offset = offset;
  }

  moved(queueId: number, position: number, file: number, offset: number): void {
    const { rows } = this.queue(queueId);
    const index = this.#rowOf(rows, position);
    if (index < 0) return;
    rows.file[index] = file;
    rows.offset[index] = offset;
  }

  defined(kind: DefinitionKind, key: string, value: unknown): void {
    // A definition made anew goes behind what it may depend on.
    this.definitions[kind].delete(key);
    this.definitions[kind].set(key, value);
    if (kind === "queue") this.lastQueueId((value as { id: number }).id);
  }

  undefined(kind: DefinitionKind, key: string): void {
    this.definitions[kind].delete(key);
  }

  lastPosition(queueId: number, position: number): void {
    const queue = this.queue(queueId);
    queue.lastPosition = Math.max(queue.lastPosition, position);
  }

  lastQueueId(queueId: number): void {
    this.queueIdMax = Math.max(this.queueIdMax, queueId);
  }

  end(): void {
    this.isSnapshotWhole = true;
  }
}

/**
 * Reads a folder's snapshot and logs; `repair` says what may be done to them.
 * @throws DiskError when the disk does not let it
 */
export function recover(files: DataFiles, manifest: Manifest, repair: Repair): Recovered {
  const recovered = new Recovered(files, manifest.seed);
  if (repair !== "none") files.removeUnnamed();
  if (manifest.snapshot !== null) readSnapshot(files, manifest, recovered);
  for (const file of files.ofKind("segment")) file.byteLength = files.reader(file).byteLength;
  for (const file of files.ofKind("log")) file.byteLength = files.reader(file).byteLength;
  let lastFile: DataFile | null = null;
  const on: OnLogBatch = (batch, { bytes, base, file }) => {
    if (file !== lastFile) recovered.replayedFiles++;
    lastFile = file;
    recovered.base = base;
    recovered.apply(bytes, batch, file);
    recovered.replayedBytes += batch.end - batch.start;
  };
  const replay = new LogReplay(files, manifest, { repair, on }).run();
  recovered.lastLogBatch = replay.lastBatch;
  if (replay.isSafe && replay.lastBatch > manifest.safeBatch) {
    manifest.safeBatch = replay.lastBatch;
    writeManifest(files.fs, manifest);
  }
  recovered.lastBatch = Math.max(recovered.lastBatch, replay.lastBatch);
  recovered.damages.push(...replay.damages);
  recovered.cuts.push(...replay.cuts);
  dropUndefinedQueues(recovered);
  return recovered;
}

function readSnapshot(files: DataFiles, manifest: Manifest, recovered: Recovered): void {
  const file = files.get(manifest.snapshot!);
  if (file === undefined) {
    recovered.damages.push({ file: `snapshot ${manifest.snapshot}`, offset: 0, what: "missing" });
    return;
  }
  const scan = scanBatches(files, file, manifest.seed, (bytes, batch) => {
    recovered.apply(bytes, batch, file);
    return true;
  });
  file.byteLength = scan.byteLength;
  recovered.damages.push(...scan.damages);
  if (!recovered.isSnapshotWhole) {
    recovered.damages.push({ file: file.name, offset: scan.byteLength, what: "cut short" });
  }
}

function dropUndefinedQueues(recovered: Recovered): void {
  const defined = new Set<number>();
  for (const value of recovered.definitions.queue.values()) {
    defined.add((value as { id: number }).id);
  }
  for (const queueId of recovered.queues.keys()) {
    if (!defined.has(queueId)) recovered.queues.delete(queueId);
  }
}
