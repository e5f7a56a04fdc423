// Restores the state that a store has recovered: definitions, then the messages of every queue at their
// positions, with counts, delays, and the messages that were unacked when the node ended
// (docs/storage.md "What survives"). The server calls it once, before it serves clients.

import { ChannelError } from "../amqp/errors.ts";
import {
  ENTRY_COUNT_MASK,
  ENTRY_REDELIVERED,
  ENTRY_UNSPENT,
  type RecordView,
} from "../store/port.ts";
import type { FileStore } from "../store/file_store.ts";
import { deathCauseOf, STATE_DELAYED, STATE_OUT } from "../store/format/format.ts";
import { emptyRow } from "../store/format/message_row.ts";
import type { RecoveredQueue } from "../store/recovery/recovery.ts";
import type { PagePlace } from "../store/page.ts";
import { emptyView } from "../store/views.ts";
import type { Logger } from "../lib/logger.ts";
import { meantRetryArgument, unknownRetryArguments } from "./arguments/retry_arguments.ts";
import type { Broker } from "./broker.ts";
import {
  type BindingDefinition,
  type ExchangeDefinition,
  type QueueDefinition,
  tableFromJson,
  undefineDeleted,
} from "./topology/definitions.ts";
import type { QueueSpec } from "./names.ts";
import type { Queue } from "./queue/queue.ts";
import { LETTER_ENTERED } from "./queue/dead_letter.ts";
import type { VHost } from "./topology/vhost.ts";

/** Counts of what was restored. */
export interface RestoredCounts {
  queues: number;
  ready: number;
  delayed: number;
  /** Messages on their way to a dead-letter exchange. */
  dying: number;
  /** Messages whose data file is missing. */
  missing: number;
}

/** At most this many ignored arguments are logged one by one. */
const IGNORED_NAMED_MAX = 20;

const NOBODY = { name: "recovery" };

/** Restores everything that `store` has recovered. The broker must be new, and its first turn begun. */
export function restoreBroker(broker: Broker, store: FileStore): RestoredCounts {
  const { recovered, entries } = store;
  const counts: RestoredCounts = { queues: 0, ready: 0, delayed: 0, dying: 0, missing: 0 };
  entries.isRestoring = true;
  broker.skipQueueIds(recovered.queueIdMax);
  restoreExchanges(broker, recovered.definitions.exchange.values());
  const queues = restoreQueues(broker, recovered.definitions.queue.values());
  restoreBindings(broker, recovered.definitions.binding.values());
  const deleted = restoreDeleted(broker, recovered.definitions.deleted.values());
  for (const [queueId, found] of recovered.queues) {
    const queue = queues.get(queueId) ?? deleted.get(queueId);
    if (queue !== undefined) restoreMessages(queue, found, { store, counts });
  }
  for (const queue of deleted.values()) {
    if (queue.dyingCount === 0) undefineDeleted(store, queue.vhost.name, queue);
  }
  counts.queues = queues.size;
  store.restored();
  recovered.queues.clear();
  return counts;
}

function vhostOf(broker: Broker, name: string): VHost {
  const vhost = broker.vhosts.get(name);
  if (vhost === undefined) throw new Error(`the data folder names an unknown vhost '${name}'`);
  return vhost;
}

function restoreExchanges(broker: Broker, values: Iterable<unknown>): void {
  for (const value of values) {
    const { vhost, name, type, autoDelete, internal, arguments: args } =
      value as ExchangeDefinition;
    const spec = { name, type, durable: true, autoDelete, internal, args: tableFromJson(args) };
    vhostOf(broker, vhost).declareExchange(spec);
  }
}

function restoreQueues(broker: Broker, values: Iterable<unknown>): Map<number, Queue> {
  const queues = new Map<number, Queue>();
  for (const value of values) {
    const definition = value as QueueDefinition;
    const { id, vhost } = definition;
    queues.set(id, vhostOf(broker, vhost).restoreQueue(specOf(definition), id));
  }
  warnOfIgnored(broker.logger, queues.values());
  return queues;
}

function restoreDeleted(broker: Broker, values: Iterable<unknown>): Map<number, Queue> {
  const queues = new Map<number, Queue>();
  for (const value of values) {
    const definition = value as QueueDefinition;
    const { id, vhost } = definition;
    queues.set(id, vhostOf(broker, vhost).restoreDeletedQueue(specOf(definition), id));
  }
  return queues;
}

function specOf({ name, autoDelete, arguments: args }: QueueDefinition): QueueSpec {
  return { name, durable: true, exclusive: false, autoDelete, args: tableFromJson(args) };
}

// Earlier versions accepted misspelt retry arguments and ignored them. One program may have declared
// many such queues, so only the first ones are named.
function warnOfIgnored(logger: Logger, queues: Iterable<Queue>): void {
  let count = 0;
  for (const queue of queues) {
    for (const argument of unknownRetryArguments(queue.args.raw)) {
      if (++count > IGNORED_NAMED_MAX) continue;
      logger.log("warn", "a queue has a retry argument that does not exist and is ignored", {
        vhost: queue.vhost.name,
        queue: queue.name,
        argument,
        meant: meantRetryArgument(argument),
      });
    }
  }
  if (count <= IGNORED_NAMED_MAX) return;
  logger.log("warn", "more queues have retry arguments that do not exist and are ignored", {
    arguments: count - IGNORED_NAMED_MAX,
  });
}

