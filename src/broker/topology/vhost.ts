// A virtual host: its exchanges, queues and bindings, and all operations of clients and management on
// them. It is one facade over the registries, the bindings and the router. Refusals are ChannelErrors
// with RabbitMQ's texts; the session adds the method that caused them.

import type { FieldTable } from "../../amqp/field_value.ts";
import { EMPTY_TABLE } from "../../amqp/field_value.ts";
import type { Binding } from "../routing/binding.ts";
import { propertiesKey } from "../routing/binding_key.ts";
import type { BindingEnds, BindingRouting } from "./bindings.ts";
import { Bindings } from "./bindings.ts";
import type { TopologyBroker } from "./home.ts";
import type { Exchange } from "../routing/exchange.ts";
import {
  assertNotDefaultExchange,
  DEFAULT_EXCHANGE,
  ExchangeRegistry,
} from "./exchange_registry.ts";
import type { DestinationType, ExchangeSpec, Owner, QueueSpec } from "../names.ts";
import { assertNotInternal, withoutLineBreaks } from "../names.ts";
import type { Queue } from "../queue/queue.ts";
import type { DeleteConditions } from "./queue_registry.ts";
import { QueueRegistry } from "./queue_registry.ts";
import type { RouteMessage, RouteResult } from "../routing/route.ts";
import { Router } from "../routing/router.ts";

export type { ExchangeSpec, Owner, QueueSpec } from "../names.ts";
export type { DeleteConditions } from "./queue_registry.ts";

/** The arguments of queue.bind and queue.unbind. */
export interface QueueBinding {
  readonly queue: string;
  readonly exchange: string;
  readonly routingKey: string;
  readonly args: FieldTable;
}

/** The arguments of exchange.bind and exchange.unbind. */
export interface ExchangeBinding {
  readonly destination: string;
  readonly source: string;
  readonly routingKey: string;
  readonly args: FieldTable;
}

/** A binding as management lists it. */
export interface BindingInfo {
  readonly source: string;
  readonly destination: string;
  readonly destinationType: DestinationType;
  readonly routingKey: string;
  readonly args: FieldTable;
  readonly propertiesKey: string;
}

/** One virtual host. */
export class VHost {
  readonly broker: TopologyBroker;
  readonly name: string;
  /**
   * Rises with every change that can change a route. A route found at a lower epoch is not used again.
   */
  topologyEpoch = 0;
  readonly #queues: QueueRegistry;
  readonly #bindings: Bindings;
  readonly #exchanges: ExchangeRegistry;
  readonly #router: Router;

  /** Creates a vhost with the predeclared exchanges. */
  constructor(broker: TopologyBroker, name: string) {
    this.broker = broker;
    this.name = name;
    this.#queues = new QueueRegistry(this);
    this.#bindings = new Bindings(this);
    this.#exchanges = new ExchangeRegistry(this, this.#bindings);
    this.#router = new Router(this.#exchanges.all);
  }

  /** The queues by name, without internal retry queues, which are views. */
  get queues(): ReadonlyMap<string, Queue> {
    return this.#queues.all;
  }

  /** The exchanges by name; the default exchange has the empty name. */
  get exchanges(): ReadonlyMap<string, Exchange> {
    return this.#exchanges.all;
  }

  /** Number of bindings, without the implied ones of the default exchange. */
  get bindingCount(): number {
    return this.#bindings.count;
  }

  /** Returns the sum of a count over all vhosts of the node, for limits of the node. */
  countInNode(countOf: (vhost: VHost) => number): number {
    let count = 0;
    for (const vhost of this.broker.vhosts.values()) count += countOf(vhost);
    return count;
  }

  // --- exchanges

  /** exchange.declare. */
  declareExchange(spec: ExchangeSpec): Exchange {
    return this.#exchanges.declare(spec);
  }

  /** Restores a durable exchange from before the node started. */
  restoreExchange(spec: ExchangeSpec): void {
    this.#exchanges.restore(spec);
  }

  /** exchange.declare, passive. */
  passiveExchange(name: string): Exchange {
    const stripped = withoutLineBreaks(name);
    assertNotDefaultExchange(stripped);
    return this.#exchanges.lookup(stripped);
  }

  /** exchange.delete; does nothing when the exchange does not exist. */
  deleteExchange(name: string, ifUnused: boolean): void {
    this.#exchanges.delete(name, ifUnused);
  }

  // --- queues

  /** queue.declare; an empty name asks for a generated one. */
  declareQueue(spec: QueueSpec, owner: Owner): Queue {
    return this.#queues.declare(spec, owner);
  }

  /** Restores a durable queue from before the node started, under its old id. */
  restoreQueue(spec: QueueSpec, id: number): Queue {
    return this.#queues.restore(spec, id);
  }

  /** Restores a queue that was deleted before the node started, for its dead letters. */
  restoreDeletedQueue(spec: QueueSpec, id: number): Queue {
    return this.#queues.restoreDeleted(spec, id);
  }

  /** queue.declare, passive; counts as use of the queue, as in RabbitMQ. */
  passiveQueue(name: string, owner: Owner): Queue {
    const queue = this.#queues.access(withoutLineBreaks(name), owner);
    queue.touch();
    return queue;
  }

  /** Returns the queue that a client names in consume, get and other methods. */
  accessQueue(name: string, owner: Owner): Queue {
    return this.#queues.access(name, owner);
  }

  /** queue.delete. Returns how many ready messages were deleted; 0 for a queue that does not exist. */
  deleteQueue(name: string, conditions: DeleteConditions, owner: Owner): number {
    const queue = this.#queues.forDeletion(name, conditions, owner);
    return queue === null ? 0 : this.removeQueue(queue);
  }

