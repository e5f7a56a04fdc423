// What an operator sees of the messages a queue holds back (docs/automatic-retries.md "For operators").
// Management asks within a turn; nothing here changes a message or its timer.

import { decodeText } from "../lib/text.ts";
import type { RecordView } from "../store/port.ts";
import { emptyView } from "../store/views.ts";
import { ENTRY_COUNT_MASK } from "../store/port.ts";
import type { DelayedMessage } from "./delayed_table.ts";
import type { Queue } from "./queue.ts";

/** One delayed message. */
export interface RetryInfo {
  /** Names the message as long as it is delayed. */
  readonly id: number;
  /** Broker time at which it comes back, ms. */
  readonly dueMs: number;
  /** Deliveries spent so far. */
  readonly attempts: number;
  /** Bytes of its body. */
  readonly bodyBytes: number;
  /** Null while the record is not in memory. */
  readonly exchange: string | null;
  /** Null while the record is not in memory. */
  readonly routingKey: string | null;
  /** Time since it arrived, ms. */
  readonly ageMs: number;
  /** Broker time at which it expires, ms; Infinity if never. */
  readonly expiryMs: number;
}

/** A page of the delayed messages of a queue, the next due first. */
export function listRetries(queue: Queue, offset: number, limit: number): RetryInfo[] {
  if (queue.retries === null) return [];
  const view = emptyView();
  return queue.retries.delayed.list(offset, limit).map((delay) =>
    describeRetry(queue, delay, view)
  );
}

function describeRetry(queue: Queue, delay: DelayedMessage, view: RecordView): RetryInfo {
  const { store, nowMs } = queue.broker;
  store.describe(delay.ref, view);
  const isResident = store.open(delay.ref, view);
  const keyAt = view.addressStart + 1 + (isResident ? view.bytes[view.addressStart]! : 0);
  return {
    id: delay.number,
    dueMs: delay.dueMs,
    attempts: delay.entry & ENTRY_COUNT_MASK,
    bodyBytes: delay.bodyBytes,
    exchange: isResident ? decodeText(view.bytes, view.addressStart + 1, keyAt) : null,
    routingKey: isResident ? decodeText(view.bytes, keyAt + 1, view.addressEnd) : null,
    ageMs: Math.max(0, Math.floor(nowMs - view.arrivalMs)),
    expiryMs: queue.expiryOf(view),
  };
}
