// What one act of routing reads and writes: the message as exchanges see it, and the reusable list of
// queues it goes to. Publishers and dead-lettering own a RouteResult each and hand it to
// VHost.route(); nothing here stores a message or decides what happens to it.

import type { FieldTable } from "../amqp/field_value.ts";
import type { Binding, BindingList } from "./binding.ts";
import type { Exchange } from "./exchange.ts";
import type { Queue } from "./queue.ts";

/** A message as far as exchanges look at it. */
export interface RouteMessage {
  /** The routing key it was published with. */
  readonly routingKey: string;
  /** Keys of its `CC` and `BCC` headers, which route in addition; null without any. */
  readonly extraKeys: readonly string[] | null;
  /** Its headers, decoded when a headers exchange first asks for them. */
  headers(): FieldTable | null;
}

/**
 * The queues a message goes to, each once. Reused: `reset`, then one or more `VHost.route` calls,
 * then read `queues[0, count)`; what stands behind `count` is left over from earlier messages.
 */
export class RouteResult {
  /** The queues found; only the first `count` are meant. */
  readonly queues: Queue[] = [];
  /** How many queues were found. */
  count = 0;
  /** Whether the same key at the same topology always gives these queues. */
  isCacheable = true;
  /** Marks the queues already in this result, see `Queue.routeStamp`; 0 before the first route. */
  stamp = 0;
  /** Exchanges still to be looked at; only the first `exchangeCount` are meant. */
  readonly exchanges: Exchange[] = [];
  /** How many exchanges one `VHost.route` call has come across. */
  exchangeCount = 0;
  /** Marks the exchanges already in `exchanges`, see `Exchange.visitStamp`. */
  visitStamp = 0;
  /** Bindings and queues matched so far, those found before included. */
  matchCount = 0;

  /** Forgets the queues of the last message. */
  reset(): void {
    this.count = 0;
    this.isCacheable = true;
    this.stamp = 0;
    this.matchCount = 0;
  }

  /** Adds a queue unless it is there already. */
  addQueue(queue: Queue): void {
    this.matchCount += 1;
    if (queue.routeStamp === this.stamp) return;
    queue.routeStamp = this.stamp;
    this.queues[this.count++] = queue;
  }

  /** Adds an exchange to be looked at unless this message passed it already. */
  addExchange(exchange: Exchange): void {
    this.matchCount += 1;
    if (exchange.visitStamp === this.visitStamp) return;
    exchange.visitStamp = this.visitStamp;
    this.exchanges[this.exchangeCount++] = exchange;
  }

  /** Adds the destination of a binding. */
  add(binding: Binding): void {
    if (binding.queue !== null) this.addQueue(binding.queue);
    else this.addExchange(binding.exchange!);
  }

  /** Adds the destinations of all bindings of a list. */
  addAll(bindings: BindingList): void {
    const items = bindings.items;
    for (let i = 0; i < items.length; i++) this.add(items[i]!);
  }
}
