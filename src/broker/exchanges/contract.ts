// What an exchange type is: how it checks an exchange and a binding, and the table by which it routes.
// Each type is one small file next to this one, listed in types.ts. A table knows bindings and keys
// only; alternate exchanges, cycles and several keys per message are the router's business.

import type { Binding } from "../binding.ts";
import type { Exchange } from "../exchange.ts";
import type { ExchangeSpec } from "../names.ts";
import type { RouteMessage, RouteResult } from "../route.ts";

/** The bindings of one exchange, arranged for its way of routing. */
export interface RoutingTable {
  /** Takes in a binding; `validateBinding` has accepted it. */
  bind(binding: Binding): void;
  /** Drops a binding that was taken in. */
  unbind(binding: Binding): void;
  /** Adds to `result` where a message with this key goes; called once for every key it has. */
  match(routingKey: string, message: RouteMessage, result: RouteResult): void;
}

/** One type of exchange. */
export interface ExchangeType {
  /** The name used in exchange.declare. */
  readonly name: string;
  /** Whether the key decides; if not, `match` is called once however many keys a message has. */
  readonly usesRoutingKey: boolean;
  /** Refuses arguments of an exchange that this type cannot accept, with a ChannelError. */
  validate?(spec: ExchangeSpec): void;
  /** Refuses a binding that this type cannot accept, with a ChannelError. */
  validateBinding?(source: Exchange, binding: Binding): void;
  /** A table without bindings. */
  createTable(): RoutingTable;
}
