// The default exchange: a message goes to the queue whose name is its key. It has no bindings of its
// own and is made by the vhost alone. Internal retry queues are not among the vhost's queues, so a
// message addressed to one is unroutable.

import { unreachable } from "../../lib/assert.ts";
import type { Queue } from "../queue.ts";
import type { RouteMessage, RouteResult } from "../route.ts";
import type { ExchangeType, RoutingTable } from "./contract.ts";

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

/** The type of the default exchange of the vhost that has these queues; reported as `direct`. */
export function defaultExchangeType(queues: ReadonlyMap<string, Queue>): ExchangeType {
  return {
    name: "direct",
    usesRoutingKey: true,
    createTable: () => new DefaultTable(queues),
  };
}