  /** queue.purge. Returns how many messages were removed, delayed ones included. */
  purgeQueue(name: string, owner: Owner): number {
    return this.#queues.access(name, owner).purge();
  }

  /**
   * Removes a queue, for any reason: a delete, its last consumer, its expiry, its connection. Removing
   * it twice does nothing. Returns how many messages were ready.
   */
  removeQueue(queue: Queue): number {
    if (this.#queues.all.get(queue.name) !== queue) return 0;
    const sources = this.#bindings.removeIncoming(queue);
    this.#queues.forget(queue);
    const readyCount = queue.delete();
    this.#exchanges.deleteAbandoned(sources);
    return readyCount;
  }

  /** Ends the exclusive queues of a connection that closes. */
  deleteExclusive(owner: Owner): void {
    for (const queue of this.#queues.exclusiveOf(owner)) this.removeQueue(queue);
  }

  // --- bindings

  /** queue.bind; does nothing when the binding exists. */
  bindQueue(named: QueueBinding, owner: Owner): Binding {
    const { queue: queueName, exchange } = withNamesStripped(named);
    assertNotInternal(queueName, this.name);
    assertNotDefaultExchange(exchange);
    const source = this.#exchanges.lookup(exchange);
    const destination = this.#queues.access(queueName, owner);
    return this.#bindings.add({ source, destination, type: "queue" }, routingOf(named));
  }

  /** queue.unbind; does nothing when the binding does not exist. */
  unbindQueue(named: QueueBinding, owner: Owner): void {
    const { queue: queueName, exchange } = withNamesStripped(named);
    assertNotInternal(queueName, this.name);
    assertNotDefaultExchange(exchange);
    const source = this.#exchanges.all.get(exchange);
    const destination = this.#queues.all.get(queueName);
    if (source === undefined || destination === undefined) return;
    const binding = this.#bindings.find({ source, destination, type: "queue" }, routingOf(named));
    if (binding === undefined) return;
    this.#queues.assertAccess(destination, owner);
    this.#unbind(binding);
  }

  /** exchange.bind; does nothing when the binding exists. */
  bindExchange(named: ExchangeBinding): Binding {
    const { source, destination } = withEndsStripped(named);
    assertNotDefaultExchange(destination);
    assertNotDefaultExchange(source);
    const ends: BindingEnds = {
      source: this.#exchanges.lookup(source),
      destination: this.#exchanges.lookup(destination),
      type: "exchange",
    };
    return this.#bindings.add(ends, routingOf(named));
  }

  /** exchange.unbind; does nothing when the binding does not exist. */
  unbindExchange(named: ExchangeBinding): void {
    const { source: sourceName, destination: destinationName } = withEndsStripped(named);
    assertNotDefaultExchange(destinationName);
    assertNotDefaultExchange(sourceName);
    const source = this.#exchanges.all.get(sourceName);
    const destination = this.#exchanges.all.get(destinationName);
    if (source === undefined || destination === undefined) return;
    const ends: BindingEnds = { source, destination, type: "exchange" };
    const binding = this.#bindings.find(ends, routingOf(named));
    if (binding !== undefined) this.#unbind(binding);
  }

  /** Restores a binding from before the node started, unless one of its ends is gone. */
  restoreBinding(named: Omit<BindingInfo, "propertiesKey">): void {
    const { source: sourceName, destination: destinationName, destinationType: type } = named;
    const destinations = type === "queue" ? this.queues : this.exchanges;
    const source = this.exchanges.get(sourceName);
    const destination = destinations.get(destinationName);
    if (source === undefined || destination === undefined) return;
    this.#bindings.restore({ source, destination, type }, routingOf(named));
  }

  #unbind(binding: Binding): void {
    this.#bindings.remove(binding);
    this.#exchanges.deleteAbandoned([binding.source]);
  }

  /** All bindings; those that the default exchange implies come first. */
  *bindings(): Iterable<BindingInfo> {
    for (const queue of this.queues.values()) yield impliedBinding(queue.name);
    for (const exchange of this.exchanges.values()) {
      for (const binding of exchange.bindings.values()) yield bindingInfo(binding);
    }
  }

  // --- routing

  /**
   * Appends the queues that a message published to `exchange` goes to, each once, through bindings
   * between exchanges and alternate exchanges. Cycles end. Allocates nothing unless headers are read.
   */
  route(exchange: Exchange, message: RouteMessage, result: RouteResult): void {
    this.#router.route(exchange, message, result);
  }
}

function routingOf(named: BindingRouting): BindingRouting {
  return { routingKey: named.routingKey, args: named.args };
}

function withNamesStripped(named: QueueBinding): { queue: string; exchange: string } {
  return { queue: withoutLineBreaks(named.queue), exchange: withoutLineBreaks(named.exchange) };
}

function withEndsStripped(named: ExchangeBinding): { source: string; destination: string } {
  return {
    source: withoutLineBreaks(named.source),
    destination: withoutLineBreaks(named.destination),
  };
}

function impliedBinding(queue: string): BindingInfo {
  return {
    source: DEFAULT_EXCHANGE,
    destination: queue,
    destinationType: "queue",
    routingKey: queue,
    args: EMPTY_TABLE,
    propertiesKey: propertiesKey(queue, EMPTY_TABLE),
  };
}

function bindingInfo(binding: Binding): BindingInfo {
  return {
    source: binding.source.name,
    destination: binding.destination,
    destinationType: binding.destinationType,
    routingKey: binding.routingKey,
    args: binding.args,
    propertiesKey: binding.propertiesKey,
  };
}
