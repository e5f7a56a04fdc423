// Keeps the memory of long backlogs within a bound: writes the messages of cold chunks to pages in
// segment files, and when those are safe, lets go of everything known of them in memory. The log says
// where they are now (docs/storage.md "Pages"). Keeper calls it once a turn; which chunks of a lane are
// cold is the lane's to say, how pages are read back the page loader's.
//
// A chunk is written while it stays where it is. If any of its messages has left meanwhile, or been
// looked at by the head, what was written does not count and nothing has changed.

import { ByteWriter } from "../../lib/byte_writer.ts";
import { assert } from "../../lib/assert.ts";
import { EMPTY_BYTES } from "../../lib/bytes.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Arena } from "../arena.ts";
import { DiskError } from "../file_system.ts";
import type { Lane } from "../lane.ts";
import type { LaneChunk } from "../lane_chunk.ts";
import { Page } from "../page.ts";
import type { RecordView } from "../port.ts";
import { emptyView } from "../views.ts";
import { ColdChunks } from "./cold_chunks.ts";
import type { CommitLog } from "./commit_log.ts";
import type { DataFile } from "./data_files.ts";
import { type Holdings, NO_HOLDING } from "./holdings.ts";
import type { PageSet } from "./page_set.ts";
import { PageWriter } from "./page_writer.ts";
import type { SegmentWriter } from "./segment_writer.ts";
import type { StoreSizes } from "./sizes.ts";

// Paging begins at the bound and goes on until this part of it.
const CALM_RATIO = 0.85;
const RETRY_MS = 1000;
const COMMITTED_PER_STEP_MAX = 2048;
// What a message takes beside its record: its place in the table, its row, its holding.
const REFERENCE_BYTES = 24;
const HOLDING_BYTES = 29;
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

/** What a {@link Pager} is made of. */
export interface PagerParts {
  options: { logger: Logger; residentBytesMax: number };
  sizes: StoreSizes;
  seed: number;
  log: CommitLog;
  arena: Arena;
  holdings: Holdings;
  lanes: ReadonlyMap<number, Lane>;
  laneBytes: () => number;
  pages: PageSet;
  segments: SegmentWriter;
  /** Nothing alive is in the file. */
  emptied: (file: DataFile) => void;
  /** The queue holds the record no longer. */
  release: (ref: number, queueId: number) => void;
  /** Brings a record into memory and calls back in a later turn. */
  load: (ref: number, done: (error: Error | null) => void) => void;
}

/** A chunk that is being written. */
interface Draft {
  readonly lane: Lane;
  readonly chunk: LaneChunk;
  /** Where its messages began; once the head is in it, it is not cold any more. */
  readonly head: number;
  readonly pages: Page[];
  /** Which positions each page holds that must survive; see ENTRY_PAGED. */
  readonly runs: (readonly number[])[];
  /** Memory that it will free. */
  bytes: number;
  messages: number;
  ticket: number;
  generation: number;
  /** Whether anything in it must survive a restart. */
  readonly isLogged: boolean;
  file: DataFile | null;
}

/** Marks a chunk that cannot be written. */
const UNWRITABLE: object = {};

/** Writes cold messages to pages. */
export class Pager {
  readonly #parts: PagerParts;
  readonly #writer: PageWriter;
  readonly #cold: ColdChunks;
  readonly #out = new ByteWriter();
  readonly #view: RecordView = emptyView();
  readonly #group: Draft[] = [];
  readonly #drafts: Draft[] = [];
  #inFlightBytes = 0;
  #loadingCount = 0;
  #isPaging = false;
  #retryAtMs = -Infinity;

  constructor(parts: PagerParts) {
    this.#parts = parts;
    this.#writer = new PageWriter(parts.seed);
    this.#cold = new ColdChunks(parts.lanes, parts.sizes.sparePageMessagesMin);
  }

  /** A lane has got long. */
  grown(lane: Lane): void {
    this.#cold.add(lane);
  }

  /** Whether pages are on their way that will free memory. */
  get isBusy(): boolean {
    return this.#isPaging && (this.#drafts.length > 0 || this.#cold.hasSome);
  }

  /** Whether records are being read to be written to pages. */
  get isLoading(): boolean {
    return this.#loadingCount > 0;
  }

