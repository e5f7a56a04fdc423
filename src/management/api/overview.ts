// GET /api/overview: the node in one answer, in the shape that RabbitMQ's tools read. All its data
// is read within one turn.

import { Hono } from "hono";
import type { Broker } from "../../broker/broker.ts";
import type { Metrics } from "../../broker/metrics.ts";
import type { ManagementContext, ManagementEnv } from "../context.ts";
import { pick, readListQuery } from "../list_query.ts";
import { type Counters, type RateBook, withRates } from "../rates.ts";

type Json = Record<string, unknown>;

const EXCHANGE_TYPES: readonly (readonly [string, string])[] = [
  ["direct", "routes by equal routing key"],
  ["fanout", "routes to every binding"],
  ["headers", "routes by message headers"],
  ["topic", "routes by words of the routing key"],
];

/** The overview endpoint. */
export function overviewApi(context: ManagementContext, rates: RateBook): Hono<ManagementEnv> {
  return new Hono<ManagementEnv>().get("/", (c) => {
    const { columns } = readListQuery((name) => c.req.query(name));
    return c.json(pick(context.turn(() => overview(context, rates)), columns));
  });
}

function overview(context: ManagementContext, rates: RateBook): Json {
  const { broker, node } = context;
  const { metrics } = broker;
  const churn = () => churnCounters(metrics);
  const messages = () => messageCounters(metrics);
  const depth = () => depthCounters(broker);
  const subjects = subjectsOf(metrics);
  return {
    product_name: "Reprise",
    product_version: node.version,
    management_version: node.rabbitmqVersion,
    rabbitmq_version: node.rabbitmqVersion,
    erlang_version: node.platform,
    erlang_full_version: node.platform,
    node: node.name,
    cluster_name: node.name,
    statistics_db_event_queue: 0,
    rates_mode: "basic",
    disable_stats: false,
    enable_queue_totals: false,
    exchange_types: EXCHANGE_TYPES.map(([name, description]) => ({
      name,
      description,
      enabled: true,
    })),
    listeners: listenersJson(context),
    contexts: contextsJson(context),
    storage: storageJson(context),
    object_totals: objectTotals(context),
    queue_totals: {
      ...withRates(depth(), rates.of(subjects.depth, depth)),
      messages_delayed: broker.delayedTable.count,
    },
    message_stats: withRates(messages(), rates.of(subjects.messages, messages)),
    churn_rates: withRates(churn(), rates.of(subjects.churn, churn)),
  };
}

interface Subjects {
  readonly churn: object;
  readonly messages: object;
  readonly depth: object;
}

const subjectsByNode = new WeakMap<Metrics, Subjects>();

// A node has three groups of rates, and a rate book knows its subjects by identity.
function subjectsOf(metrics: Metrics): Subjects {
  let subjects = subjectsByNode.get(metrics);
  if (subjects === undefined) {
    subjects = { churn: {}, messages: {}, depth: {} };
    subjectsByNode.set(metrics, subjects);
  }
  return subjects;
}

function listenersJson({ node, listeners }: ManagementContext): Json[] {
  return listeners().map(({ protocol, host, port }) => ({
    node: node.name,
    protocol,
    ip_address: host,
    port,
    socket_opts: { nodelay: true },
  }));
}

function contextsJson({ node, listeners }: ManagementContext): Json[] {
  return listeners().filter(({ protocol }) => protocol === "http").map(({ host, port }) => ({
    node: node.name,
    description: "Reprise Management",
    path: "/",
    protocol: "http",
    ip: host,
    port: String(port),
    ssl_opts: [],
  }));
}

// RabbitMQ has no such member. Its node listing has the data of the disk; the names are the same
// where they mean the same.
function storageJson(context: ManagementContext): Json | null {
  const info = context.storage();
  if (info === null) return null;
  return {
    folder: info.folder,
    synced: info.isSynced,
    read_only: info.isReadOnly,
    disk_free: info.freeBytes,
    disk_free_limit: info.freeBytesMin,
    disk_free_alarm: info.isDiskLow,
    files: info.files.map(({ kind, fileCount, byteCount }) => ({
      kind,
      count: fileCount,
      bytes: byteCount,
    })),
  };
}

function objectTotals(context: ManagementContext): Json {
  const { connectionCount, channelCount } = context.totals();
  let consumers = 0;
  let queues = 0;
  let exchanges = 0;
  for (const vhost of context.broker.vhosts.values()) {
    exchanges += vhost.exchanges.size;
    for (const queue of vhost.queues.values()) {
      consumers += queue.consumerCount;
      queues += 1;
    }
  }
  return { connections: connectionCount, channels: channelCount, consumers, queues, exchanges };
}

function depthCounters(broker: Broker): Counters {
  let ready = 0;
  let unacked = 0;
  for (const vhost of broker.vhosts.values()) {
    for (const queue of vhost.queues.values()) {
      ready += queue.readyCount;
      unacked += queue.unackedCount;
    }
  }
  return { messages: ready + unacked, messages_ready: ready, messages_unacknowledged: unacked };
}

function messageCounters(metrics: Metrics): Counters {
  const { delivered, deliveredNoAck, got, gotNoAck } = metrics;
  return {
    publish: metrics.published,
    confirm: metrics.confirmed,
    deliver: delivered,
    deliver_no_ack: deliveredNoAck,
    deliver_get: delivered + deliveredNoAck + got + gotNoAck,
    get: got,
    get_no_ack: gotNoAck,
    get_empty: metrics.getEmpty,
    redeliver: metrics.redelivered,
    ack: metrics.acked,
    reject: metrics.rejected,
    return_unroutable: metrics.returned,
    drop_unroutable: metrics.unroutableDropped,
    disk_reads: 0,
    disk_writes: 0,
  };
}

function churnCounters(metrics: Metrics): Counters {
  return {
    connection_created: metrics.connectionsOpened,
    connection_closed: metrics.connectionsClosed,
    channel_created: metrics.channelsOpened,
    channel_closed: metrics.channelsClosed,
    queue_declared: metrics.queuesDeclared,
    queue_created: metrics.queuesCreated,
    queue_deleted: metrics.queuesDeleted,
  };
}
