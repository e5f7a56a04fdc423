// The fanout exchange: a message goes to every bound destination, whatever the routing keys of the
// message and the bindings are.

import type { Binding } from "../routing/binding.ts";
import { BindingList } from "../routing/binding.ts";
import type { RouteMessage, RouteResult } from "../routing/route.ts";
import type { ExchangeType, RoutingTable } from "../routing/contract.ts";

class FanoutTable implements RoutingTable {
  readonly #list = new BindingList();

  bind(binding: Binding): void {
    this.#list.add(binding);
  }

  unbind(binding: Binding): void {
    this.#list.remove(binding);
  }

  match(_routingKey: string, _message: RouteMessage, result: RouteResult): void {
    result.addAll(this.#list);
  }
}

/** The type `fanout`. */
export const FANOUT: ExchangeType = {
  name: "fanout",
  usesRoutingKey: false,
  createTable: () => new FanoutTable(),
};
