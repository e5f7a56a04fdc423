// GET /api/queues, /api/queues/:vhost and /api/queues/:vhost/:queue: queues and, marked internal, the
// retry queues that belong to them. Reads only; every answer is made within one turn.

import { Hono } from "hono";
import type { Queue } from "../../broker/queue.ts";
import type { VHost } from "../../broker/vhost.ts";
import type { ManagementContext, ManagementEnv } from "../context.ts";
import { answerList, pick, type QueryReader, readListQuery } from "../list_query.ts";
import { notFound } from "../problems.ts";
import {
  queueDetailsJson,
  queueJson,
  type QueueJsonOptions,
  retryQueueJson,
} from "../queue_json.ts";
import type { RateBook } from "../rates.ts";
import { retriesJson } from "./retries.ts";

/** A line of the list: a queue, or the view of what it holds back. */
interface QueueEntry {
  readonly queue: Queue;
  readonly name: string;
  readonly isRetryQueue: boolean;
}

/** The queue endpoints. */
export function queuesApi(context: ManagementContext, rates: RateBook): Hono<ManagementEnv> {
  const { broker } = context;
  const options: QueueJsonOptions = { nodeName: context.node.name, rates };
  const vhostNamed = (name: string): VHost => broker.vhosts.get(name) ?? fail();
  const list = (vhosts: Iterable<VHost>, query: QueryReader) => {
    const wanted = readListQuery(query);
    return context.turn(() => answerList(wanted, listSource(vhosts, options)));
  };
  return new Hono<ManagementEnv>()
    .get("/", (c) => c.json(list(broker.vhosts.values(), (name) => c.req.query(name))))
    .get("/:vhost", (c) => {
      const vhost = vhostNamed(c.req.param("vhost"));
      return c.json(list([vhost], (name) => c.req.query(name)));
    })
    .get("/:vhost/:queue", (c) => {
      const { columns } = readListQuery((name) => c.req.query(name));
      const { vhost, queue: name } = c.req.param();
      const found = context.turn(() => showQueue(vhostNamed(vhost), name, options));
      return c.json(pick(found, columns));
    })
    .get("/:vhost/:queue/retries", (c) => {
      const { vhost, queue } = c.req.param();
      const query: QueryReader = (name) => c.req.query(name);
      return c.json(context.turn(() => retriesJson(vhostNamed(vhost).queues.get(queue), query)));
    });
}

function fail(): never {
  throw notFound();
}

function listSource(vhosts: Iterable<VHost>, options: QueueJsonOptions) {
  const items = [...vhosts].sort((a, b) => order(a.name, b.name)).flatMap(entriesOf);
  return {
    items,
    nameOf: (entry: QueueEntry) => entry.name,
    show: (entry: QueueEntry) =>
      entry.isRetryQueue ? retryQueueJson(entry.queue, options) : queueJson(entry.queue, options),
  };
}

function entriesOf(vhost: VHost): QueueEntry[] {
  const entries: QueueEntry[] = [];
  for (const queue of vhost.queues.values()) {
    entries.push({ queue, name: queue.name, isRetryQueue: false });
    const name = queue.retryQueueName;
    if (name !== null) entries.push({ queue, name, isRetryQueue: true });
  }
  return entries.sort((a, b) => order(a.name, b.name));
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function showQueue(
  vhost: VHost,
  name: string,
  options: QueueJsonOptions,
): Record<string, unknown> {
  const queue = vhost.queues.get(name);
  if (queue !== undefined) return queueDetailsJson(queue, options);
  for (const primary of vhost.queues.values()) {
    if (primary.retryQueueName === name) return retryQueueJson(primary, options);
  }
  throw notFound();
}
