// The queues of one vhost: declares them, looks them up with access checks, and removes them. VHost
// calls it. Internal retry queues are views of their queue and are not listed; every operation that
// names one is refused (docs/automatic-retries.md "The retry queue"). Refusals carry RabbitMQ's texts.

import { ChannelError } from "../../amqp/errors.ts";
import { NOT_FOUND, PRECONDITION_FAILED, RESOURCE_LOCKED } from "../../amqp/reply_code.ts";
import { preconditionFailed } from "../arguments/argument_error.ts";
import { assertArgumentsEquivalent, assertPropertyEquivalent } from "../arguments/equivalence.ts";
import { COMPARED_ARGUMENTS, parseQueueArguments } from "../arguments/queue_arguments.ts";
import { refuseUnknownRetryArguments } from "../arguments/retry_arguments.ts";
import { defineDeleted, defineQueue, undefineQueue } from "./definitions.ts";
import { settleTurn } from "../queue/dispatch.ts";
import type { Owner, QueueSpec } from "../names.ts";
import {
  assertNewName,
  assertNotInternal,
  describe,
  generateQueueName,
  withoutLineBreaks,
} from "../names.ts";
import { Queue } from "../queue/queue.ts";
import type { VHost } from "./vhost.ts";

/** Conditions of queue.delete. */
export interface DeleteConditions {
  readonly ifUnused: boolean;
  readonly ifEmpty: boolean;
}

/** All queues of a vhost. */
export class QueueRegistry {
  readonly all: Map<string, Queue> = new Map();
  readonly #vhost: VHost;
  readonly #byOwner = new Map<Owner, Set<Queue>>();

  /** Creates the empty registry of a vhost. */
  constructor(vhost: VHost) {
    this.#vhost = vhost;
  }

  #entity(name: string): string {
    return describe("queue", name, this.#vhost.name);
  }

  /** Creates a queue, or returns the one that was declared with the same properties. */
  declare(given: QueueSpec, owner: Owner): Queue {
    const spec = this.#named(given);
    const existing = this.all.get(spec.name);
    if (existing === undefined) return this.#create(spec, owner);
    this.#assertEquivalent(existing, spec, owner);
    settleTurn(existing);
    existing.touch();
    return existing;
  }

  // Returns the declaration with its final name. As in RabbitMQ, an exclusive queue is never durable.
  #named(given: QueueSpec): QueueSpec {
    const stripped = withoutLineBreaks(given.name);
    assertNotInternal(stripped, this.#vhost.name);
    if (stripped !== "") assertNewName("queue", stripped);
    const name = stripped !== "" ? stripped : this.#newName();
    return { ...given, name, durable: given.durable && !given.exclusive };
  }

  #newName(): string {
    let name: string;
    do name = generateQueueName(this.#vhost.broker.random); while (this.all.has(name));
    return name;
  }

