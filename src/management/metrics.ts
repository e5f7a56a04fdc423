// GET /metrics: counters and gauges of the node for Prometheus, aggregated over queues. They have
// RabbitMQ's names where the meaning is the same, so that common dashboards work. Our own names
// begin with `reprise_`.

import type { Broker } from "../broker/broker.ts";
import { setAsideCount } from "../broker/queue/put_apart.ts";
import type { ManagementContext, StorageInfo } from "./context.ts";
import { PrometheusText } from "./prometheus_text.ts";

const PROTOCOL = { protocol: "amqp091" };

/** Returns the metrics page. To be called within a turn. */
export function metricsText(context: ManagementContext): string {
  const page = new PrometheusText();
  identity(page, context);
  objects(page, context);
  messages(page, context.broker);
  deadLetters(page, context.broker);
  retries(page, context.broker);
  memory(page, context);
  storage(page, context);
  return page.text;
}

function identity(page: PrometheusText, { node }: ManagementContext): void {
  page.gauge("rabbitmq_identity_info", "Node and cluster", 1, {
    rabbitmq_node: node.name,
    rabbitmq_cluster: node.name,
    rabbitmq_cluster_permanent_id: node.name,
  });
  page.gauge("rabbitmq_build_info", "Versions", 1, {
    rabbitmq_version: node.rabbitmqVersion,
    erlang_version: node.platform,
    product_name: "Reprise",
    product_version: node.version,
  });
}

function objects(page: PrometheusText, context: ManagementContext): void {
  const { broker } = context;
  const { metrics } = broker;
  const { connectionCount, channelCount } = context.totals();
  const sums = sumQueues(broker);
  page.gauge("rabbitmq_connections", "Open connections", connectionCount);
  page.gauge("rabbitmq_channels", "Open channels", channelCount);
  page.gauge("rabbitmq_consumers", "Consumers", sums.consumers);
  page.gauge("rabbitmq_queues", "Queues, internal ones left out", sums.queues);
  const churn: [string, string, number][] = [
    ["connections_opened", "Connections opened", metrics.connectionsOpened],
    ["connections_closed", "Connections closed", metrics.connectionsClosed],
    ["channels_opened", "Channels opened", metrics.channelsOpened],
    ["channels_closed", "Channels closed", metrics.channelsClosed],
    ["queues_declared", "Queue declarations", metrics.queuesDeclared],
    ["queues_created", "Queues created", metrics.queuesCreated],
    ["queues_deleted", "Queues deleted", metrics.queuesDeleted],
  ];
  for (const [name, help, value] of churn) page.counter(`rabbitmq_${name}_total`, help, value);
  page.gauge(
    "rabbitmq_queue_messages",
    "Messages ready or unacknowledged",
    sums.ready + sums.unacked,
  );
  page.gauge("rabbitmq_queue_messages_ready", "Messages ready for delivery", sums.ready);
  page.gauge("rabbitmq_queue_messages_unacked", "Messages out for delivery", sums.unacked);
  page.gauge("rabbitmq_queue_messages_ready_bytes", "Bytes of ready messages", sums.readyBytes);
  page.gauge("rabbitmq_queue_messages_unacked_bytes", "Bytes out for delivery", sums.unackedBytes);
  page.gauge(
    "reprise_messages_set_aside",
    "Ready messages whose content header fits the frames of no consumer",
    sums.setAside,
  );
}

interface QueueSums {
  queues: number;
  consumers: number;
  ready: number;
  unacked: number;
  readyBytes: number;
  unackedBytes: number;
  setAside: number;
}

function sumQueues(broker: Broker): QueueSums {
  const sums: QueueSums = {
    queues: 0,
    consumers: 0,
    ready: 0,
    unacked: 0,
    readyBytes: 0,
    unackedBytes: 0,
    setAside: 0,
  };
  for (const vhost of broker.vhosts.values()) {
    for (const queue of vhost.queues.values()) {
      sums.queues += 1;
      sums.consumers += queue.consumerCount;
      sums.ready += queue.readyCount;
      sums.unacked += queue.unackedCount;
      sums.readyBytes += queue.readyBytes;
      sums.unackedBytes += queue.unackedBytes;
      sums.setAside += setAsideCount(queue);
    }
  }
  return sums;
}

function messages(page: PrometheusText, { metrics }: Broker): void {
  const { delivered, deliveredNoAck, got, gotNoAck } = metrics;
  const counters: [string, string, number][] = [
    ["received", "Messages published", metrics.published],
    ["confirmed", "Messages confirmed to publishers", metrics.confirmed],
    ["routed", "Messages that reached a queue", routed(metrics)],
    ["unroutable_returned", "Unroutable messages returned", metrics.returned],
    ["unroutable_dropped", "Unroutable messages dropped", metrics.unroutableDropped],
    ["delivered", "Messages delivered", delivered + deliveredNoAck + got + gotNoAck],
    ["delivered_consume_manual_ack", "Delivered to consumers that acknowledge", delivered],
    ["delivered_consume_auto_ack", "Delivered to consumers that do not", deliveredNoAck],
    ["delivered_get_manual_ack", "Fetched, to be acknowledged", got],
    ["delivered_get_auto_ack", "Fetched without acknowledgement", gotNoAck],
    ["get_empty", "Fetches from an empty queue", metrics.getEmpty],
    ["redelivered", "Messages delivered again", metrics.redelivered],
    ["acknowledged", "Messages acknowledged", metrics.acked],
  ];
  for (const [name, help, value] of counters) {
    page.counter(`rabbitmq_global_messages_${name}_total`, help, value, PROTOCOL);
  }
}

