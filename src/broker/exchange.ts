// An exchange: what it was declared as, the table it routes by and the bindings that start from it.
// Made by the exchange registry, routed through by the router; it never holds a message.

import { textOf } from "../amqp/field_value.ts";
import type { FieldTable } from "../amqp/field_value.ts";
import type { Binding } from "./binding.ts";
import type { ExchangeType, RoutingTable } from "./exchanges/contract.ts";
import type { ExchangeSpec } from "./names.ts";

/** The argument that names where unroutable messages go. */
export const ALTERNATE_EXCHANGE = "alternate-exchange";

/** One exchange of a vhost. */
export class Exchange {
  readonly name: string;
  /** The name of its type. */
  readonly type: string;
  readonly durable: boolean;
  readonly autoDelete: boolean;
  /** Whether only bindings lead to it; publishing to it is refused. */
  readonly internal: boolean;
  /** The arguments as given. */
  readonly args: FieldTable;
  /** Name of the exchange that gets what this one cannot route; null if there is none. */
  readonly alternate: string | null;
  /** How its type behaves. */
  readonly behaviour: ExchangeType;
  /** Its bindings as the type arranges them. */
  readonly table: RoutingTable;
  /** The bindings that start from it, by identity. */
  readonly bindings = new Map<string, Binding>();
  /** Batch that has its definition; 0 when none has, or an earlier life of the node. */
  definedBatch = 0;
  /** Marks it as passed by one act of routing, see `RouteResult.visitStamp`. */
  visitStamp = 0;

  /** Creates an exchange without bindings from a validated spec. */
  constructor(spec: ExchangeSpec, behaviour: ExchangeType) {
    this.name = spec.name;
    this.type = spec.type;
    this.durable = spec.durable;
    this.autoDelete = spec.autoDelete;
    this.internal = spec.internal;
    this.args = spec.args;
    this.alternate = textOf(spec.args.get(ALTERNATE_EXCHANGE)) ?? null;
    this.behaviour = behaviour;
    this.table = behaviour.createTable();
  }
}
