// Keeps the memory of long backlogs within a bound: it writes messages that are not needed soon to
// pages in segment files. When the pages are safe, it frees all memory of these messages and enters
// the pages into the log (docs/storage.md "Pages"). Keeper calls it once a turn. Lanes and retry
// queues say which messages are needed last; the page loader reads pages back.
//
// Messages stay where they are while they are written. If any of them has left meanwhile, or the
// head has reached them, the written pages do not count and nothing has changed.

import { ByteWriter } from "../../lib/byte_writer.ts";
import { assert } from "../../lib/assert.ts";
import { dropBytes, EMPTY_BYTES } from "../../lib/bytes.ts";
import type { Arena } from "../memory/arena.ts";
import { DiskError } from "../file_system.ts";
import type { Lane } from "../memory/lane.ts";
import { DELAYED_BYTES, Page, type PageSource, type Stretch } from "../page.ts";
import type { RecordView } from "../port.ts";
import { emptyView } from "../views.ts";
import { ColdStretches } from "./cold_stretches.ts";
import type { CommitLog } from "../log/commit_log.ts";
import { type Holdings, NO_HOLDING } from "../live/holdings.ts";
import type { PageSet } from "./page_set.ts";
import { PageWriter } from "./page_writer.ts";
import type { SegmentDraft, SegmentWriter } from "../folder/segment_writer.ts";
import type { StoreSizes } from "../folder/sizes.ts";
import type { Troubles } from "../folder/troubles.ts";

// Paging begins above the bound and ends below this part of it.
const CALM_RATIO = 0.85;
// Delayed messages are written to pages when they take an eighth of the bound (bound / 8), long
// before memory is short. They are known not to be needed soon, and each of them that is not in a
// page makes a start longer.
const DELAYED_PART = 8;
const RETRY_MS = 1000;
const COMMITTED_PER_STEP_MAX = 2048;
// Bytes that a message takes beside its record: its place in the table, its row, its holding.
const REFERENCE_BYTES = 24;
const HOLDING_BYTES = 29;
// Bytes that a delayed message takes in all, with a small record of 51 bytes.
const DELAYED_MESSAGE_BYTES = DELAYED_BYTES + REFERENCE_BYTES + HOLDING_BYTES + 51;
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

/** The parts of a {@link Pager}. */
export interface PagerParts {
  options: { residentBytesMax: number };
  troubles: Troubles;
  sizes: StoreSizes;
  seed: number;
  log: CommitLog;
  arena: Arena;
  holdings: Holdings;
  lanes: ReadonlyMap<number, Lane>;
  retryQueues: ReadonlySet<PageSource>;
  laneBytes: () => number;
  /** Returns the number of delayed messages in memory. */
  delayedCount: () => number;
  pages: PageSet;
  segments: SegmentWriter;
  /** Called when the queue holds the record no longer. */
  release: (ref: number, queueId: number) => void;
  /** Reads a record into memory and calls back in a later turn. */
  load: (ref: number, done: (error: Error | null) => void) => void;
}

/** A stretch that is being written. */
interface Draft {
  readonly stretch: Stretch;
  readonly pages: Page[];
  /** The positions of the persistent messages of each page; see ENTRY_PAGED. */
  readonly runs: (readonly number[])[];
  /** Bytes of memory that the pages will free. */
  bytes: number;
  messages: number;
  /** Its part of what was written; null until then. */
  segment: SegmentDraft | null;
  /** Whether some of its messages must survive a restart. */
  readonly isLogged: boolean;
  readonly isDelayed: boolean;
}

/** Facts about a stretch, collected before it is written. */
interface Survey {
  count: number;
  bodyBytes: number;
  isHeld: boolean;
  /** References and positions of records that are not in memory. */
  readonly missing: { ref: number; position: number }[];
  firstRef: number;
  firstPosition: number;
}

/** Writes cold messages to pages. */
export class Pager {
  readonly #parts: PagerParts;
  readonly #writer: PageWriter;
  readonly #ready: ColdStretches;
  readonly #delayed: ColdStretches;
  readonly #out = new ByteWriter();
  readonly #view: RecordView = emptyView();
  readonly #group: Draft[] = [];
  readonly #drafts: Draft[] = [];
  #inFlightBytes = 0;
  #loadingCount = 0;
  #inFlightDelayed = 0;
  #isPaging = false;
  #isPagingDelayed = false;
  #retryAtMs = -Infinity;

  constructor(parts: PagerParts) {
    this.#parts = parts;
    this.#writer = new PageWriter(parts.seed);
    const { lanes, retryQueues, sizes } = parts;
    this.#ready = new ColdStretches(() => lanes.values(), sizes.sparePageMessagesMin);
    this.#delayed = new ColdStretches(() => retryQueues.values(), sizes.sparePageMessagesMin);
  }