  /** Does a bounded piece; true when more can be done at once. */
  step(nowMs: number, mayWrite: boolean): boolean {
    const hasMore = this.#commitSafe();
    if (!mayWrite || nowMs < this.#retryAtMs || !this.#isPressed()) return hasMore;
    if (this.#loadingCount > 0) return hasMore;
    const { sizes, segments } = this.#parts;
    if (this.#inFlightBytes >= sizes.pagesInFlightBytes) return hasMore;
    try {
      this.#writeGroup(nowMs);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#failed(error, nowMs);
    }
    segments.sync();
    return hasMore || this.#isPressed() && this.#cold.isWorthLooking(nowMs);
  }

  // Counts what is alive, not what is held: paging goes by what it can free at once.
  #isPressed(): boolean {
    const { arena, holdings, options, laneBytes } = this.#parts;
    const bytes = arena.liveBytes + arena.recordCount * REFERENCE_BYTES +
      holdings.count * HOLDING_BYTES + laneBytes() - this.#inFlightBytes;
    const bound = options.residentBytesMax;
    this.#isPaging = bytes > (this.#isPaging ? bound * CALM_RATIO : bound);
    return this.#isPaging;
  }

  // --- writing

  #writeGroup(nowMs: number): void {
    const out = this.#out;
    const { segments, sizes } = this.#parts;
    out.reset();
    this.#cold.begin();
    let messages = 0;
    while (out.byteCount < sizes.pageGroupBytes && this.#isPressed()) {
      if (messages >= sizes.pageGroupMessages) break;
      const cold = this.#cold.next(nowMs);
      if (cold === null) break;
      messages += cold.chunk.tail - cold.chunk.head;
      this.#take(cold.lane, cold.chunk);
      if (this.#loadingCount > 0) break;
    }
    if (this.#group.length === 0) return;
    const { file, offset } = segments.append(out.bytes, out.byteCount);
    for (const draft of this.#group) {
      for (const page of draft.pages) {
        page.place.file = file.number;
        page.place.offset += offset;
      }
      draft.file = file;
      draft.ticket = segments.lastTicket;
      file.draftCount++;
      this.#drafts.push(draft);
    }
    this.#group.length = 0;
    if (out.bytes.length > KEPT_BYTES_MAX) out.bytes = EMPTY_BYTES;
  }

  #take(lane: Lane, chunk: LaneChunk): void {
    if (!this.#isWorthWriting(chunk)) {
      chunk.draft = UNWRITABLE;
      return;
    }
    if (!this.#loadMissing(lane, chunk)) return;
    const draft: Draft = {
      lane,
      chunk,
      head: chunk.head,
      pages: [],
      runs: [],
      bytes: chunk.memoryBytes,
      messages: 0,
      ticket: 0,
      generation: this.#parts.segments.generation,
      isLogged: this.#isHeld(lane, chunk),
      file: null,
    };
    this.#encode(draft);
    chunk.draft = draft;
    // What is written of a chunk must be all of it.
    chunk.seal();
    this.#inFlightBytes += draft.bytes;
    this.#group.push(draft);
  }

  #encode(draft: Draft): void {
    const { arena, sizes } = this.#parts;
    const { chunk } = draft;
    const writer = this.#writer;
    const view = this.#view;
    const message = { position: 0, entry: 0, endMs: Infinity };
    writer.begin();
    for (let index = chunk.head; index < chunk.tail; index++) {
      const ref = chunk.refs[index]!;
      if (ref === 0) continue;
      assert(arena.open(ref, view), "a record to be written is not in memory");
      const recordBytes = view.bodyEnd - view.addressStart;
      if (writer.count > 0 && writer.byteCount + recordBytes > sizes.pageBytes) {
        this.#endPage(draft);
      }
      message.position = chunk.base + index;
      message.entry = chunk.entries[index]!;
      message.endMs = chunk.expiries === null ? Infinity : chunk.expiries[index]!;
      writer.add(message, view);
    }
    if (writer.count > 0) this.#endPage(draft);
  }

  #endPage(draft: Draft): void {
    const writer = this.#writer;
    const out = this.#out;
    const { lane } = draft;
    const { count, bodyBytes, persistentCount } = writer;
    const offset = out.byteCount;
    const indexEnd = writer.finish(lane.queueId, out);
    const isLogged = persistentCount > 0 && draft.isLogged;
    const place = {
      file: 0,
      offset,
      byteLength: out.byteCount - offset,
      indexEnd,
      first: writer.first,
      last: writer.last,
      count: isLogged ? persistentCount : 0,
      bodyBytes: isLogged ? writer.persistentBodyBytes : 0,
      expiryMinMs: writer.expiryMinMs,
    };
    draft.pages.push(new Page(lane, place, { count, bodyBytes, hasTransient: true }));
    draft.runs.push(writer.runs);
    draft.messages += count;
    draft.bytes += place.byteLength + count * (REFERENCE_BYTES + (isLogged ? HOLDING_BYTES : 0));
    writer.begin();
  }

  // Chunks of large messages would make long turns: their bodies are given up one by one instead.
  #isWorthWriting(chunk: LaneChunk): boolean {
    const { arena, sizes } = this.#parts;
    const view = this.#view;
    let bodyBytes = 0;
    let count = 0;
    for (let index = chunk.head; index < chunk.tail; index++) {
      const ref = chunk.refs[index]!;
      if (ref === 0) continue;
      arena.describe(ref, view);
      bodyBytes += view.bodyEnd - view.bodyStart;
      count++;
    }
    return count > 0 && bodyBytes <= sizes.pagedChunkBytesMax;
  }

