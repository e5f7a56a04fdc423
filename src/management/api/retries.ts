// GET /api/queues/:vhost/:queue/retries: the delayed messages of a queue, the next due first,
// always in pages because there may be millions. Messages that the store has written to pages on
// the disk are counted and not shown, because no request waits for a read. It only reads.

import type { Queue } from "../../broker/queue.ts";
import { describeRetries, type RetryInfo } from "../../broker/retry_listing.ts";
import { compareRetries, type FoundRetry, RetryScan } from "../../broker/retry_scan.ts";
import type { ListRoom } from "../list_answer.ts";
import type { Seat } from "../list_desk.ts";
import {
  assertPageExists,
  type ListQuery,
  type Page,
  pageOf,
  pick,
  type QueryReader,
  readListQuery,
} from "../list_query.ts";
import { pacedSort } from "../paced_sort.ts";
import { badRequest, notFound } from "../problems.ts";
import { Pace } from "../slices.ts";

const FIRST_PAGE = { number: 1, size: 100 };
/**
 * The most messages that a page may be deep: all messages before a page have to be found for it.
 */
const DEPTH_MAX = 100_000;
/** Rows looked at between two checks whether the slice is over. */
const STEP_ROWS = 1_024;
const STEP_UNITS = 250;

/** Returns a page of delayed messages; 404 for a queue that is missing or has no retries. */
export async function retriesJson(
  queue: Queue | undefined,
  query: QueryReader,
  room: ListRoom,
): Promise<unknown> {
  if (queue === undefined || queue.retries === null) throw notFound();
  const asked = readListQuery(query);
  const page = asked.page ?? FIRST_PAGE;
  if (page.number * page.size > DEPTH_MAX) {
    throw badRequest(`pages reach ${DEPTH_MAX} messages deep`);
  }
  const seat = await room.desk.enter();
  try {
    return await pageOfRetries(queue, { asked, page }, { room, seat });
  } finally {
    seat.leave();
  }
}

async function pageOfRetries(
  queue: Queue,
  wanted: { asked: ListQuery; page: Page },
  place: { room: ListRoom; seat: Seat },
): Promise<unknown> {
  const { page, asked } = wanted;
  const { context } = place.room;
  const counts = context.turn(() => countsOf(queue));
  assertPageExists(page, counts.filteredCount);
  const found = await firstRetries(queue, page.number * page.size, place);
  const shown = found.slice((page.number - 1) * page.size);
  const listed = context.turn(() => describeRetries(queue, shown));
  return pageOf(listed.map((retry) => pick(retryJson(retry), asked.columns)), page, counts);
}

function countsOf(queue: Queue) {
  const totalCount = queue.delayedCount;
  return { totalCount, filteredCount: totalCount - queue.retries!.delayed.pagedCount };
}

async function firstRetries(
  queue: Queue,
  count: number,
  place: { room: ListRoom; seat: Seat },
): Promise<FoundRetry[]> {
  const { context, slices } = place.room;
  const pace = new Pace(slices);
  const scan = new RetryScan(queue.broker.delayedTable, queue.retries!.delayed, count);
  let isDone = false;
  while (!isDone) {
    await pace.next();
    place.seat.touch();
    context.turn(() => {
      do isDone = scan.step(STEP_ROWS); while (!isDone && !pace.spend(STEP_UNITS));
    });
  }
  return await pacedSort(scan.found, compareRetries, pace);
}

function retryJson(retry: RetryInfo): Record<string, unknown> {
  return {
    id: retry.id,
    due: retry.dueMs,
    attempts: retry.attempts,
    size: retry.bodyBytes,
    exchange: retry.exchange,
    routing_key: retry.routingKey,
    age: retry.ageMs,
    expires: Number.isFinite(retry.expiryMs) ? Math.ceil(retry.expiryMs) : null,
  };
}
