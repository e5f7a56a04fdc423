// Puts together what pages need: who writes them, who reads them, which there are. FileStore makes one
// and gives it to its lanes; Keeper has it work once a turn. It decides nothing itself.

import type { Logger } from "../../lib/logger.ts";
import type { Arena } from "../arena.ts";
import type { Lane } from "../lane.ts";
import type { ChunkPool } from "../lane_chunk.ts";
import { type LanePages, Page, type PagePlace } from "../page.ts";
import type { CommitLog } from "./commit_log.ts";
import type { DataFile, DataFiles } from "./data_files.ts";
import type { Holdings } from "./holdings.ts";
import { PageLoader } from "./page_loader.ts";
import { PageMover } from "./page_mover.ts";
import { PageSet } from "./page_set.ts";
import { Pager } from "./pager.ts";
import { SegmentWriter } from "./segment_writer.ts";
import type { StoreSizes } from "./sizes.ts";

// Of the memory that may be in use, what is read before it is needed.
const AHEAD_PART = 4;

/** What a {@link Paging} is made of. */
export interface PagingParts {
  options: { logger: Logger; residentBytesMax: number; isSynced: boolean };
  sizes: StoreSizes;
  seed: number;
  files: DataFiles;
  log: CommitLog;
  arena: Arena;
  holdings: Holdings;
  chunks: ChunkPool;
  lanes: ReadonlyMap<number, Lane>;
  laneBytes: () => number;
  release: (ref: number, queueId: number) => void;
  load: (ref: number, done: (error: Error | null) => void) => void;
  emptied: (file: DataFile) => void;
  wake: () => void;
}

/** The pages of one store. */
export class Paging implements LanePages {
  readonly pages: PageSet;
  readonly segments: SegmentWriter;
  readonly mover: PageMover;
  aheadBytes = 0;
  readonly aheadBytesMax: number;
  readonly #loader: PageLoader;
  readonly #pager: Pager;

  constructor(parts: PagingParts) {
    const { files, options, sizes, emptied, wake, log } = parts;
    this.aheadBytesMax = options.residentBytesMax / AHEAD_PART;
    const failed = (what: string, error: Error) => {
      options.logger.log("error", `cannot ${what}`, { error: error.message });
    };
    this.pages = new PageSet(files, emptied);
    this.segments = new SegmentWriter({
      files,
      isSynced: options.isSynced,
      fileBytesMax: sizes.segmentFileBytes,
      wake,
      closed: (file) => {
        if (file.liveRecords === 0) emptied(file);
      },
      failed,
    });
    const common = { ...parts, pages: this.pages, segments: this.segments, failed };
    this.#loader = new PageLoader(common);
    this.#pager = new Pager(common);
    this.mover = new PageMover({
      files,
      log,
      pages: this.pages,
      segments: this.segments,
      sizes,
      wake,
    });
  }

  /** Whether memory is being freed by writing pages. */
  get isBusy(): boolean {
    return this.#pager.isBusy;
  }

  /** Whether records are being read to be written to pages. */
  get isLoading(): boolean {
    return this.#pager.isLoading;
  }

  /** Does a bounded piece; true when more can be done at once. */
  step(nowMs: number, mayWrite: boolean): boolean {
    this.#loader.step();
    this.segments.closeDead();
    return this.#pager.step(nowMs, mayWrite);
  }

  /** Takes over a page that recovery found. */
  adopt(lane: Lane, place: PagePlace): void {
    const { count, bodyBytes } = place;
    const page = new Page(lane, place, { count, bodyBytes, hasTransient: false });
    this.pages.add(page);
    lane.pushPage(page);
  }

  /** Ends it; nothing that is under way counts any more. */
  close(): void {
    this.#loader.close();
    this.segments.close();
  }

  // --- what lanes ask for

  load(page: Page, isAhead: boolean): void {
    this.#loader.load(page, isAhead);
  }

  drop(page: Page): void {
    this.pages.remove(page);
  }

  grown(lane: Lane): void {
    this.#pager.grown(lane);
  }
}