function restoreBindings(broker: Broker, values: Iterable<unknown>): void {
  for (const value of values) {
    const { source, destination, routingKey, destinationType } = value as BindingDefinition;
    const { vhost: vhostName, arguments: json } = value as BindingDefinition;
    const vhost = vhostOf(broker, vhostName);
    const args = tableFromJson(json);
    try {
      if (destinationType === "exchange") {
        vhost.bindExchange({ source, destination, routingKey, args });
      } else {
        vhost.bindQueue({ exchange: source, queue: destination, routingKey, args }, NOBODY);
      }
    } catch (error) {
      // A binding whose exchange or queue is gone is gone too.
      if (!(error instanceof ChannelError)) throw error;
    }
  }
}

function restoreMessages(
  queue: Queue,
  recovered: RecoveredQueue,
  to: { store: FileStore; counts: RestoredCounts },
): void {
  const view = emptyView();
  const message = { ...emptyRow(), ref: 0, queueId: queue.id, position: 0 };
  const pages: PagePlace[] = [];
  for (const page of recovered.pages.values()) {
    if (page.delays === null) pages.push(page);
    else restoreDelayedPage(queue, page, to);
  }
  pages.sort((a, b) => b.first - a.first);
  let nextPageAt = pages.at(-1)?.first ?? Infinity;
  const { rows } = recovered.positions;
  recovered.positions.each((position, row) => {
    while (nextPageAt < position) {
      restorePage(queue, pages.pop()!, to);
      nextPageAt = pages.at(-1)?.first ?? Infinity;
    }
    rows.get(row, message);
    message.position = position;
    message.ref = to.store.adopt(message);
    if (message.ref === 0) to.counts.missing++;
    else restoreMessage(queue, message, view, to.counts);
  });
  while (pages.length > 0) restorePage(queue, pages.pop()!, to);
  queue.lane.nextPosition = Math.max(queue.lane.nextPosition, recovered.lastPosition + 1);
}

function restorePage(
  queue: Queue,
  place: PagePlace,
  to: { store: FileStore; counts: RestoredCounts },
): void {
  const isThere = to.store.adoptPage(to.store.laneOf(queue.id), place);
  if (isThere) queue.restorePage(place);
  if (isThere) to.counts.ready += place.count;
  else to.counts.missing += place.count;
}

function restoreDelayedPage(
  queue: Queue,
  place: PagePlace,
  to: { store: FileStore; counts: RestoredCounts },
): void {
  const { retries } = queue;
  const isThere = retries !== null && to.store.adoptPage(retries.delayed, place);
  if (isThere) to.counts.delayed += place.count;
  else to.counts.missing += place.count;
}

interface RestoredMessage {
  ref: number;
  position: number;
  state: number;
  entry: number;
  dueMs: number;
  delayNumber: number;
  bodyBytes: number;
}

function restoreMessage(
  queue: Queue,
  message: RestoredMessage,
  view: RecordView,
  counts: RestoredCounts,
): void {
  const { ref, state } = message;
  queue.broker.store.describe(ref, view);
  const deathCause = deathCauseOf(state);
  if (deathCause !== null) {
    const { position, entry } = message;
    const state = LETTER_ENTERED;
    queue.broker.deadLetters.restore({ queue, ref, position, entry, reason: deathCause, state });
    counts.dying++;
  } else if (state === STATE_OUT) {
    restoreOut(queue, message, view);
    counts.ready++;
  } else if (state === STATE_DELAYED && restoreDelayed(queue, message, view)) {
    counts.delayed++;
  } else {
    queue.restore(message, view);
    counts.ready++;
  }
}

function restoreDelayed(queue: Queue, message: RestoredMessage, view: RecordView): boolean {
  return queue.retries?.restore({ ...message, number: message.delayNumber }, view) === true;
}

// The message was unacked when the node ended: one delivery is spent, and the limit applies now.
function restoreOut(queue: Queue, message: RestoredMessage, view: RecordView): void {
  const { ref, position, entry } = message;
  const { nowMs, metrics } = queue.broker;
  const spent = (entry & ENTRY_COUNT_MASK) + 1;
  // As for any returned message, expiry is checked before the limit. Expired messages leave in a sweep.
  if (spent > queue.args.deliveryLimit && queue.expiryOf(view) > nowMs) {
    if (queue.retries !== null) metrics.retryExhausted++;
    queue.deadLetter(ref, position, entry | ENTRY_UNSPENT, "delivery_limit");
    return;
  }
  const nextEntry = (spent | ENTRY_REDELIVERED) >>> 0;
  queue.entriesFor(view)?.requeued(queue.id, position, ref, nextEntry);
  queue.restore({ ref, position, entry: nextEntry }, view);
}
