// Rebuilds the state from a data folder: the newest snapshot, then every batch behind it. It
// changes no file, except that log_replay.ts cuts torn ends off and writes batches again. It
// reports damage and uses the rest (docs/storage.md "At the start"). The file store keeps the
// result, and the broker takes it over.
//
// A snapshot is taken while the broker works, so each of its rows shows the state of the message
// before some batch. Entries are facts that hold from their batch on. An entry that is older than a
// row adds nothing to it, and all other entries are applied in order. An entry about an unknown
// position is no error.

import { DiskError } from "../file_system.ts";
import type { PagePlace } from "../page.ts";
import { type Death, type DefinitionKind, type Delay, type RemovalCause } from "../port.ts";
import { VarintError } from "../varint.ts";
import {
  BatchFormatError,
  type BatchPlace,
  type BatchVisitor,
  EntryReader,
  isForeign,
  type RecordMeta,
} from "../format/batch_reader.ts";
import type { Placed } from "../format/batch_writer.ts";
import { type Damage, scanBatches } from "../log/batch_scan.ts";
import type { DataFile, DataFiles } from "../folder/data_files.ts";
import {
  dataFileName,
  deathCauseOf,
  dyingState,
  STATE_DELAYED,
  STATE_OUT,
  STATE_READY,
} from "../format/format.ts";
import { LogReplay, type OnLogBatch, type Repair } from "./log_replay.ts";
import { type Manifest, StoreFormatError, writeManifest } from "../folder/manifest.ts";
import { PageFormatError, PageReader, type PageRow } from "../pages/page_reader.ts";
import { PositionTable } from "./position_table.ts";
import { emptyRow, type MessageRow } from "../format/message_row.ts";
import { NO_ROW, RecoveredRows } from "./recovered_rows.ts";

/** A page that was found. */
export interface RecoveredPage extends PagePlace {
  /** The page shows the state before this batch. Older entries add nothing to it. */
  since: number;
}

/** One queue that was found. */
export interface RecoveredQueue {
  /** Messages that are not in pages. */
  readonly positions: PositionTable;
  /** Pages by their first position. */
  readonly pages: Map<number, RecoveredPage>;
  /** The highest position that is known to have been used. */
  lastPosition: number;
}

/** The state that a data folder holds. */
export class Recovered implements BatchVisitor {
  readonly definitions: Record<DefinitionKind, Map<string, unknown>> = {
    exchange: new Map(),
    queue: new Map(),
    binding: new Map(),
    deleted: new Map(),
  };
  readonly queues: Map<number, RecoveredQueue> = new Map();
  readonly rows: RecoveredRows = new RecoveredRows();
  /** Highest queue id that was ever used. */
  queueIdMax = 0;
  /** The last batch of the log. */
  lastLogBatch = 0;
  /** Highest batch number that is in use. */
  lastBatch = 0;
  /** Broker time of the last batch, ms. */
  lastTimeMs = 0;
  /** Parts that could not be read. */
  readonly damages: Damage[] = [];
  /** Parts that had not been safe when the node ended, and are gone. */
  readonly cuts: Damage[] = [];
  /** Bytes of batches read behind the snapshot. */
  replayedBytes = 0;
  /** Files with these batches. */
  replayedFiles = 0;
  isSnapshotWhole = false;
  #file = 0;
  #batch = 0;
  /** Pages of the snapshot, by rising batch. */
  readonly #toldPages: { readonly queueId: number; readonly page: RecoveredPage }[] = [];
  /** How many of these pages the log has caught up with. */
  #toldCount = 0;
  readonly #row = emptyRow();
  #lastQueueId = -1;
  #lastQueue: RecoveredQueue | null = null;
  readonly #reader = new EntryReader();
  readonly #files: DataFiles;
  readonly #pageReader: PageReader;

  constructor(files: DataFiles, seed: number) {
    this.#files = files;
    this.#pageReader = new PageReader(seed);
  }

  /**
   * Applies a batch of a log or snapshot file.
   * @throws StoreFormatError when it is whole and holds what this version does not know
   */
  apply(bytes: Uint8Array, batch: BatchPlace, file: DataFile): void {
    this.#file = file.number;
    this.#batch = batch.number;
    if (file.kind === "log") this.#tellPages(batch.number);
    this.lastBatch = Math.max(this.lastBatch, batch.number);
    this.lastTimeMs = Math.max(this.lastTimeMs, batch.timeMs);
    try {
      this.#reader.read(bytes, batch, this);
    } catch (error) {
      const isUnknown = error instanceof BatchFormatError || error instanceof VarintError;
      if (!isUnknown) throw error;
      throw new StoreFormatError(
        `batch ${batch.number} of ${file.name} cannot be read (${error.message}): ` +
          "use the version that wrote it, or another folder",
      );
    }
  }

