// GET /api/queues, /api/queues/:vhost and /api/queues/:vhost/:queue: queues and, marked internal,
// the retry queues that belong to them. It only reads. One queue is read within one turn, a list in
// many turns, so a list shows each queue in its state when its line is made.

import { type Context, Hono } from "hono";
import type { Queue } from "../../broker/queue/queue.ts";
import type { VHost } from "../../broker/topology/vhost.ts";
import { isRetryQueueName, RETRY_PREFIX } from "../../broker/names.ts";
import type { ManagementEnv } from "../context.ts";
import { answerList, type ListRoom, type ListSource } from "../list_answer.ts";
import { pick, type QueryReader, readListQuery } from "../list_query.ts";
import { notFound } from "../problems.ts";
import {
  queueDetailsJson,
  queueJson,
  type QueueJsonOptions,
  retryQueueJson,
} from "../queue_json.ts";
import type { RateBook } from "../rates.ts";
import { retriesJson } from "./retries.ts";

/** A line of the list: a queue, or the retry queue of one. */
interface QueueEntry {
  readonly queue: Queue;
  readonly name: string;
  readonly isRetryQueue: boolean;
}

/** The queue endpoints. */
export function queuesApi(room: ListRoom, rates: RateBook): Hono<ManagementEnv> {
  const { context } = room;
  const { broker } = context;
  const options: QueueJsonOptions = { nodeName: context.node.name, rates };
  const vhostNamed = (name: string): VHost => broker.vhosts.get(name) ?? fail();
  const list = (c: Context<ManagementEnv>, vhosts: () => Iterable<VHost>) => {
    const query = readListQuery((name) => c.req.query(name));
    return answerList(query, listSource(vhosts, options), {
      ...room,
      isHead: c.req.method === "HEAD",
      drop: () => c.env.dropPeer(),
    });
  };
  return new Hono<ManagementEnv>()
    .get("/", (c) => list(c, () => broker.vhosts.values()))
    .get("/:vhost", (c) => {
      const vhost = vhostNamed(c.req.param("vhost"));
      return list(c, () => [vhost]);
    })
    .get("/:vhost/:queue", (c) => {
      const { columns } = readListQuery((name) => c.req.query(name));
      const { vhost, queue: name } = c.req.param();
      const found = context.turn(() => showQueue(vhostNamed(vhost), name, options));
      return c.json(pick(found, columns));
    })
    .get("/:vhost/:queue/retries", async (c) => {
      const { vhost, queue } = c.req.param();
      const query: QueryReader = (name) => c.req.query(name);
      return c.json(await retriesJson(vhostNamed(vhost).queues.get(queue), query, room));
    });
}

function fail(): never {
  throw notFound();
}

function listSource(
  vhosts: () => Iterable<VHost>,
  options: QueueJsonOptions,
): ListSource<QueueEntry> {
  return {
    items: () => entriesOf([...vhosts()].map(({ queues }) => [...queues.values()])),
    compare: (a, b) => order(a.queue.vhost.name, b.queue.vhost.name) || order(a.name, b.name),
    nameOf: (entry) => entry.name,
    exists: ({ queue }) => !queue.isDeleted,
    show: ({ queue, isRetryQueue }) =>
      isRetryQueue ? retryQueueJson(queue, options) : queueJson(queue, options),
  };
}

function* entriesOf(snapshots: readonly (readonly Queue[])[]): Iterable<QueueEntry> {
  for (const queues of snapshots) {
    for (const queue of queues) {
      yield { queue, name: queue.name, isRetryQueue: false };
      const name = queue.retryQueueName;
      if (name !== null) yield { queue, name, isRetryQueue: true };
    }
  }
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
  const primary = isRetryQueueName(name) ? vhost.queues.get(name.slice(RETRY_PREFIX.length)) : null;
  if (primary?.retryQueueName !== name) throw notFound();
  return retryQueueJson(primary, options);
}
