// The pages of a queue's delayed messages. Memory holds one object for each page, and one timer for all
// of them, which has the next page read some time before its first message wakes. A page that cannot be
// read is tried again later, and no message waits for it. RetryQueue takes the messages that were read.

import type { DelayedPages, Page, PageDelays, PageVisitor } from "../../store/page.ts";
import type { Timer } from "../timers.ts";

const RETRY_MS = 60_000;

/** The parts of {@link RetryPages}. */
export interface RetryPagesParts {
  readonly pages: DelayedPages;
  /** Makes the one timer of the pages. */
  makeTimer(callback: () => void): Timer;
  /** Broker time, ms. */
  nowMs(): number;
  /** Called when messages that waited for a page need not wait for it any more. */
  onChange(): void;
}

interface StoredPage {
  readonly page: Page;
  readonly delays: PageDelays;
  /** When the page is to be read, broker time in ms. */
  readAtMs: number;
  /** No message in the page is due after this time, ms; Infinity until somebody has looked. */
  dueMaxMs: number;
  /** Called when the page has been read, could not be read or was dropped. */
  onEnd: (() => void) | null;
}

/** The pages of one retry queue. */
export class RetryPages {
  readonly #parts: RetryPagesParts;
  /** Sorted so that the page to be read next is last. */
  #stored: StoredPage[] = [];
  /** The page that is being read. */
  #loading: StoredPage | null = null;
  #timer: Timer | null = null;

  constructor(parts: RetryPagesParts) {
    this.#parts = parts;
  }

  /** Number of pages on disk. */
  get count(): number {
    return this.#stored.length + (this.#loading === null ? 0 : 1);
  }

  /** Number of messages in the pages. */
  get messageCount(): number {
    let count = 0;
    for (const { page } of this.#all()) count += page.count;
    return count;
  }

  /** No message in the pages wakes before this time, ms; Infinity when there is none. */
  get firstMs(): number {
    let firstMs = Infinity;
    for (const { delays } of this.#all()) firstMs = Math.min(firstMs, delays.wakeMinMs);
    return firstMs;
  }

  /** No message in the pages wakes after this time, ms; -Infinity when there is none. */
  get lastMs(): number {
    let lastMs = -Infinity;
    for (const { delays } of this.#all()) lastMs = Math.max(lastMs, delays.wakeMaxMs);
    return lastMs;
  }

  *#all(): Generator<StoredPage> {
    yield* this.#stored;
    if (this.#loading !== null) yield this.#loading;
  }

  /** No message of a page that is being read, or is about to be, wakes before this time, ms. */
  get expectedMs(): number {
    let expectedMs = this.#loading?.delays.wakeMinMs ?? Infinity;
    // Pages that somebody wants earlier stand before the one in which messages wake next.
    for (let index = this.#stored.length - 1; index >= 0; index--) {
      const { readAtMs, delays } = this.#stored[index]!;
      if (readAtMs > this.#parts.nowMs()) break;
      expectedMs = Math.min(expectedMs, delays.wakeMinMs);
      if (readAtMs > -Infinity) break;
    }
    return expectedMs;
  }

  /** Adds a page that has been written, or was on disk before the node started. */
  add(page: Page): void {
    const delays = page.place.delays!;
    this.#insert({
      page,
      delays,
      readAtMs: delays.wakeMinMs - this.#parts.pages.leadMs,
      dueMaxMs: Infinity,
      onEnd: null,
    });
    this.#setTimer();
  }

  /**
   * Returns a page that may have messages that are due between two times, and is not in `looked`; null
   * when there is none. Messages are due when they wake, unless they expire earlier. So a page in which
   * messages wake between the times comes before others, and of these the earliest.
   */
  between(fromMs: number, untilMs: number, looked: ReadonlySet<Page>): Page | null {
    let best: StoredPage | null = null;
    for (const stored of this.#all()) {
      const { page, delays, dueMaxMs } = stored;
      if (delays.wakeMinMs > untilMs || dueMaxMs < fromMs || looked.has(page)) continue;
      if (best === null || isBefore(delays, best.delays, fromMs)) best = stored;
    }
    return best === null ? null : best.page;
  }

  /** Shows the messages of a page, and remembers when the last of them is due. */
  peek(page: Page, visitor: PageVisitor): void {
    let dueMaxMs = -Infinity;
    this.#parts.pages.peek(page, {
      wantsAddresses: visitor.wantsAddresses,
      visit: (message) => {
        dueMaxMs = Math.max(dueMaxMs, message.dueMs);
        visitor.visit(message);
      },
      ended: () => {
        const stored = this.#find(page);
        if (stored !== null && dueMaxMs > 0) stored.dueMaxMs = dueMaxMs;
        visitor.ended();
      },
    });
  }

  #find(page: Page): StoredPage | null {
    for (const stored of this.#all()) if (stored.page === page) return stored;
    return null;
  }

  /**
   * Has a page read at the next turn, whatever wakes in it. `done` is called when its messages are in
   * memory, when it could not be read, or when it was dropped. Returns false when the page has gone.
   */
  hurry(page: Page, done: () => void): boolean {
    const stored = this.#find(page);
    if (stored === null) return false;
    const others = stored.onEnd;
    stored.onEnd = others === null ? done : () => (others(), done());
    if (stored === this.#loading || stored.readAtMs === -Infinity) return true;
    this.#stored.splice(this.#stored.indexOf(stored), 1);
    stored.readAtMs = -Infinity;
    this.#insert(stored);
    this.#setTimer();
    return true;
  }

  #insert(stored: StoredPage): void {
    let low = 0;
    let high = this.#stored.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#stored[middle]!.readAtMs > stored.readAtMs) low = middle + 1;
      else high = middle;
    }
    this.#stored.splice(low, 0, stored);
  }

  /** Drops every page. */
  clear(): void {
    const dropped = [...this.#all()];
    this.#stored = [];
    this.#loading = null;
    this.#timer?.stop();
    for (const stored of dropped) {
      this.#parts.pages.drop(stored.page);
      tellEnd(stored);
    }
  }

  #setTimer(): void {
    const next = this.#stored.at(-1);
    if (next === undefined || this.#loading !== null) {
      this.#timer?.stop();
      return;
    }
    this.#timer ??= this.#parts.makeTimer(() => this.#read(this.#stored.pop()!));
    this.#timer.set(next.readAtMs);
  }

  #read(stored: StoredPage): void {
    const { page } = stored;
    this.#loading = stored;
    page.waiter = {
      readArrived: () => this.#ended(stored, false),
      readFailed: () => this.#ended(stored, true),
    };
    this.#parts.pages.load(page, false);
  }

  #ended(stored: StoredPage, hasFailed: boolean): void {
    // The pages may have been cleared meanwhile.
    if (this.#loading !== stored) return;
    this.#loading = null;
    if (hasFailed) {
      const { pages, nowMs } = this.#parts;
      const againMs = nowMs() + RETRY_MS;
      stored.readAtMs = Math.max(againMs, stored.delays.wakeMinMs - pages.leadMs);
      this.#insert(stored);
    }
    this.#setTimer();
    this.#parts.onChange();
    tellEnd(stored);
  }
}

function tellEnd(stored: StoredPage): void {
  const { onEnd } = stored;
  stored.onEnd = null;
  onEnd?.();
}

function isBefore(a: PageDelays, b: PageDelays, fromMs: number): boolean {
  const isPast = a.wakeMaxMs < fromMs;
  if (isPast !== b.wakeMaxMs < fromMs) return !isPast;
  return a.wakeMinMs < b.wakeMinMs;
}
