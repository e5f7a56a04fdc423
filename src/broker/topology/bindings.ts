// The bindings of one vhost: adds them, finds them by their ends and routing, and removes them
// together with either end. VHost calls it after it has checked permissions. Deleting an exchange
// that lost its last binding is the business of VHost.

import { ChannelError } from "../../amqp/errors.ts";
import type { FieldTable } from "../../amqp/field_value.ts";
import { PRECONDITION_FAILED } from "../../amqp/reply_code.ts";
import type { DestinationType } from "../names.ts";
import { Binding } from "../routing/binding.ts";
import { bindingKey, propertiesKey } from "../routing/binding_key.ts";
import { defineBinding, undefineBinding } from "./definitions.ts";
import type { Exchange } from "../routing/exchange.ts";
import { assertFits } from "../names.ts";
import type { Queue } from "../queue/queue.ts";
import type { VHost } from "./vhost.ts";

/** The destination of a binding. */
export type BindingEnd = Queue | Exchange;

/** The two ends of a binding. */
export interface BindingEnds {
  readonly source: Exchange;
  readonly destination: BindingEnd;
  readonly type: DestinationType;
}

/** Routing key and arguments of a binding. */
export interface BindingRouting {
  readonly routingKey: string;
  readonly args: FieldTable;
}

/** All bindings of a vhost. */
export class Bindings {
  readonly #vhost: VHost;
  /** Bindings by destination. The bindings by source are kept in their exchange. */
  readonly #incoming = new Map<BindingEnd, Set<Binding>>();
  #count = 0;

  /** Creates the empty set of a vhost. */
  constructor(vhost: VHost) {
    this.#vhost = vhost;
  }

  /** Number of bindings. */
  get count(): number {
    return this.#count;
  }

  /** Returns the binding with these ends and this routing, if it exists. */
  find(ends: BindingEnds, routing: BindingRouting): Binding | undefined {
    return ends.source.bindings.get(keyOf(ends, routing));
  }

  /** Returns the binding with these ends and this routing; adds it unless it exists. */
  add(ends: BindingEnds, routing: BindingRouting): Binding {
    const key = keyOf(ends, routing);
    const { source } = ends;
    const known = source.bindings.get(key);
    if (known !== undefined) return known;
    assertFits("routing key", routing.routingKey);
    const binding = newBinding(ends, routing, key);
    source.behaviour.validateBinding?.(source, binding);
    this.#assertRoom(binding);
    this.#insert(binding);
    defineBinding(this.#vhost.broker.store, this.#vhost.name, binding);
    return binding;
  }

  /** Restores a binding from before the node started. It was accepted then, so no limit refuses it. */
  restore(ends: BindingEnds, routing: BindingRouting): void {
    this.#insert(newBinding(ends, routing, keyOf(ends, routing)));
  }

  #assertRoom(binding: Binding): void {
    const { limits } = this.#vhost.broker;
    if (this.#vhost.countInNode((vhost) => vhost.bindingCount) < limits.bindingCountMax) return;
    const { destinationType, destination } = binding;
    throw new ChannelError(
      PRECONDITION_FAILED,
      `cannot bind ${destinationType} '${destination}': ` +
        `binding limit (${limits.bindingCountMax}) is reached`,
    );
  }

  #insert(binding: Binding): void {
    const end = binding.queue ?? binding.exchange!;
    const incoming = this.#incoming.get(end);
    if (incoming === undefined) this.#incoming.set(end, new Set([binding]));
    else incoming.add(binding);
    binding.source.bindings.set(binding.key, binding);
    binding.source.table.bind(binding);
    this.#count += 1;
    this.#vhost.topologyEpoch += 1;
  }

  /** Removes a binding. */
  remove(binding: Binding): void {
    const end = binding.queue ?? binding.exchange!;
    const incoming = this.#incoming.get(end)!;
    incoming.delete(binding);
    if (incoming.size === 0) this.#incoming.delete(end);
    binding.source.bindings.delete(binding.key);
    binding.source.table.unbind(binding);
    this.#count -= 1;
    this.#vhost.topologyEpoch += 1;
    undefineBinding(this.#vhost.broker.store, this.#vhost.name, binding);
  }

  /** Removes every binding that leads to `end` and returns the exchanges they came from. */
  removeIncoming(end: BindingEnd): Set<Exchange> {
    const sources = new Set<Exchange>();
    for (const binding of [...this.#incoming.get(end) ?? []]) {
      this.remove(binding);
      sources.add(binding.source);
    }
    return sources;
  }

  /** Removes every binding that starts from `source`. */
  removeOutgoing(source: Exchange): void {
    for (const binding of [...source.bindings.values()]) this.remove(binding);
  }
}

function newBinding(ends: BindingEnds, routing: BindingRouting, key: string): Binding {
  const { routingKey, args } = routing;
  return new Binding(ends, routing, { key, propertiesKey: propertiesKey(routingKey, args) });
}

function keyOf(ends: BindingEnds, routing: BindingRouting): string {
  return bindingKey({
    destination: ends.destination.name,
    destinationType: ends.type,
    routingKey: routing.routingKey,
    args: routing.args,
  });
}
