// The delayed messages of a queue as an operator sees them (docs/automatic-retries.md "For operators"),
// wherever they are. Management calls it within a turn; nothing here changes a message or its timer.

import { decodeText } from "../../lib/text.ts";
import type { Page, PeekedMessage } from "../../store/page.ts";
import { ENTRY_COUNT_MASK, type RecordView } from "../../store/port.ts";
import { emptyView } from "../../store/views.ts";
import type { RetriedQueue } from "./home.ts";
import { formatRetryName, type RetryName } from "./name.ts";
import type { FoundRetry } from "./scan.ts";

/** One delayed message. */
export interface RetryInfo {
  /** Names the message while it is delayed. */
  readonly id: string;
  /** Broker time at which the message goes back to the queue, ms. */
  readonly dueMs: number;
  /** Deliveries spent so far. */
  readonly attempts: number;
  /** Bytes of its body. */
  readonly bodyBytes: number;
  /** Null when the record cannot be read. */
  readonly exchange: string | null;
  /** Null when the record cannot be read. */
  readonly routingKey: string | null;
  /** Time since the message arrived, ms. */
  readonly ageMs: number;
  /** Broker time at which the message expires, ms; Infinity if never. */
  readonly expiryMs: number;
}

/** Describes messages that a scan has found, as long as the scan has not ended. */
export class RetryListing {
  readonly #queue: RetriedQueue;
  readonly #found: readonly FoundRetry[];
  readonly #infos: (RetryInfo | null)[];
  readonly #view = emptyView();
  readonly #looked = new Set<Page>();
  readonly #requested = new Set<FoundRetry>();
  #next = 0;

  constructor(queue: RetriedQueue, found: readonly FoundRetry[]) {
    this.#queue = queue;
    this.#found = found;
    this.#infos = found.map(() => null);
  }

  /** The descriptions. Messages that have left meanwhile, or cannot be read, are omitted. */
  get infos(): RetryInfo[] {
    return this.#infos.filter((info) => info !== null);
  }

  /**
   * Describes messages until one has to be read first. Returns false then; `resume` is called when it
   * has been read: between turns or, when its file cannot be opened, at once.
   */
  step(resume: () => void): boolean {
    while (this.#next < this.#found.length) {
      if (!this.#describeNext(resume)) return false;
      this.#next++;
    }
    return true;
  }

  // Returns false when the next message is read first, once; `ended` is called then.
  #describeNext(ended: () => void): boolean {
    const found = this.#found[this.#next]!;
    if (this.#infos[this.#next] !== null) return true;
    if (found.page !== null && !this.#looked.has(found.page)) {
      this.#read(found.page, ended);
      return false;
    }
    if (!this.#queue.retries!.delayed.isHeld(found)) return true;
    const { store, delayedTable } = this.#queue.broker;
    const ref = delayedTable.refAt(found.row);
    store.describe(ref, this.#view);
    const isResident = store.open(ref, this.#view);
    if (!isResident && !this.#requested.has(found)) {
      this.#requested.add(found);
      store.request(ref, { readArrived: ended, readFailed: ended });
      return false;
    }
    this.#infos[this.#next] = this.#ofRow(found, isResident);
    return true;
  }

  #read(page: Page, ended: () => void): void {
    this.#looked.add(page);
    const wanted = new Map<number, number>();
    for (const [index, { page: its, number }] of this.#found.entries()) {
      if (its === page) wanted.set(number, index);
    }
    this.#queue.retries!.delayed.peek(page, {
      wantsAddresses: true,
      visit: (message) => {
        const index = wanted.get(message.delayNumber);
        if (index !== undefined) this.#infos[index] = this.#ofPage(this.#found[index]!, message);
      },
      ended,
    });
  }

  // Describes the message whose record the view shows.
  #ofRow(found: FoundRetry, isResident: boolean): RetryInfo {
    const { delayedTable } = this.#queue.broker;
    const view = this.#view;
    return {
      ...this.#common(found, view.arrivalMs),
      attempts: delayedTable.entryAt(found.row) & ENTRY_COUNT_MASK,
      bodyBytes: delayedTable.bodyBytesAt(found.row),
      ...addressOf(isResident ? view : null),
      expiryMs: this.#queue.expiryOf(view),
    };
  }

  #ofPage(found: FoundRetry, message: PeekedMessage): RetryInfo {
    const { bytes, addressStart, addressEnd, entry, bodyBytes, endMs } = message;
    return {
      ...this.#common(found, message.arrivalMs),
      attempts: entry & ENTRY_COUNT_MASK,
      bodyBytes,
      ...addressOf(bytes === null ? null : { bytes, addressStart, addressEnd }),
      expiryMs: endMs,
    };
  }

  #common(name: RetryName, arrivalMs: number): Pick<RetryInfo, "id" | "dueMs" | "ageMs"> {
    const ageMs = Math.max(0, Math.floor(this.#queue.broker.nowMs - arrivalMs));
    return { id: formatRetryName(name), dueMs: name.dueMs, ageMs };
  }
}

function addressOf(
  view: Pick<RecordView, "bytes" | "addressStart" | "addressEnd"> | null,
): Pick<RetryInfo, "exchange" | "routingKey"> {
  if (view === null) return { exchange: null, routingKey: null };
  const { bytes, addressStart, addressEnd } = view;
  const keyAt = addressStart + 1 + bytes[addressStart]!;
  return {
    exchange: decodeText(bytes, addressStart + 1, keyAt),
    routingKey: decodeText(bytes, keyAt + 1, addressEnd),
  };
}