  /** Returns the facts about a queue, made if there are none. */
  queue(queueId: number): RecoveredQueue {
    if (queueId === this.#lastQueueId) return this.#lastQueue!;
    let queue = this.queues.get(queueId);
    if (queue === undefined) {
      queue = { positions: new PositionTable(this.rows), pages: new Map(), lastPosition: 0 };
      this.queues.set(queueId, queue);
    }
    this.#lastQueueId = queueId;
    this.#lastQueue = queue;
    return queue;
  }

  /** Returns the row that an entry of this batch concerns; NO_ROW when it adds nothing. */
  #rowOf(positions: PositionTable, position: number): number {
    const row = positions.find(position);
    return row !== NO_ROW && this.rows.sinceOf(row) > this.#batch ? NO_ROW : row;
  }

  // Whether a later state of the position is known already.
  #isKnown(positions: PositionTable, position: number): boolean {
    const row = positions.find(position);
    return row !== NO_ROW && this.rows.sinceOf(row) > this.#batch;
  }

  // --- entries

  enqueued(queueId: number, position: number, record: RecordMeta): void {
    const queue = this.queue(queueId);
    if (position > queue.lastPosition) queue.lastPosition = position;
    if (this.#isKnown(queue.positions, position)) return;
    const row = this.#readyRow(record);
    row.file = this.#file;
    row.offset = this.#base + record.offset;
    row.entry = 0;
    this.rows.set(queue.positions.put(position), row, 0);
  }

  // Returns the row of a ready message, without its place and its deliveries; the same object every
  // time.
  #readyRow(record: RecordMeta | PageRow): MessageRow {
    const row = this.#row;
    row.recordBytes = record.recordBytes;
    row.state = STATE_READY;
    row.dueMs = 0;
    row.delayNumber = 0;
    row.flags = record.flags;
    row.priority = record.priority;
    row.bodyBytes = record.bodyBytes;
    row.arrivalMs = record.arrivalMs;
    row.expiryMs = record.expiryMs;
    return row;
  }

  /** Offset in the file of the bytes being applied. */
  #base = 0;

  /** Says where in the file the bytes given to `apply` begin. */
  set base(offset: number) {
    this.#base = offset;
  }

  placed(placed: Placed): void {
    const { position } = placed;
    const queue = this.queue(placed.queueId);
    if (position > queue.lastPosition) queue.lastPosition = position;
    this.rows.set(queue.positions.put(position), placed, this.#batch);
  }

  delivered(queueId: number, position: number, entry: number): void {
    this.#setState(queueId, position, STATE_OUT, entry);
  }

  requeued(queueId: number, position: number, entry: number): void {
    this.#setState(queueId, position, STATE_READY, entry);
  }

  delayed(queueId: number, position: number, delay: Delay): void {
    const row = this.#setState(queueId, position, STATE_DELAYED, delay.entry);
    if (row !== NO_ROW) this.rows.setDelay(row, delay.dueMs, delay.number);
  }

  #setState(queueId: number, position: number, state: number, entry: number): number {
    const row = this.#rowOf(this.queue(queueId).positions, position);
    if (row !== NO_ROW) this.rows.setState(row, state, entry);
    return row;
  }

  dying(queueId: number, position: number, death: Death): void {
    this.#setState(queueId, position, dyingState(death.reason), death.entry);
  }

  returned(queueId: number, position: number, newPosition: number): void {
    const queue = this.queue(queueId);
    const { positions } = queue;
    queue.lastPosition = Math.max(queue.lastPosition, newPosition);
    const row = this.#rowOf(positions, position);
    if (row === NO_ROW) return;
    if (this.#isKnown(positions, newPosition)) return positions.remove(position);
    if (positions.find(newPosition) !== NO_ROW) positions.remove(newPosition);
    this.rows.changeState(row, STATE_READY);
    this.rows.setSince(row, 0);
    positions.move(position, newPosition);
  }

  removed(queueId: number, position: number, _cause: RemovalCause): void {
    const { positions } = this.queue(queueId);
    if (this.#rowOf(positions, position) !== NO_ROW) positions.remove(position);
  }

  purged(queueId: number): void {
    const { positions, pages } = this.queue(queueId);
    positions.each((position, row) => {
      const state = this.rows.stateOf(row);
      const isElsewhere = state === STATE_OUT || deathCauseOf(state) !== null;
      if (isElsewhere || this.rows.sinceOf(row) > this.#batch) return;
      positions.remove(position);
    });
    for (const page of pages.values()) if (page.since <= this.#batch) pages.delete(page.first);
  }

  paged(queueId: number, place: PagePlace, runs: readonly number[]): void {
    const queue = this.queue(queueId);
    const { positions, pages } = queue;
    queue.lastPosition = Math.max(queue.lastPosition, place.last);
    if (runs.length === 0) {
      this.#toldPages.push({ queueId, page: { ...place, since: this.#batch } });
      return;
    }
    let position = place.first;
    for (let run = 0; run < runs.length; run += 2) {
      position += runs[run]!;
      for (const end = position + runs[run + 1]!; position < end; position++) {
        if (this.#rowOf(positions, position) !== NO_ROW) positions.remove(position);
      }
    }
    const known = pages.get(place.first);
    if (known !== undefined && known.since > this.#batch) return;
    pages.set(place.first, { ...place, since: this.#batch });
  }

  // A page of the snapshot exists from the batch on that was open then. Before that batch, another
  // page may have begun at its position, about which the log has more entries.
  #tellPages(batch: number): void {
    const told = this.#toldPages;
    for (; this.#toldCount < told.length; this.#toldCount++) {
      const { queueId, page } = told[this.#toldCount]!;
      if (page.since > batch) return;
      const { pages } = this.queue(queueId);
      if (!pages.has(page.first)) pages.set(page.first, page);
    }
  }

  // Of deleted queues, only the messages on their way to the dead-letter exchange are kept.
  #dropUndefinedQueues(): void {
    const defined = idsOf(this.definitions.queue);
    const deleted = idsOf(this.definitions.deleted);
    for (const [queueId, { positions, pages }] of this.queues) {
      if (defined.has(queueId)) continue;
      if (!deleted.has(queueId)) {
        this.queues.delete(queueId);
        continue;
      }
      pages.clear();
      positions.each((position, row) => {
        if (deathCauseOf(this.rows.stateOf(row)) === null) positions.remove(position);
      });
    }
  }

  /** To be called when everything has been read. */
  finish(): void {
    this.#tellPages(Infinity);
    this.#dropUndefinedQueues();
  }

  /** Forgets the messages. To be called when they have been handed over. */
  forgetMessages(): void {
    this.queues.clear();
    this.rows.clear();
    this.#toldPages.length = 0;
    this.#toldCount = 0;
    this.#lastQueueId = -1;
    this.#lastQueue = null;
  }

  // Reports a page that cannot be read.
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
    while (reader.nextCounted(false)) visit(reader.row);
  }

  unpaged(queueId: number, first: number): void {
    const { positions, pages } = this.queue(queueId);
    const page = pages.get(first);
    if (page === undefined || page.since > this.#batch) return;
    pages.delete(first);
    const file = this.#files.get(page.file);
    if (file !== undefined) file.unpagedBatch = this.#batch;
    this.#reading(page, () => this.#expand(page, positions));
  }

  // Makes a row for every message of a page whose later state is not known.
  #expand(page: RecoveredPage, positions: PositionTable): void {
    const { file, offset } = page;
    this.#readPage(page, (paged) => {
      if (this.#isKnown(positions, paged.position)) return;
      const row = this.#readyRow(paged);
      row.file = file;
      row.offset = offset + paged.recordAt;
      row.entry = paged.entry;
      if (paged.delayNumber > 0) {
        row.state = STATE_DELAYED;
        row.dueMs = paged.dueMs;
        row.delayNumber = paged.delayNumber;
      }
      this.rows.set(positions.put(paged.position), row, 0);
    });
  }

  pageMoved(queueId: number, first: number, file: number, offset: number): void {
    const page = this.queue(queueId).pages.get(first);
    if (page === undefined || page.since > this.#batch) return;
    page.file = file;
    page.offset = offset;
  }

  moved(queueId: number, position: number, file: number, offset: number): void {
    const row = this.#rowOf(this.queue(queueId).positions, position);
    if (row !== NO_ROW) this.rows.setPlace(row, file, offset);
  }

  defined(kind: DefinitionKind, key: string, value: unknown): void {
    // A definition that is made again comes after the definitions on which it may depend.
    this.definitions[kind].delete(key);
    this.definitions[kind].set(key, value);
    if (kind === "queue" || kind === "deleted") this.lastQueueId((value as { id: number }).id);
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
 * Reads a folder's snapshot and logs. `repair` says what may be done to them.
 * @throws DiskError when the disk fails, StoreFormatError when a newer version has written them
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
  recovered.finish();
  return recovered;
}

function readSnapshot(files: DataFiles, manifest: Manifest, recovered: Recovered): void {
  const file = files.get(manifest.snapshot!);
  if (file === undefined) {
    recovered.damages.push({ file: `snapshot ${manifest.snapshot}`, offset: 0, what: "missing" });
    return;
  }
  const scan = scanBatches(files, file, manifest.seed, (bytes, batch) => {
    if (isForeign(batch, file.number)) {
      const what = `it was written as ${dataFileName("snapshot", batch.file)} and is not read`;
      recovered.damages.push({ file: file.name, offset: batch.start, what });
      return false;
    }
    recovered.apply(bytes, batch, file);
    return true;
  });
  file.byteLength = scan.byteLength;
  recovered.damages.push(...scan.damages);
  if (!recovered.isSnapshotWhole) {
    recovered.damages.push({ file: file.name, offset: scan.byteLength, what: "cut short" });
  }
}

function idsOf(queues: ReadonlyMap<string, unknown>): Set<number> {
  return new Set([...queues.values()].map((value) => (value as { id: number }).id));
}