  // Persistent messages are kept across a restart in durable queues only, all of them.
  #isHeld(lane: Lane, chunk: LaneChunk): boolean {
    const { holdings } = this.#parts;
    for (let index = chunk.head; index < chunk.tail; index++) {
      const ref = chunk.refs[index]!;
      if (ref !== 0 && holdings.find(ref, lane.queueId) !== NO_HOLDING) return true;
    }
    return false;
  }

  // Whether all of the chunk's records are in memory; if not, they are asked for.
  #loadMissing(lane: Lane, chunk: LaneChunk): boolean {
    const { arena, load } = this.#parts;
    let isWhole = true;
    for (let index = chunk.head; index < chunk.tail; index++) {
      const ref = chunk.refs[index]!;
      if (ref === 0 || arena.isResident(ref)) continue;
      isWhole = false;
      this.#loadingCount++;
      load(ref, (error) => {
        this.#loadingCount--;
        if (error !== null && chunk.refs[index] === ref) chunk.draft = UNWRITABLE;
        if (this.#loadingCount === 0) this.#cold.add(lane);
      });
    }
    return isWhole;
  }

  // --- when they are safe

  #commitSafe(): boolean {
    const { segments } = this.#parts;
    let messages = 0;
    let done = 0;
    for (const draft of this.#drafts) {
      const isVoid = draft.generation !== segments.generation;
      if (!isVoid && draft.ticket > segments.safeTicket) break;
      if (messages > 0 && messages + draft.messages > COMMITTED_PER_STEP_MAX) break;
      done++;
      messages += draft.messages;
      this.#settle(draft, isVoid);
    }
    if (done > 0) this.#drafts.splice(0, done);
    const next = this.#drafts[0];
    return done > 0 && next !== undefined && next.ticket <= segments.safeTicket;
  }

  #settle(draft: Draft, isVoid: boolean): void {
    const { chunk, lane } = draft;
    const file = draft.file!;
    this.#inFlightBytes -= draft.bytes;
    file.draftCount--;
    const isUntouched = chunk.draft === draft && chunk.head === draft.head;
    if (!isVoid && isUntouched) return this.#commit(draft);
    if (file.draftCount === 0 && file.liveRecords === 0) this.#parts.emptied(file);
    if (chunk.draft !== draft) return;
    chunk.draft = null;
    this.#cold.add(lane);
  }

  #commit(draft: Draft): void {
    const { log, pages, release } = this.#parts;
    const { chunk, lane } = draft;
    for (const [index, page] of draft.pages.entries()) {
      pages.add(page);
      if (page.isLogged) log.batch.paged(lane.queueId, page.place, draft.runs[index]!);
    }
    for (let index = chunk.head; index < chunk.tail; index++) {
      const ref = chunk.refs[index]!;
      if (ref !== 0) release(ref, lane.queueId);
    }
    lane.pagedOut(chunk, draft.pages);
  }

  #failed(error: DiskError, nowMs: number): void {
    for (const { chunk, lane, bytes } of this.#group.splice(0)) {
      this.#inFlightBytes -= bytes;
      chunk.draft = null;
      this.#cold.add(lane);
    }
    this.#retryAtMs = nowMs + RETRY_MS;
    this.#parts.options.logger.log("error", "cannot write pages", { error: error.message });
  }
}