function routed({ published, returned, unroutableDropped }: Broker["metrics"]): number {
  return published - returned - unroutableDropped;
}

function deadLetters(page: PrometheusText, broker: Broker): void {
  const { metrics } = broker;
  const { backlog } = broker.deadLetters;
  page.gauge("reprise_dead_letters_waiting", "Dead letters still to be published", backlog);
  const counters: [string, string, number][] = [
    ["rejected", "rejection", metrics.deadLetteredRejected],
    ["expired", "expiry", metrics.deadLetteredExpired],
    ["maxlen", "overflow", metrics.deadLetteredMaxlen],
    ["delivery_limit", "too many deliveries", metrics.deadLetteredDeliveryLimit],
  ];
  for (const [name, cause, value] of counters) {
    const help = `Messages dead-lettered after ${cause}`;
    page.counter(`rabbitmq_global_messages_dead_lettered_${name}_total`, help, value);
  }
  const help = "Dead letters that reached no queue";
  page.counter("reprise_dead_letters_dropped_total", help, metrics.deadLettersDropped);
}

function retries(page: PrometheusText, { metrics, delayedTable }: Broker): void {
  page.gauge("reprise_retry_delayed", "Messages waiting for a retry", delayedTable.count);
  page.gauge("reprise_retry_delayed_bytes", "Bytes waiting for a retry", delayedTable.bodyBytes);
  const counters: [string, string, number][] = [
    ["scheduled", "Messages delayed", metrics.retryScheduled],
    ["redelivered", "Messages that came back after a delay", metrics.retryRedelivered],
    ["exhausted", "Messages given up at the delivery limit", metrics.retryExhausted],
    ["expired", "Messages that expired while delayed", metrics.retryExpired],
    ["store_failures", "Retries that could not be stored", metrics.retryStoreFailures],
    ["over_limit", "Retries requeued at once because of a limit", metrics.retryOverLimit],
    ["delayed_again", "Due messages delayed again by a full queue", metrics.retryDelayedAgain],
  ];
  for (const [name, help, value] of counters) {
    page.counter(`reprise_retry_${name}_total`, help, value);
  }
  const { retryLatenessSeconds, retryAttempts } = metrics;
  page.histogram("reprise_retry_lateness_seconds", "Return minus due time", retryLatenessSeconds);
  page.histogram("reprise_retry_attempts", "Deliveries spent on leaving a queue", retryAttempts);
}

function memory(page: PrometheusText, context: ManagementContext): void {
  const { broker } = context;
  const resident = context.residentBytes();
  page.gauge("rabbitmq_process_resident_memory_bytes", "Memory of the process", resident);
  const limit = broker.limits.memoryBytesMax;
  const { memoryBytes, heldMemoryBytes } = broker;
  page.gauge("reprise_message_memory_bytes", "Memory that messages need", memoryBytes);
  page.gauge("reprise_message_memory_held_bytes", "Memory held for messages", heldMemoryBytes);
  page.gauge("reprise_message_memory_limit_bytes", "Memory at which publishers wait", limit);
  const isBlocked = Number(broker.blockReason !== null);
  page.gauge("reprise_publishers_blocked", "1 while publishers wait", isBlocked);
}

function storage(page: PrometheusText, context: ManagementContext): void {
  const info = context.storage();
  if (info === null) return;
  if (info.freeBytes !== null) {
    const help = "Room on the disk of the data folder";
    page.gauge("rabbitmq_disk_space_available_bytes", help, info.freeBytes);
  }
  const limitHelp = "Room on the disk below which publishers wait";
  page.gauge("rabbitmq_disk_space_available_limit_bytes", limitHelp, info.freeBytesMin);
  const lowHelp = "1 while the disk has less room than it must have";
  page.gauge("reprise_store_disk_low", lowHelp, Number(info.isDiskLow));
  const readOnlyHelp = "1 while persistent messages are refused because the log takes no writes";
  page.gauge("reprise_store_read_only", readOnlyHelp, Number(info.isReadOnly));
  const byKind = (value: (file: StorageInfo["files"][number]) => number) =>
    info.files.map((file) => ({ value: value(file), labels: { kind: file.kind } }));
  const filesHelp = "Data files, by what they hold";
  page.gauges("reprise_store_files", filesHelp, byKind(({ fileCount }) => fileCount));
  const bytesHelp = "Bytes of data files, by what they hold";
  page.gauges("reprise_store_bytes", bytesHelp, byKind(({ byteCount }) => byteCount));
  const loggedHelp = "Bytes appended to the commit log";
  page.counter("reprise_store_logged_bytes_total", loggedHelp, info.loggedBytes);
  page.histogram("reprise_store_sync_seconds", "Time a sync took", info.syncSeconds);
}
