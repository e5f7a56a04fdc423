// The contract of an exchange type: it checks exchanges and bindings, and makes the table by which an
// exchange routes. Each type is one small file in this folder, listed in types.ts. A table knows
// bindings and keys only; alternate exchanges, cycles and several keys per message are the router's
// business.

import type { Binding } from "./binding.ts";
import type { Exchange } from "./exchange.ts";
import type { ExchangeSpec } from "../names.ts";
import type { RouteMessage, RouteResult } from "./route.ts";

/** The bindings of one exchange, arranged for its way of routing. */
export interface RoutingTable {
  /** Adds a binding that `validateBinding` has accepted. */
  bind(binding: Binding): void;
  /** Removes a binding that was added. */
  unbind(binding: Binding): void;
  /** Adds the destinations of a message with this key to `result`; called once for each of its keys. */
  match(routingKey: string, message: RouteMessage, result: RouteResult): void;
}

/** One type of exchange. */
export interface ExchangeType {
  /** The name used in exchange.declare. */
  readonly name: string;
  /** Whether the type routes by key. If not, `match` is called once per message, whatever its keys. */
  readonly usesRoutingKey: boolean;
  /** Throws a ChannelError for arguments of an exchange that this type cannot accept. */
  validate?(spec: ExchangeSpec): void;
  /** Throws a ChannelError for a binding that this type cannot accept. */
  validateBinding?(source: Exchange, binding: Binding): void;
  /** Returns a table without bindings. */
  createTable(): RoutingTable;
}
