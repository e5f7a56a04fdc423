// GET /api/queues/:vhost/:queue/retries: the delayed messages of a queue, the next due first,
// always in pages because there may be millions. `after` goes on behind a message, so the list has
// no end at any depth. Messages in pages on the disk are read for it, between turns. It only reads.

import type { Queue } from "../../broker/queue/queue.ts";
import { type RetryInfo, RetryListing } from "../../broker/retry/listing.ts";
import { compareRetries, parseRetryName, type RetryName } from "../../broker/retry/name.ts";
import { type FoundRetry, RetryScan, SCAN_DONE, SCAN_READING } from "../../broker/retry/scan.ts";
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
/** Rows looked at between two checks whether the slice is over, or fewer; see RetryScan. */
const STEP_ROWS = 32_768;
const STEP_UNITS = 250;

interface Wanted {
  readonly asked: ListQuery;
  readonly page: Page;
  readonly after: RetryName | undefined;
}

interface Place {
  readonly room: ListRoom;
  readonly seat: Seat;
}

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
    throw badRequest(`pages reach ${DEPTH_MAX} messages deep; use after to go on behind a message`);
  }
  const after = readAfter(query("after"));
  const seat = await room.desk.enter();
  try {
    return await pageOfRetries(queue, { asked, page, after }, { room, seat });
  } finally {
    seat.leave();
  }
}

function readAfter(text: string | undefined): RetryName | undefined {
  if (text === undefined) return undefined;
  const name = parseRetryName(text);
  if (name === null) throw badRequest("after must be the id of a delayed message");
  return name;
}

async function pageOfRetries(queue: Queue, wanted: Wanted, place: Place): Promise<unknown> {
  const { page, asked, after } = wanted;
  const { room } = place;
  const totalCount = room.context.turn(() => queue.delayedCount);
  if (after === undefined) assertPageExists(page, totalCount);
  const scan = new RetryScan(queue.retries!.delayed, {
    countMax: page.number * page.size,
    after,
  });
  try {
    const found = await scanned(scan, place);
    const shown = found.slice((page.number - 1) * page.size);
    const listed = await described(queue, shown, place);
    const items = listed.map((retry) => pick(retryJson(retry), asked.columns));
    return pageOf(items, page, { totalCount, filteredCount: totalCount });
  } finally {
    scan.end();
  }
}

// Finds the messages of the page and those before it, in order.
async function scanned(scan: RetryScan, { room, seat }: Place): Promise<FoundRetry[]> {
  const pace = new Pace(room.slices);
  let result = -1;
  while (result !== SCAN_DONE) {
    await pace.next();
    seat.touch();
    const { promise, resolve } = resumption();
    room.context.turn(() => {
      do result = scan.step(STEP_ROWS, resolve); while (
        result !== SCAN_DONE && result !== SCAN_READING && !pace.spend(STEP_UNITS)
      );
    });
    if (result === SCAN_READING) await promise;
  }
  return await pacedSort(scan.found, compareRetries, pace);
}

async function described(
  queue: Queue,
  shown: readonly FoundRetry[],
  { room, seat }: Place,
): Promise<RetryInfo[]> {
  const pace = new Pace(room.slices);
  const listing = new RetryListing(queue, shown);
  for (let isDone = false; !isDone;) {
    await pace.next();
    seat.touch();
    const { promise, resolve } = resumption();
    isDone = room.context.turn(() => listing.step(resolve));
    if (!isDone) await promise;
  }
  return listing.infos;
}

function resumption(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => resolve = done);
  return { promise, resolve };
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