  /** Registers a source that has grown. */
  grown(source: PageSource): void {
    this.#coldOf(source).add(source);
  }

  #coldOf(source: PageSource): ColdStretches {
    return this.#parts.retryQueues.has(source) ? this.#delayed : this.#ready;
  }

  /** Removes a source. */
  closed(source: PageSource): void {
    this.#delayed.delete(source);
  }

  /**
   * Bytes that messages need, without the rows of delayed ones. They are the live bytes, not the
   * held ones, because paging goes by the bytes that it can free at once.
   */
  get usedBytes(): number {
    const { arena, holdings, laneBytes } = this.#parts;
    return arena.liveBytes + arena.recordCount * REFERENCE_BYTES +
      holdings.count * HOLDING_BYTES + laneBytes();
  }

  /** Whether pages are being written that will free memory. */
  get isBusy(): boolean {
    return this.#isPaging &&
      (this.#drafts.length > 0 || this.#ready.hasSome || this.#delayed.hasSome);
  }

  /** Whether records are being read to be written to pages. */
  get isLoading(): boolean {
    return this.#loadingCount > 0;
  }

  /** Does a bounded piece of the work; true when more can be done at once. */
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
    return hasMore || this.#isPressed() && this.#isWorthLooking(nowMs);
  }

  #isWorthLooking(nowMs: number): boolean {
    return this.#delayed.isWorthLooking(nowMs) ||
      this.#isPaging && this.#ready.isWorthLooking(nowMs);
  }

  // Returns the stretch to write next; null when there is none, or no need.
  #next(nowMs: number): Stretch | null {
    if (!this.#isPressed()) return null;
    const stretch = this.#isPagingDelayed ? this.#delayed.next(nowMs) : null;
    if (stretch !== null || !this.#isPaging) return stretch;
    return this.#ready.next(nowMs) ?? this.#delayed.next(nowMs);
  }

  #isPressed(): boolean {
    const { options, delayedCount } = this.#parts;
    const bytes = this.usedBytes + delayedCount() * DELAYED_BYTES - this.#inFlightBytes;
    const bound = options.residentBytesMax;
    this.#isPaging = bytes > (this.#isPaging ? bound * CALM_RATIO : bound);
    const delayedBytes = (delayedCount() - this.#inFlightDelayed) * DELAYED_MESSAGE_BYTES;
    const delayedBound = bound / DELAYED_PART;
    const isOver =
      delayedBytes > (this.#isPagingDelayed ? delayedBound * CALM_RATIO : delayedBound);
    this.#isPagingDelayed = isOver;
    return this.#isPaging || isOver;
  }

  // --- writing

  #writeGroup(nowMs: number): void {
    const out = this.#out;
    const { segments, sizes, troubles } = this.#parts;
    out.reset();
    this.#ready.begin();
    this.#delayed.begin();
    let messages = 0;
    while (out.byteCount < sizes.pageGroupBytes && messages < sizes.pageGroupMessages) {
      const stretch = this.#next(nowMs);
      if (stretch === null) break;
      messages += this.#take(stretch);
      if (this.#loadingCount > 0) break;
    }
    if (this.#group.length === 0) return;
    const segment = segments.append(out.bytes, out.byteCount, this.#group.length);
    troubles.worked("pages");
    for (const draft of this.#group) {
      for (const page of draft.pages) {
        page.place.file = segment.file.number;
        page.place.offset += segment.offset;
      }
      draft.segment = segment;
      this.#drafts.push(draft);
    }
    this.#group.length = 0;
    if (out.bytes.length <= KEPT_BYTES_MAX) return;
    dropBytes(out.bytes);
    out.bytes = EMPTY_BYTES;
  }

  // Puts a stretch into the group, unless it cannot be written now. Returns how many messages were
  // looked at.
  #take(stretch: Stretch): number {
    const survey = this.#survey(stretch);
    const { count, bodyBytes, isHeld, missing, firstRef, firstPosition } = survey;
    // Large messages would make long turns. Their bodies are given up one by one instead.
    if (count === 0 || bodyBytes > this.#parts.sizes.pagedChunkBytesMax) {
      stretch.refuse(firstRef, firstPosition);
      return count;
    }
    if (missing.length > 0) {
      this.#loadMissing(stretch, missing);
      return count;
    }
    if (!stretch.begin()) return count;
    const draft: Draft = {
      stretch,
      pages: [],
      runs: [],
      bytes: stretch.memoryBytes,
      messages: 0,
      segment: null,
      isLogged: isHeld,
      isDelayed: this.#parts.retryQueues.has(stretch.source),
    };
    this.#encode(draft);
    this.#inFlight(draft, 1);
    this.#group.push(draft);
    return count;
  }

  #inFlight({ bytes, messages, isDelayed }: Draft, sign: 1 | -1): void {
    this.#inFlightBytes += sign * bytes;
    if (isDelayed) this.#inFlightDelayed += sign * messages;
  }

  #survey(stretch: Stretch): Survey {
    const { arena, holdings } = this.#parts;
    const { queueId } = stretch.source;
    const view = this.#view;
    const survey: Survey = {
      count: 0,
      bodyBytes: 0,
      isHeld: false,
      missing: [],
      firstRef: 0,
      firstPosition: 0,
    };
    stretch.each(({ ref, position }) => {
      if (survey.count++ === 0) {
        survey.firstRef = ref;
        survey.firstPosition = position;
      }
      arena.describe(ref, view);
      survey.bodyBytes += view.bodyEnd - view.bodyStart;
      // Only durable queues have holdings. They keep all their persistent messages across a
      // restart.
      survey.isHeld ||= holdings.find(ref, queueId) !== NO_HOLDING;
      if (!arena.isResident(ref)) survey.missing.push({ ref, position });
    });
    return survey;
  }

  #loadMissing(stretch: Stretch, missing: Survey["missing"]): void {
    this.#loadingCount += missing.length;
    for (const { ref, position } of missing) {
      this.#parts.load(ref, (error) => {
        this.#loadingCount--;
        if (error !== null) stretch.refuse(ref, position);
        if (this.#loadingCount === 0) this.grown(stretch.source);
      });
    }
  }

  #encode(draft: Draft): void {
    const { arena, sizes } = this.#parts;
    const writer = this.#writer;
    const view = this.#view;
    writer.begin();
    draft.stretch.each((message) => {
      assert(arena.open(message.ref, view), "a record to be written is not in memory");
      const recordBytes = view.bodyEnd - view.addressStart;
      if (writer.count > 0 && writer.byteCount + recordBytes > sizes.pageBytes) {
        this.#endPage(draft);
      }
      writer.add(message, view);
    });
    if (writer.count > 0) this.#endPage(draft);
  }

  #endPage(draft: Draft): void {
    const writer = this.#writer;
    const out = this.#out;
    const { source } = draft.stretch;
    const { count, bodyBytes, persistentCount } = writer;
    const offset = out.byteCount;
    const indexEnd = writer.finish(source.queueId, out);
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
      delays: writer.delays,
    };
    draft.pages.push(new Page(source, place, { count, bodyBytes, hasTransient: true }));
    draft.runs.push(writer.runs);
    draft.messages += count;
    draft.bytes += place.byteLength + count * (REFERENCE_BYTES + (isLogged ? HOLDING_BYTES : 0));
    writer.begin();
  }

  // --- when they are safe

  #commitSafe(): boolean {
    const { segments } = this.#parts;
    let messages = 0;
    let done = 0;
    for (const draft of this.#drafts) {
      if (!segments.isDecided(draft.segment!)) break;
      if (messages > 0 && messages + draft.messages > COMMITTED_PER_STEP_MAX) break;
      done++;
      messages += draft.messages;
      this.#settle(draft);
    }
    if (done > 0) this.#drafts.splice(0, done);
    const next = this.#drafts[0];
    return done > 0 && next !== undefined && segments.isDecided(next.segment!);
  }

  #settle(draft: Draft): void {
    const { segments } = this.#parts;
    const { stretch } = draft;
    const segment = draft.segment!;
    this.#inFlight(draft, -1);
    if (!segments.isVoid(segment) && stretch.isWhole()) this.#commit(draft);
    else this.#abandon(stretch);
    segments.end(segment);
  }

  #abandon(stretch: Stretch): void {
    stretch.abandon();
    this.grown(stretch.source);
  }

  #commit({ stretch, pages, runs }: Draft): void {
    const { log, pages: all, release } = this.#parts;
    const { queueId } = stretch.source;
    for (const [index, page] of pages.entries()) {
      all.add(page);
      if (page.isLogged) log.batch.paged(queueId, page.place, runs[index]!);
    }
    stretch.each(({ ref }) => release(ref, queueId));
    stretch.pagedOut(pages);
  }

  #failed(error: DiskError, nowMs: number): void {
    for (const draft of this.#group.splice(0)) {
      this.#inFlight(draft, -1);
      this.#abandon(draft.stretch);
    }
    this.#retryAtMs = nowMs + RETRY_MS;
    this.#parts.troubles.failed("pages", "write pages", error);
  }
}
