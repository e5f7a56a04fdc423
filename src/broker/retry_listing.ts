// The delayed messages of a queue as an operator sees them (docs/automatic-retries.md "For operators").
// Management calls it within a turn; nothing here changes a message or its timer.

import { decodeText } from "../lib/text.ts";
import type { RecordView } from "../store/port.ts";
import { emptyView } from "../store/views.ts";
import { ENTRY_COUNT_MASK } from "../store/port.ts";
import type { Queue } from "./queue.ts";
import { compareRetries, type FoundRetry, RetryScan } from "./retry_scan.ts";

/** One delayed message. */
export interface RetryInfo {
  /** Number of the delay, which names the message while it is delayed. */
  readonly id: number;
  /** Broker time at which the message goes back to the queue, ms. */
  readonly dueMs: number;
  /** Deliveries spent so far. */
  readonly attempts: number;
  /** Bytes of its body. */
  readonly bodyBytes: number;
  /** Null while the record is not in memory. */
  readonly exchange: string | null;
  /** Null while the record is not in memory. */
  readonly routingKey: string | null;
  /** Time since the message arrived, ms. */
  readonly ageMs: number;
  /** Broker time at which the message expires, ms; Infinity if never. */
  readonly expiryMs: number;
}

/** Returns the first `limit` delayed messages of a queue, the next due first, in a single step. */
export function listRetries(queue: Queue, limit: number): RetryInfo[] {
  if (queue.retries === null) return [];
  const scan = new RetryScan(queue.broker.delayedTable, queue.retries.delayed, limit);
  while (!scan.step(Infinity));
  const found = scan.found.sort(compareRetries);
  return describeRetries(queue, found);
}

/** Describes the messages that a scan has found. Messages that have left since are omitted. */
export function describeRetries(queue: Queue, found: readonly FoundRetry[]): RetryInfo[] {
  const view = emptyView();
  const { delayedTable } = queue.broker;
  return found
    .filter(({ row, number }) =>
      queue.retries!.delayed.holds(row) && delayedTable.numberAt(row) === number
    )
    .map((retry) => describeRetry(queue, retry, view));
}

function describeRetry(queue: Queue, retry: FoundRetry, view: RecordView): RetryInfo {
  const { store, nowMs, delayedTable } = queue.broker;
  const { row } = retry;
  const ref = delayedTable.refAt(row);
  store.describe(ref, view);
  const isResident = store.open(ref, view);
  const keyAt = view.addressStart + 1 + (isResident ? view.bytes[view.addressStart]! : 0);
  return {
    id: retry.number,
    dueMs: retry.dueMs,
    attempts: delayedTable.entryAt(row) & ENTRY_COUNT_MASK,
    bodyBytes: delayedTable.bodyBytesAt(row),
    exchange: isResident ? decodeText(view.bytes, view.addressStart + 1, keyAt) : null,
    routingKey: isResident ? decodeText(view.bytes, keyAt + 1, view.addressEnd) : null,
    ageMs: Math.max(0, Math.floor(nowMs - view.arrivalMs)),
    expiryMs: queue.expiryOf(view),
  };
}