  #create(spec: QueueSpec, owner: Owner): Queue {
    refuseUnknownRetryArguments(spec.args, this.#entity(spec.name));
    const args = parseQueueArguments(spec, this.#vhost.name);
    this.#assertRoom(spec.name);
    const declared = { spec, args, owner: spec.exclusive ? owner : null };
    const queue = new Queue(this.#vhost, this.#vhost.broker.takeQueueId(), declared);
    this.all.set(spec.name, queue);
    this.#vhost.broker.metrics.queuesCreated++;
    if (queue.owner !== null) this.#ownedBy(queue.owner).add(queue);
    this.#vhost.topologyEpoch += 1;
    defineQueue(this.#vhost.broker.store, this.#vhost.name, queue);
    return queue;
  }

  /**
   * Restores a queue from before the node started, under its old id. Unknown retry arguments are
   * ignored: earlier versions accepted such queues.
   */
  restore(spec: QueueSpec, id: number): Queue {
    const args = parseQueueArguments(spec, this.#vhost.name);
    const queue = new Queue(this.#vhost, id, { spec, args, owner: null });
    this.all.set(spec.name, queue);
    this.#vhost.topologyEpoch += 1;
    return queue;
  }

  /** Restores a deleted queue as the source of its remaining dead letters. */
  restoreDeleted(spec: QueueSpec, id: number): Queue {
    const args = parseQueueArguments(spec, this.#vhost.name);
    const queue = new Queue(this.#vhost, id, { spec, args, owner: null });
    queue.delete();
    return queue;
  }

  #assertRoom(name: string): void {
    const { queueCountMax } = this.#vhost.broker.limits;
    if (this.#vhost.countInNode((vhost) => vhost.queues.size) < queueCountMax) return;
    throw new ChannelError(
      PRECONDITION_FAILED,
      `cannot declare queue '${name}': queue limit (${queueCountMax}) is reached`,
    );
  }

  #ownedBy(owner: Owner): Set<Queue> {
    let queues = this.#byOwner.get(owner);
    if (queues === undefined) {
      queues = new Set();
      this.#byOwner.set(owner, queues);
    }
    return queues;
  }

  #assertEquivalent(queue: Queue, spec: QueueSpec, owner: Owner): void {
    const entity = this.#entity(queue.name);
    // Stricter than access: a declare must also ask for the same exclusiveness.
    if (queue.owner !== (spec.exclusive ? owner : null)) throw locked(entity);
    const compare = assertPropertyEquivalent;
    compare("durable", entity, { received: spec.durable, current: queue.durable });
    compare("auto_delete", entity, { received: spec.autoDelete, current: queue.autoDelete });
    refuseUnknownRetryArguments(spec.args, entity, queue.args.raw);
    const tables = { received: spec.args, current: queue.args.raw };
    assertArgumentsEquivalent(COMPARED_ARGUMENTS, entity, tables);
  }

  /**
   * Returns the queue of this name for a client to use: 403 internal, 404 missing, 405 of another
   * connection. Deliveries left by earlier frames of the turn are made first.
   */
  access(name: string, owner: Owner): Queue {
    assertNotInternal(name, this.#vhost.name);
    const queue = this.all.get(name);
    if (queue === undefined) throw new ChannelError(NOT_FOUND, `no ${this.#entity(name)}`);
    this.assertAccess(queue, owner);
    settleTurn(queue);
    return queue;
  }

  /** Refuses access to an exclusive queue of another connection. */
  assertAccess(queue: Queue, owner: Owner): void {
    if (queue.owner !== null && queue.owner !== owner) throw locked(this.#entity(queue.name));
  }

  /** Returns the queue to delete, if it exists and the conditions hold. */
  forDeletion(given: string, conditions: DeleteConditions, owner: Owner): Queue | null {
    const name = withoutLineBreaks(given);
    assertNotInternal(name, this.#vhost.name);
    const queue = this.all.get(name);
    if (queue === undefined) return null;
    this.assertAccess(queue, owner);
    settleTurn(queue);
    const entity = this.#entity(name);
    if (conditions.ifUnused && queue.consumerCount > 0) {
      throw preconditionFailed(`${entity} in use`);
    }
    if (conditions.ifEmpty && queue.readyCount + queue.delayedCount > 0) {
      throw preconditionFailed(`${entity} not empty`);
    }
    return queue;
  }

  /** Forgets a queue whose bindings are already removed. */
  forget(queue: Queue): void {
    this.all.delete(queue.name);
    this.#vhost.broker.metrics.queuesDeleted++;
    if (queue.owner !== null) {
      const owned = this.#byOwner.get(queue.owner);
      owned?.delete(queue);
      if (owned?.size === 0) this.#byOwner.delete(queue.owner);
    }
    this.#vhost.topologyEpoch += 1;
    const { store, deadLetters } = this.#vhost.broker;
    // Dead letters are published even after their queue is deleted; the log must name them first.
    deadLetters.enter();
    if (queue.dyingCount > 0) defineDeleted(store, this.#vhost.name, queue);
    undefineQueue(store, this.#vhost.name, queue);
  }

  /** Returns the exclusive queues of a connection. */
  exclusiveOf(owner: Owner): readonly Queue[] {
    return [...this.#byOwner.get(owner) ?? []];
  }
}

function locked(entity: string): ChannelError {
  return new ChannelError(
    RESOURCE_LOCKED,
    `cannot obtain exclusive access to locked ${entity}. It could be originally declared on ` +
      "another connection or the exclusive property value does not match that of the original " +
      "declaration.",
  );
}
