// A queue, and the internal retry queue that belongs to it, as JSON: RabbitMQ's members with
// RabbitMQ's types, and `delayed_retry` (docs/automatic-retries.md "For operators"). The queue
// lists call it inside a turn. Nothing here changes a queue.

import { fieldTableToJson } from "../amqp/field_json.ts";
import type { Consumer } from "../broker/queue/consumer.ts";
import type { Queue } from "../broker/queue/queue.ts";
import type { QueueStats } from "../broker/metrics.ts";
import { setAsideCount } from "../broker/queue/put_apart.ts";
import { type Counters, type RateBook, withRates } from "./rates.ts";

type Json = Record<string, unknown>;

/** The sources of queue JSON besides the queue. */
export interface QueueJsonOptions {
  readonly nodeName: string;
  readonly rates: RateBook;
}

/** Returns a queue as the API lists it. */
export function queueJson(queue: Queue, options: QueueJsonOptions): Json {
  const { readyCount, unackedCount, readyBytes, unackedBytes } = queue;
  const read = () => ({ ...statCounters(queue.stats), ...depthCounters(queue) });
  const rates = options.rates.of(queue, read);
  return {
    ...identity(queue, options),
    name: queue.name,
    type: queue.args.queueType,
    arguments: fieldTableToJson(queue.args.raw),
    // LavinMQ's name: the arguments that have an effect.
    effective_arguments: [...queue.args.effective.keys()],
    effective_policy_definition: {},
    policy: null,
    operator_policy: null,
    consumers: queue.consumerCount,
    consumer_capacity: consumerCapacity(queue),
    consumer_utilisation: consumerCapacity(queue),
    exclusive_consumer_tag: exclusiveTag(queue),
    single_active_consumer_tag: null,
    head_message_timestamp: null,
    ...withRates(depthCounters(queue), rates),
    // Ready messages whose content header fits into the frames of no consumer.
    messages_set_aside: setAsideCount(queue),
    messages_ready_ram: readyCount,
    messages_unacknowledged_ram: unackedCount,
    messages_ram: readyCount + unackedCount,
    message_bytes: readyBytes + unackedBytes,
    message_bytes_ready: readyBytes,
    message_bytes_unacknowledged: unackedBytes,
    message_bytes_ram: readyBytes + unackedBytes,
    message_stats: withRates(statCounters(queue.stats), rates),
    ...ownerJson(queue),
    ...retryJson(queue),
  };
}

/** Returns a queue as its own resource shows it: with its consumers. */
export function queueDetailsJson(queue: Queue, options: QueueJsonOptions): Json {
  return {
    ...queueJson(queue, options),
    consumer_details: [...queue.consumers.all].map((consumer) => consumerJson(queue, consumer)),
    incoming: [],
    deliveries: [],
  };
}

/** Returns the internal retry queue of `queue`, which must have one. */
export function retryQueueJson(queue: Queue, options: QueueJsonOptions): Json {
  const { delayedCount, delayedBytes } = queue;
  const depth = {
    messages: delayedCount,
    messages_ready: delayedCount,
    messages_unacknowledged: 0,
  };
  return {
    ...identity(queue, options),
    name: queue.retryQueueName,
    // It is deleted with its queue, whatever happens to consumers.
    auto_delete: false,
    internal: true,
    type: "classic",
    arguments: {},
    effective_arguments: [],
    effective_policy_definition: {},
    policy: null,
    operator_policy: null,
    primary_queue: queue.name,
    consumers: 0,
    consumer_capacity: 0,
    consumer_utilisation: 0,
    exclusive_consumer_tag: null,
    single_active_consumer_tag: null,
    head_message_timestamp: null,
    ...withRates(depth, {}),
    messages_ram: delayedCount,
    message_bytes: delayedBytes,
    message_bytes_ready: delayedBytes,
    message_bytes_unacknowledged: 0,
    message_bytes_ram: delayedBytes,
    message_stats: {},
    ...dueTimes(queue),
  };
}

function identity(queue: Queue, options: QueueJsonOptions): Json {
  return {
    vhost: queue.vhost.name,
    node: options.nodeName,
    state: "running",
    durable: queue.durable,
    auto_delete: queue.autoDelete,
    exclusive: queue.exclusive,
    internal: false,
  };
}

function depthCounters({ readyCount, unackedCount }: Queue): Counters {
  return {
    messages: readyCount + unackedCount,
    messages_ready: readyCount,
    messages_unacknowledged: unackedCount,
  };
}

function statCounters(stats: QueueStats): Counters {
  return {
    publish: stats.publish,
    deliver: stats.deliver,
    deliver_no_ack: stats.deliverNoAck,
    get: stats.get,
    get_no_ack: stats.getNoAck,
    get_empty: stats.getEmpty,
    deliver_get: stats.deliver + stats.deliverNoAck + stats.get + stats.getNoAck,
    redeliver: stats.redeliver,
    ack: stats.ack,
    reject: stats.reject,
  };
}

// The share of the time in which a consumer could take a message. Here it is that of this moment
// only.
function consumerCapacity(queue: Queue): number {
  return queue.consumerCount > 0 && queue.readyCount === 0 ? 1 : 0;
}

function exclusiveTag(queue: Queue): string | null {
  const first = queue.consumers.first;
  return first?.exclusive === true ? first.tag : null;
}

function ownerJson(queue: Queue): Json {
  if (queue.owner === null) return {};
  const { name } = queue.owner;
  const peer = /^(.*):(\d+) -> /.exec(name);
  const details = { name, peer_host: peer?.[1] ?? "", peer_port: Number(peer?.[2] ?? 0) };
  return { owner_pid_details: details };
}

function consumerJson(queue: Queue, consumer: Consumer): Json {
  return {
    consumer_tag: consumer.tag,
    queue: { name: queue.name, vhost: queue.vhost.name },
    ack_required: !consumer.noAck,
    exclusive: consumer.exclusive,
    prefetch_count: consumer.prefetch,
    active: true,
    activity_status: "up",
    arguments: consumer.priority === 0 ? {} : { "x-priority": consumer.priority },
  };
}

function retryJson(queue: Queue): Json {
  if (queue.retries === null) return {};
  const { settings } = queue.retries;
  const limit = queue.args.deliveryLimit;
  return {
    delayed_retry: {
      min: settings.delaysMs === null ? settings.minMs : null,
      multiplier: settings.multiplier || null,
      max: settings.maxMs || null,
      jitter: settings.jitterPercent,
      delays: settings.delaysMs,
      type: settings.type || null,
      delivery_limit: Number.isFinite(limit) ? limit : null,
      delivery_limit_default: queue.args.isDeliveryLimitDefault,
      messages_delayed: queue.delayedCount,
      bytes_delayed: queue.delayedBytes,
      ...dueTimes(queue),
      retry_queue: queue.retryQueueName,
    },
  };
}

/** Returns the first and last due time in ms since the epoch; null when nothing is delayed. */
function dueTimes(queue: Queue): Json {
  const delayed = queue.retries!.delayed;
  if (delayed.count === 0) return { next_due: null, last_due: null };
  return { next_due: Math.ceil(delayed.nextDueMs), last_due: Math.ceil(delayed.lastDueMs) };
}
