// A page: messages of one queue that are on a disk only, and what is known of them in memory. Adjacent
// ready messages, which a lane keeps between its chunks, or delayed ones that wake at about the same
// time. The pager writes pages, the page loader reads them; a page knows where it lies and never reads
// anything itself.

import type { LaneChunk } from "./lane_chunk.ts";
import type { ReadWaiter } from "./port.ts";

/** What a delayed message takes of memory beside its record: its row, its timer, its delay. */
export const DELAYED_BYTES = 88;
/** What a page takes of memory. */
export const PAGE_BYTES = 400;

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
  /** No ready message in it expires before this. */
  expiryMinMs: number;
  /** Null for a page of ready messages. */
  delays: PageDelays | null;
}

/** What is known of delayed messages in a page. */
export interface PageDelays {
  /** None of them is due or expires before this, */
  wakeMinMs: number;
  /** and none after this. */
  wakeMaxMs: number;
  /** No delay of theirs has a higher number. */
  lastNumber: number;
}

/** It is on disk only. */
export const PAGE_STORED = 0;
/** It is being read. */
export const PAGE_LOADING = 1;
/** Its messages are in memory again, or gone. */
export const PAGE_GONE = 2;

/** Whose messages are in a page: a lane, or the delayed messages of a queue. */
export interface PageOwner {
  readonly queueId: number;
  /** Takes a page that was there before the node started. */
  pushPage(page: Page): void;
  /** The messages of a page are in memory again. `isAhead`: they are the next to be delivered. */
  pagedIn(page: Page, loaded: LoadedMessages, isAhead: boolean): void;
}

/** A page that its owner holds. */
export class Page {
  readonly owner: PageOwner;
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
    owner: PageOwner,
    place: PagePlace,
    held: { count: number; bodyBytes: number; hasTransient: boolean },
  ) {
    this.owner = owner;
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

/** The messages of a page that has been read, by rising position; each has a body reference. */
export interface LoadedMessages {
  readonly count: number;
  readonly refs: Uint32Array;
  readonly positions: Float64Array;
  readonly entries: Uint32Array;
  readonly bodyBytes: Uint32Array;
  /** When each expires in its queue; Infinity when it does not. */
  readonly endsMs: Float64Array;
  /** When each delay ends, */
  readonly duesMs: Float64Array;
  /** and its number; 0 where nothing is delayed. */
  readonly delayNumbers: Float64Array;
}

/** A message on its way into a page. */
export interface PagedMessage {
  ref: number;
  position: number;
  entry: number;
  /** When it expires in its queue; Infinity when it does not. */
  endMs: number;
  /** When its delay ends, and the number of that; 0 for a ready one. */
  dueMs: number;
  delayNumber: number;
}

/** A message to be filled in. */
export function emptyPagedMessage(): PagedMessage {
  return { ref: 0, position: 0, entry: 0, endMs: Infinity, dueMs: 0, delayNumber: 0 };
}

/**
 * Messages that may be written to pages together. They stay where they are meanwhile: if any of them has
 * left before the pages are safe, what was written does not count.
 */
export interface Stretch {
  readonly source: PageSource;
  /** Memory that is free when it is gone, beside that of records, bytes. */
  readonly memoryBytes: number;
  /** Visits its messages by rising position; the object is reused. */
  each(visit: (message: PagedMessage) => void): void;
  /** It is being written from now on; false when it is not what it was when it was found. */
  begin(): boolean;
  /** Whether its messages are all as they were when it began. */
  isWhole(): boolean;
  /** It was not written, or for nothing: it may be found again. */
  abandon(): void;
  /**
   * It cannot be written because of a message, if that is still there: not to be found again. Reference
   * 0: because it is empty.
   */
  refuse(ref: number, position: number): void;
  /** Its messages are in `pages`, and those have all of them. */
  pagedOut(pages: readonly Page[]): void;
}

/** Has messages that may be written to pages. */
export interface PageSource extends PageOwner {
  /** How much of it is in memory, in pages; who has most gives up some first. */
  readonly chunkCount: number;
  /** Up to `max` stretches that are needed last, in the order in which to write them. */
  coldStretches(max: number, nowMs: number): Stretch[];
  /** Any stretch of at least `messagesMin` messages, for a source that has no cold one; or null. */
  spareStretch(messagesMin: number, nowMs: number): Stretch | null;
}

/** What an owner of pages asks of its store. */
export interface Pages {
  /** Reads a page, if it is not being read already; `pagedIn` follows in a later turn. */
  load(page: Page, isAhead: boolean): void;
  /** The owner has given a page up without reading it. */
  drop(page: Page): void;
  /** The source has more in memory than is needed next. */
  grown(source: PageSource): void;
}

/** What a lane that pages asks of its store. */
export interface LanePages extends Pages {
  /** Bytes of pages read ahead that no head has passed yet, over all lanes, which count them. */
  aheadBytes: number;
  /** More than this is not read ahead. */
  readonly aheadBytesMax: number;
}

/** What the delayed messages of a queue ask of a store that pages. */
export interface DelayedPages extends Pages {
  /** Delayed messages in memory, over all queues, which count them. */
  delayedCount: number;
  /** Messages in a page, */
  readonly messagesMax: number;
  /** and bytes of their bodies. */
  readonly bodyBytesMax: number;
  /** A page is read so long before the first of its messages wakes, ms. */
  readonly leadMs: number;
  /** The source may have something to write. */
  open(source: PageSource): void;
  close(source: PageSource): void;
}
