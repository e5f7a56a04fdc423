// The input and output of routing: the message as exchanges see it, and the reusable list of queues
// that it goes to. Publishers and dead-lettering each own a RouteResult and pass it to VHost.route().
// Nothing here stores a message or decides what happens to it.

import type { FieldTable } from "../../amqp/field_value.ts";
import type { Binding, BindingList } from "./binding.ts";
import type { Exchange } from "./exchange.ts";
import type { Queue } from "../queue/queue.ts";

/** The parts of a message that exchanges look at. */
export interface RouteMessage {
  /** The routing key of the publish. */
  readonly routingKey: string;
  /** Keys of its `CC` and `BCC` headers, by which it is routed in addition; null when there are none. */
  readonly extraKeys: readonly string[] | null;
  /** Its headers, decoded when a headers exchange first asks for them. */
  headers(): FieldTable | null;
}

/**
 * The queues that a message goes to, each once. To reuse it, call `reset`, then `VHost.route` one or
 * more times, then read `queues[0, count)`. Elements from `count` on are left over from earlier
 * messages.
 */
export class RouteResult {
  /** The queues found; only the first `count` are valid. */
  readonly queues: Queue[] = [];
  /** How many queues were found. */
  count = 0;
  /** Whether the same key always leads to these queues while the topology stays the same. */
  isCacheable = true;
  /**
   * Marks the queues that are already in this result; see `Queue.routeStamp`. 0 before the first route.
   */
  stamp = 0;
  /** Exchanges still to be passed; only the first `exchangeCount` are valid. */
  readonly exchanges: Exchange[] = [];
  /** How many exchanges one `VHost.route` call has found. */
  exchangeCount = 0;
  /** Marks the exchanges that are already in `exchanges`; see `Exchange.visitStamp`. */
  visitStamp = 0;
  /** Bindings and queues matched so far, repeated ones included. */
  matchCount = 0;

  /** Forgets the queues of the last message. */
  reset(): void {
    this.count = 0;
    this.isCacheable = true;
    this.stamp = 0;
    this.matchCount = 0;
  }

  /** Adds a queue unless it is in the result already. */
  addQueue(queue: Queue): void {
    this.matchCount += 1;
    if (queue.routeStamp === this.stamp) return;
    queue.routeStamp = this.stamp;
    this.queues[this.count++] = queue;
  }

  /** Adds an exchange to be passed, unless this message has passed it already. */
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
