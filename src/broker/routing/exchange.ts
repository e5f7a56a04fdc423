// An exchange: its declared properties, the table it routes by, and the bindings that start from it.
// The exchange registry makes it and the router routes through it; it never holds a message.

import { textOf } from "../../amqp/field_value.ts";
import type { FieldTable } from "../../amqp/field_value.ts";
import type { Binding } from "./binding.ts";
import type { ExchangeType, RoutingTable } from "./contract.ts";
import type { ExchangeSpec } from "../names.ts";

/** The argument that names the exchange for unroutable messages. */
export const ALTERNATE_EXCHANGE = "alternate-exchange";

/** One exchange of a vhost. */
export class Exchange {
  readonly name: string;
  /** The name of the exchange type. */
  readonly type: string;
  readonly durable: boolean;
  readonly autoDelete: boolean;
  /** Whether publishing to it is refused, so that messages reach it through bindings only. */
  readonly internal: boolean;
  /** The arguments as the client gave them. */
  readonly args: FieldTable;
  /** Name of the exchange that gets the messages that this one cannot route; null if there is none. */
  readonly alternate: string | null;
  /** The behaviour of its exchange type. */
  readonly behaviour: ExchangeType;
  /** Its bindings, arranged by the exchange type. */
  readonly table: RoutingTable;
  /** The bindings that start from this exchange, by identity. */
  readonly bindings = new Map<string, Binding>();
  /** Number of the batch that holds its definition; 0 if no batch of this run does. */
  definedBatch = 0;
  /** Stamp of the last routing that passed this exchange; see `RouteResult.visitStamp`. */
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
