// A page: adjacent ready messages of one lane that are on a disk only, and what is known of them in
// memory. Lanes keep pages between their chunks, the pager writes and reads them; a page knows where it
// lies and never reads anything itself.

import type { Lane } from "./lane.ts";
import type { LaneChunk } from "./lane_chunk.ts";
import type { ReadWaiter } from "./port.ts";

/** Where a page lies and what is in it, as the log says it too. */
export interface PagePlace {
  file: number;
  offset: number;
  /** Bytes of the whole page. */
  byteLength: number;
  /** Bytes from its start to the end of its index. */
  indexEnd: number;
  /** Position of its first message. */
  first: number;
  /** Position of its last message. */
  last: number;
  /** Messages that come back after a restart, */
  count: number;
  /** and the bytes of their bodies. */
  bodyBytes: number;
  /** No message in it expires before this. */
  expiryMinMs: number;
}

/** It is on disk only. */
export const PAGE_STORED = 0;
/** It is being read. */
export const PAGE_LOADING = 1;
/** Its messages are in memory again, or gone. */
export const PAGE_GONE = 2;

/** A page that a lane holds. */
export class Page {
  readonly lane: Lane;
  readonly place: PagePlace;
  /** All messages in it; transient ones are in a page of this start of the node only. */
  readonly count: number;
  readonly bodyBytes: number;
  /** Whether messages that do not survive a restart are among `count`. */
  readonly hasTransient: boolean;
  /** `PAGE_STORED`, `PAGE_LOADING` or `PAGE_GONE`. */
  state = PAGE_STORED;
  /** The chunk that stands for it in its lane. */
  chunk: LaneChunk | null = null;
  /** Who is told when it has been read: its queue. */
  waiter: ReadWaiter | null = null;

  constructor(
    lane: Lane,
    place: PagePlace,
    held: { count: number; bodyBytes: number; hasTransient: boolean },
  ) {
    this.lane = lane;
    this.place = place;
    this.count = held.count;
    this.bodyBytes = held.bodyBytes;
    this.hasTransient = held.hasTransient;
  }

  /** Whether the log knows it. */
  get isLogged(): boolean {
    return this.place.count > 0;
  }
}

/** What a lane that pages asks of its store. */
export interface LanePages {
  /** Bytes of pages read ahead that no head has passed yet, over all lanes, which count them. */
  aheadBytes: number;
  /** More than this is not read ahead. */
  readonly aheadBytesMax: number;
  /**
   * Reads a page, if it is not being read already; `Lane.pagedIn` follows in a later turn. `isAhead`:
   * its messages are the next to be delivered.
   */
  load(page: Page, isAhead: boolean): void;
  /** The lane has given a page up without reading it. */
  drop(page: Page): void;
  /** The lane has more chunks than the next messages to deliver need. */
  grown(lane: Lane): void;
}
