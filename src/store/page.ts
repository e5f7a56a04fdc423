// A page: messages of one queue that are on a disk only, and the facts in memory about them. A page
// holds adjacent ready messages, which a lane keeps between its chunks, or delayed messages that
// wake at about the same time. The pager writes pages and the page loader reads them. A page knows
// where it lies and never reads anything itself.

import type { ReadWaiter } from "./read_waiter.ts";

/**
 * Bytes of memory that a delayed message takes beside its record: its row, its timer, its delay.
 */
export const DELAYED_BYTES = 88;
/** Bytes of memory that a page takes. */
export const PAGE_BYTES = 400;

/** The place and content of a page. The log says the same about it. */
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
  /** Messages in the page that come back after a restart. */
  count: number;
  /** Bytes of the bodies of these messages. */
  bodyBytes: number;
  /** No ready message in the page expires before this, ms. */
  expiryMinMs: number;
  /** Null for a page of ready messages. */
  delays: PageDelays | null;
}

/** Facts about the delayed messages in a page. */
export interface PageDelays {
  /** No message in the page is due or expires before this, ms. */
  wakeMinMs: number;
  /** Every message in the page is due or expires by this time, ms. */
  wakeMaxMs: number;
  /** The highest delay number in the page. */
  lastNumber: number;
}

/** State of a page: on disk only. */
export const PAGE_STORED = 0;
/** State of a page: being read. */
export const PAGE_LOADING = 1;
/** State of a page: its messages are in memory again, or gone. */
export const PAGE_GONE = 2;

/** The owner of a page: a lane, or the delayed messages of a queue. */
export interface PageOwner {
  readonly queueId: number;
  /** Takes a page from before the start of the node. */
  pushPage(page: Page): void;
  /**
   * Takes the messages of a page, which are in memory again. `isAhead`: they are the next to be
   * delivered.
   */
  pagedIn(page: Page, loaded: LoadedMessages, isAhead: boolean): void;
}

/** A page that its owner holds. */
export class Page {
  readonly owner: PageOwner;
  readonly place: PagePlace;
  /**
   * All messages in the page. Only a page that this start of the node has written has transient
   * ones.
   */
  readonly count: number;
  readonly bodyBytes: number;
  /** Whether `count` includes messages that do not survive a restart. */
  readonly hasTransient: boolean;
  /** `PAGE_STORED`, `PAGE_LOADING` or `PAGE_GONE`. */
  state = PAGE_STORED;
  /** What stands for the page in its lane, which alone knows it. */
  chunk: object | null = null;
  /** The queue, which is told when the page has been read. */
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

  /** Whether the log knows the page. */
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
  /** The time at which each message expires in its queue, ms; Infinity when it does not. */
  readonly endsMs: Float64Array;
  /** The time at which each delay ends, ms; 0 for a ready message. */
  readonly duesMs: Float64Array;
  /** The number of each delay; 0 for a ready message. */
  readonly delayNumbers: Float64Array;
}

/** A message that is being written to a page. */
export interface PagedMessage {
  ref: number;
  position: number;
  entry: number;
  /** The time at which the message expires in its queue, ms; Infinity when it does not. */
  endMs: number;
  /** The time at which its delay ends, ms; 0 for a ready message. */
  dueMs: number;
  delayNumber: number;
}

/** Returns an empty message, to be filled in. */
export function emptyPagedMessage(): PagedMessage {
  return { ref: 0, position: 0, entry: 0, endMs: Infinity, dueMs: 0, delayNumber: 0 };
}

/** A message of a page as `peek` shows it. */
export interface PeekedMessage {
  readonly entry: number;
  readonly bodyBytes: number;
  readonly arrivalMs: number;
  /** The time at which the message expires in its queue, ms; Infinity when it does not. */
  readonly endMs: number;
  /** The time at which its delay ends, ms. */
  readonly dueMs: number;
  readonly delayNumber: number;
  /** Bytes in which its address is; null when only the index was asked for, or the rest is damaged. */
  readonly bytes: Uint8Array | null;
  readonly addressStart: number;
  readonly addressEnd: number;
}

/** Who looks at the messages of a page. */
export interface PageVisitor {
  /** Whether the addresses of the messages are wanted. The whole page is read for them. */
  readonly wantsAddresses: boolean;
  /** Called for each message in the page. The object is reused. */
  visit(message: PeekedMessage): void;
  /** Called at the end, also when the page has gone or cannot be read. */
  ended(): void;
}

/**
 * Messages that may be written to pages together. They stay where they are meanwhile. If any of
 * them has left before the pages are safe, the pages do not count.
 */
export interface Stretch {
  readonly source: PageSource;
  /** Bytes of memory that become free with the stretch, beside those of its records. */
  readonly memoryBytes: number;
  /** Visits the messages by rising position. The object is reused. */
  each(visit: (message: PagedMessage) => void): void;
  /** Marks the stretch as being written; false when it has changed since it was found. */
  begin(): boolean;
  /** Whether all messages are still as they were at `begin`. */
  isWhole(): boolean;
  /** Ends the writing without a result: the stretch may be found again. */
  abandon(): void;
  /**
   * Marks the stretch as unwritable because of one message, as long as that message is in it.
   * Reference 0: because the stretch is empty.
   */
  refuse(ref: number, position: number): void;
  /** Replaces the messages by `pages`, which hold all of them. */
  pagedOut(pages: readonly Page[]): void;
}

/** An owner of messages that may be written to pages. */
export interface PageSource extends PageOwner {
  /** Memory of the source, in pages. The source with the most gives up messages first. */
  readonly chunkCount: number;
  /** Returns up to `max` stretches that are needed last, in the order in which to write them. */
  coldStretches(max: number, nowMs: number): Stretch[];
  /**
   * Returns any stretch of at least `messagesMin` messages, for a source without a cold one; or
   * null.
   */
  spareStretch(messagesMin: number, nowMs: number): Stretch | null;
}

/** The part of a store that owners of pages use. */
interface Pages {
  /** Reads a page, unless it is being read already. `pagedIn` follows in a later turn. */
  load(page: Page, isAhead: boolean): void;
  /** Drops a page that its owner has given up without reading it. */
  drop(page: Page): void;
  /** Is told that a source has more in memory than is needed next. */
  grown(source: PageSource): void;
}

/** The part of a store that a lane with pages uses. */
export interface LanePages extends Pages {
  /**
   * Bytes of pages that were read ahead and that no head has passed yet. All lanes count into it.
   */
  aheadBytes: number;
  /** The most bytes that may be read ahead. */
  readonly aheadBytesMax: number;
}

/** The part of a store that the delayed messages of a queue use, if it pages. */
export interface DelayedPages extends Pages {
  /** Delayed messages in memory. All queues count into it. */
  delayedCount: number;
  /** The most messages in a page. */
  readonly messagesMax: number;
  /** The most bytes of bodies in a page. */
  readonly bodyBytesMax: number;
  /** How long before the first of its messages wakes a page is read, ms. */
  readonly leadMs: number;
  /**
   * Shows the messages of a page, which stays where it is. This happens between turns or, when the
   * file cannot be opened, at once.
   */
  peek(page: Page, visitor: PageVisitor): void;
  /** Registers a source that may have messages to write. */
  open(source: PageSource): void;
  close(source: PageSource): void;
}
