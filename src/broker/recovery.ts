// Restores the state that a store has kept: definitions, then the messages of every queue at their
// positions, with counts, delays, and the messages that were unacked when the node ended
// (docs/storage.md "What survives"). The server calls it once, before it serves clients.

import { AmqpError } from "../amqp/errors.ts";
import type { PageOwner, PagePlace } from "../store/page.ts";
import {
  type DeathCause,
  type DefinitionKind,
  type KeepingStore,
  type KeptMessage,
  type QueueSink,
  type RecordView,
  type RecoverySink,
} from "../store/port.ts";
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
  unknownMember,
} from "./topology/definitions.ts";
import type { ExchangeSpec, QueueSpec } from "./names.ts";
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

/** The store has kept a definition that this version does not understand. */
export class RestoreError extends Error {
  override readonly name = "RestoreError";
}

/**
 * Restores everything that `store` has kept. The broker must be new, and its first turn begun.
 * @throws RestoreError when a newer version has written a definition
 */
export function restoreBroker(broker: Broker, store: KeepingStore): RestoredCounts {
  const restored = new RestoredBroker(broker);
  store.restore(restored);
  return restored.counts;
}

class RestoredBroker implements RecoverySink {
  readonly counts: RestoredCounts = { queues: 0, ready: 0, delayed: 0, dying: 0, missing: 0 };
  readonly #broker: Broker;
  readonly #queues = new Map<number, Queue>();
  readonly #deleted = new Map<number, Queue>();

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  lastQueueId(queueId: number): void {
    this.#broker.skipQueueIds(queueId);
  }

  // What is left out of a definition changes its meaning, so a definition is restored whole or not.
  defined(kind: DefinitionKind, value: unknown): void {
    const definition = value as Definition;
    const vhost = this.#broker.vhosts.get(definition.vhost);
    if (vhost === undefined) {
      throw notRestored(kind, definition, `vhost '${definition.vhost}' does not exist`);
    }
    const unknown = unknownMember(kind, definition);
    if (unknown !== undefined) throw notRestored(kind, definition, `it has '${unknown}'`);
    try {
      this.#define(vhost, kind, value);
    } catch (error) {
      throw error instanceof AmqpError ? notRestored(kind, definition, error.message) : error;
    }
  }

  #define(vhost: VHost, kind: DefinitionKind, value: unknown): void {
    switch (kind) {
      case "exchange":
        return vhost.restoreExchange(exchangeOf(value as ExchangeDefinition));
      case "queue":
      case "deleted": {
        const definition = value as QueueDefinition;
        const { id } = definition;
        const spec = specOf(definition);
        if (kind === "queue") this.#queues.set(id, vhost.restoreQueue(spec, id));
        else this.#deleted.set(id, vhost.restoreDeletedQueue(spec, id));
        return;
      }
      case "binding": {
        const definition = value as BindingDefinition;
        const args = tableFromJson(definition.arguments);
        return vhost.restoreBinding({ ...definition, args }, definition.destinationType);
      }
    }
  }

  queue(queueId: number): QueueSink | null {
    const queue = this.#queues.get(queueId) ?? this.#deleted.get(queueId);
    return queue === undefined ? null : new RestoredQueue(queue, this.#broker, this.counts);
  }

  ended(): void {
    for (const queue of this.#deleted.values()) {
      if (queue.dyingCount > 0) continue;
      undefineDeleted(this.#broker.store, queue.vhost.name, queue);
    }
    this.counts.queues = this.#queues.size;
    warnOfIgnored(this.#broker.logger, this.#queues.values());
  }
}

interface Definition {
  readonly vhost: string;
  readonly name?: string;
  readonly source?: string;
}

function notRestored(
  kind: DefinitionKind,
  { name, source }: Definition,
  why: string,
): RestoreError {
  const what = name === undefined ? `${kind} of '${source}'` : `${kind} '${name}'`;
  return new RestoreError(
    `this version cannot restore the ${what}: ${why}: use the version that wrote it, or another folder`,
  );
}

function exchangeOf(definition: ExchangeDefinition): ExchangeSpec {
  const { name, type, autoDelete, internal, arguments: args } = definition;
  return { name, type, durable: true, autoDelete, internal, args: tableFromJson(args) };
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

class RestoredQueue implements QueueSink {
  readonly delayedOwner: PageOwner | null;
  readonly #queue: Queue;
  readonly #broker: Broker;
  readonly #counts: RestoredCounts;
  readonly #view: RecordView = emptyView();

  constructor(queue: Queue, broker: Broker, counts: RestoredCounts) {
    this.#queue = queue;
    this.#broker = broker;
    this.#counts = counts;
    this.delayedOwner = queue.retries === null ? null : queue.retries.delayed;
  }

  ready(message: KeptMessage): void {
    this.#queue.ready.restore(message, this.#viewOf(message));
    this.#counts.ready++;
  }

  out(message: KeptMessage): void {
    this.#queue.settlement.restored(message, this.#viewOf(message));
    this.#counts.ready++;
  }

  delayed(message: KeptMessage): void {
    const { ref, position, entry, bodyBytes, dueMs, delayNumber: number } = message;
    const delayed = { ref, position, entry, bodyBytes, dueMs, number };
    const view = this.#viewOf(message);
    if (this.#queue.retries?.restore(delayed, view) === true) this.#counts.delayed++;
    else this.ready(message);
  }

  dying({ ref, position, entry }: KeptMessage, reason: DeathCause): void {
    const letter = { queue: this.#queue, ref, position, entry, reason, state: LETTER_ENTERED };
    this.#broker.deadLetters.restore(letter);
    this.#counts.dying++;
  }

  readyPage(page: PagePlace): void {
    this.#queue.ready.restorePage(page);
    this.#counts.ready += page.count;
  }

  delayedPage(page: PagePlace): void {
    this.#counts.delayed += page.count;
  }

  missing(messageCount: number): void {
    this.#counts.missing += messageCount;
  }

  // The view is good until the next message.
  #viewOf({ ref }: KeptMessage): RecordView {
    this.#broker.store.describe(ref, this.#view);
    return this.#view;
  }
}
