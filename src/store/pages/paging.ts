// Puts the parts of paging together: the pager, the page loader, the page mover and the set of
// pages. FileStore makes one and gives it to its lanes and the broker's retry queues. Keeper calls
// it once a turn. It decides nothing itself.

import type { Logger } from "../../lib/logger.ts";
import type { Arena } from "../memory/arena.ts";
import type { Lane } from "../memory/lane.ts";
import {
  type DelayedPages,
  type LanePages,
  Page,
  type PageOwner,
  type PagePlace,
  type PageSource,
  type PageVisitor,
} from "../page.ts";
import type { CommitLog } from "../log/commit_log.ts";
import type { DataFile, DataFiles } from "../folder/data_files.ts";
import type { Holdings } from "../live/holdings.ts";
import { PageLoader } from "./page_loader.ts";
import { PageCopies } from "./page_copies.ts";
import { PagePeek } from "./page_peek.ts";
import { PageSet } from "./page_set.ts";
import { Pager } from "./pager.ts";
import { SegmentWriter } from "../folder/segment_writer.ts";
import type { StoreSizes } from "../folder/sizes.ts";
import type { Troubles } from "../folder/troubles.ts";

// Pages that are read ahead may take a quarter of the memory that may be in use (memory / 4).
const AHEAD_PART = 4;

/** The parts of a {@link Paging}. */
export interface PagingParts {
  options: { logger: Logger; residentBytesMax: number; isSynced: boolean };
  troubles: Troubles;
  sizes: StoreSizes;
  seed: number;
  files: DataFiles;
  log: CommitLog;
  arena: Arena;
  holdings: Holdings;
  lanes: ReadonlyMap<number, Lane>;
  laneBytes: () => number;
  release: (ref: number, queueId: number) => void;
  load: (ref: number, done: (error: Error | null) => void) => void;
  emptied: (file: DataFile) => void;
  wake: () => void;
}

/** The pages of one store. */
export class Paging implements LanePages, DelayedPages {
  readonly pages: PageSet;
  readonly segments: SegmentWriter;
  /** What keeper copies out of a file that it empties. */
  readonly copies: PageCopies;
  aheadBytes = 0;
  readonly aheadBytesMax: number;
  delayedCount = 0;
  readonly messagesMax: number;
  readonly bodyBytesMax: number;
  readonly leadMs: number;
  readonly #retryQueues = new Set<PageSource>();
  readonly #loader: PageLoader;
  readonly #pager: Pager;
  readonly #peek: PagePeek;

  constructor(parts: PagingParts) {
    const { files, options, sizes, emptied, wake, log } = parts;
    this.aheadBytesMax = options.residentBytesMax / AHEAD_PART;
    this.messagesMax = sizes.laneSlots;
    this.bodyBytesMax = sizes.pagedChunkBytesMax;
    this.leadMs = sizes.delayedLeadMs;
    const failed = (what: string, error: Error) => {
      options.logger.log("error", `cannot ${what}`, { error: error.message });
    };
    this.pages = new PageSet(files, emptied);
    this.#peek = new PagePeek(files, parts.seed);
    this.segments = new SegmentWriter({
      files,
      fileBytesMax: sizes.segmentFileBytes,
      wake,
      emptied,
      failed,
    });
    const common = { ...parts, pages: this.pages, segments: this.segments, failed };
    this.#loader = new PageLoader(common);
    this.#pager = new Pager({
      ...common,
      retryQueues: this.#retryQueues,
      delayedCount: () => this.delayedCount,
    });
    this.copies = new PageCopies({ files, log, pages: this.pages, sizes, wake });
  }

  /** Whether memory is being freed by writing pages. */
  get isBusy(): boolean {
    return this.#pager.isBusy;
  }

  /** Bytes of memory that messages outside of pages need. */
  get usedBytes(): number {
    return this.#pager.usedBytes;
  }

  /** Whether records are being read to be written to pages. */
  get isLoading(): boolean {
    return this.#pager.isLoading;
  }

  /** Does a bounded piece of the work; true when more can be done at once. */
  step(nowMs: number, mayWrite: boolean): boolean {
    this.#loader.step();
    this.segments.closeDead();
    return this.#pager.step(nowMs, mayWrite);
  }

  /** Takes over a page that recovery found. */
  adopt(owner: PageOwner, place: PagePlace): void {
    const { count, bodyBytes } = place;
    const page = new Page(owner, place, { count, bodyBytes, hasTransient: false });
    this.pages.add(page);
    owner.pushPage(page);
  }

  /** Ends paging. Work that is under way does not count any more. */
  end(): void {
    this.#loader.close();
    this.#peek.close();
    this.segments.close();
  }

  // --- what lanes and retry queues ask for

  load(page: Page, isAhead: boolean): void {
    this.#loader.load(page, isAhead);
  }

  peek(page: Page, visitor: PageVisitor): void {
    this.#peek.peek(page, visitor);
  }

  drop(page: Page): void {
    this.pages.remove(page);
  }

  grown(source: PageSource): void {
    this.#pager.grown(source);
  }

  open(source: PageSource): void {
    this.#retryQueues.add(source);
  }

  close(source: PageSource): void {
    this.#retryQueues.delete(source);
    this.#pager.closed(source);
  }
}
