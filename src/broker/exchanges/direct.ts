// The direct exchange: a message goes to every destination that is bound with exactly its routing key.
// The cost is one lookup per key and one step per destination.

import type { Binding } from "../routing/binding.ts";
import { BindingList } from "../routing/binding.ts";
import type { RouteMessage, RouteResult } from "../routing/route.ts";
import type { ExchangeType, RoutingTable } from "../routing/contract.ts";

class DirectTable implements RoutingTable {
  readonly #lists = new Map<string, BindingList>();

  bind(binding: Binding): void {
    let list = this.#lists.get(binding.routingKey);
    if (list === undefined) {
      list = new BindingList();
      this.#lists.set(binding.routingKey, list);
    }
    list.add(binding);
  }

  unbind(binding: Binding): void {
    const list = this.#lists.get(binding.routingKey)!;
    list.remove(binding);
    if (list.isEmpty) this.#lists.delete(binding.routingKey);
  }

  match(routingKey: string, _message: RouteMessage, result: RouteResult): void {
    const list = this.#lists.get(routingKey);
    if (list !== undefined) result.addAll(list);
  }
}

/** The type `direct`. */
export const DIRECT: ExchangeType = {
  name: "direct",
  usesRoutingKey: true,
  createTable: () => new DirectTable(),
};
