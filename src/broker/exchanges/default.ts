// The default exchange: a message goes to the queue whose name is its routing key. It has no bindings
// of its own, and only the vhost makes it. Internal retry queues are not among the vhost's queues, so a
// message with the name of one is unroutable.

import { unreachable } from "../../lib/assert.ts";
import type { Queue } from "../queue/queue.ts";
import type { RouteMessage, RouteResult } from "../routing/route.ts";
import type { ExchangeType, RoutingTable } from "../routing/contract.ts";

class DefaultTable implements RoutingTable {
  readonly #queues: ReadonlyMap<string, Queue>;

  constructor(queues: ReadonlyMap<string, Queue>) {
    this.#queues = queues;
  }

  bind(): void {
    unreachable("binding on the default exchange");
  }

  unbind(): void {
    unreachable("binding on the default exchange");
  }

  match(routingKey: string, _message: RouteMessage, result: RouteResult): void {
    const queue = this.#queues.get(routingKey);
    if (queue !== undefined) result.addQueue(queue);
  }
}

/** Returns the type of the default exchange for a vhost's queues; it is reported as `direct`. */
export function defaultExchangeType(queues: ReadonlyMap<string, Queue>): ExchangeType {
  return {
    name: "direct",
    usesRoutingKey: true,
    createTable: () => new DefaultTable(queues),
  };
}
