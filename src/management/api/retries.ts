// GET /api/queues/:vhost/:queue/retries: the messages a queue holds back, the next due first, always in
// pages because there may be millions. Those that the store has written to the disk are counted and not
// shown: nobody waits for a read here. Reads only.

import type { Queue } from "../../broker/queue.ts";
import { listRetries, type RetryInfo } from "../../broker/retry_listing.ts";
import { assertPageExists, pageOf, pick, type QueryReader, readListQuery } from "../list_query.ts";
import { notFound } from "../problems.ts";

const FIRST_PAGE = { number: 1, size: 100 };

/** A page of delayed messages; a queue that is missing or retries nothing is a 404. */
export function retriesJson(queue: Queue | undefined, query: QueryReader): unknown {
  if (queue === undefined || queue.retries === null) throw notFound();
  const { page: asked, columns } = readListQuery(query);
  const page = asked ?? FIRST_PAGE;
  const count = queue.delayedCount;
  const filteredCount = count - queue.retries.delayed.pagedCount;
  assertPageExists(page, filteredCount);
  const listed = listRetries(queue, (page.number - 1) * page.size, page.size);
  const items = listed.map((retry) => pick(retryJson(retry), columns));
  return pageOf(items, page, { filteredCount, totalCount: count });
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
