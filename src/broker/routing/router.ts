// Finds the queues that a message goes to from the exchange it was published to. It follows bindings
// between exchanges and alternate exchanges, each exchange once per message, so cycles end and nothing
// recurses. Publishers and dead-lettering call it through VHost.route().

import type { Exchange } from "./exchange.ts";
import type { RouteMessage, RouteResult } from "./route.ts";

/** Routes messages within one vhost. */
export class Router {
  readonly #exchanges: ReadonlyMap<string, Exchange>;
  #lastStamp = 0;

  /** Creates a router over the exchanges of a vhost. */
  constructor(exchanges: ReadonlyMap<string, Exchange>) {
    this.#exchanges = exchanges;
  }

  /** Appends the queues that `message` reaches from `exchange` to `result`, each queue once. */
  route(exchange: Exchange, message: RouteMessage, result: RouteResult): void {
    const stamp = ++this.#lastStamp;
    if (result.stamp === 0) result.stamp = stamp;
    if (message.extraKeys !== null) result.isCacheable = false;
    result.visitStamp = stamp;
    result.exchangeCount = 0;
    exchange.visitStamp = stamp;
    this.#routeThrough(exchange, message, result);
    for (let i = 0; i < result.exchangeCount; i++) {
      this.#routeThrough(result.exchanges[i]!, message, result);
    }
  }

  #routeThrough(exchange: Exchange, message: RouteMessage, result: RouteResult): void {
    const matchedBefore = result.matchCount;
    const { table } = exchange;
    table.match(message.routingKey, message, result);
    const { extraKeys } = message;
    if (extraKeys !== null && exchange.behaviour.usesRoutingKey) {
      for (let i = 0; i < extraKeys.length; i++) table.match(extraKeys[i]!, message, result);
    }
    // As in RabbitMQ, an exchange with any match does not use its alternate exchange.
    if (result.matchCount !== matchedBefore || exchange.alternate === null) return;
    const alternate = this.#exchanges.get(exchange.alternate);
    if (alternate !== undefined) result.addExchange(alternate);
  }
}
