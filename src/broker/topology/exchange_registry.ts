// The exchanges of one vhost: declares, looks up and deletes them, auto-delete exchanges also when they
// lose their last binding. VHost calls it. Refusals carry RabbitMQ's texts.

import { ChannelError } from "../../amqp/errors.ts";
import { EMPTY_TABLE } from "../../amqp/field_value.ts";
import { ACCESS_REFUSED, NOT_FOUND, PRECONDITION_FAILED } from "../../amqp/reply_code.ts";
import { invalidArgument, preconditionFailed } from "../arguments/argument_error.ts";
import { assertArgumentsEquivalent, assertPropertyEquivalent } from "../arguments/equivalence.ts";
import { fieldTypeName } from "../arguments/field_text.ts";
import { shortText } from "../arguments/validators.ts";
import type { Bindings } from "./bindings.ts";
import { defineExchange, undefineExchange } from "./definitions.ts";
import { ALTERNATE_EXCHANGE, Exchange } from "../routing/exchange.ts";
import { defaultExchangeType } from "../exchanges/default.ts";
import { exchangeType } from "../exchanges/types.ts";
import type { ExchangeSpec } from "../names.ts";
import { assertNewName, describe, RESERVED_PREFIX, withoutLineBreaks } from "../names.ts";
import type { VHost } from "./vhost.ts";

/** The name of the default exchange. */
export const DEFAULT_EXCHANGE = "";

/** The exchanges every vhost has, with their types. */
const PREDECLARED: readonly (readonly [string, string])[] = [
  ["amq.direct", "direct"],
  ["amq.fanout", "fanout"],
  ["amq.topic", "topic"],
  ["amq.headers", "headers"],
  ["amq.match", "headers"],
];

/** Arguments of exchange features that are not implemented. */
const NOT_SUPPORTED_YET: readonly string[] = ["x-message-deduplication", "x-delayed-exchange"];

/** All exchanges of a vhost. */
export class ExchangeRegistry {
  readonly all: Map<string, Exchange> = new Map();
  readonly #vhost: VHost;
  readonly #bindings: Bindings;

  /** Creates the registry with the exchanges every vhost has. */
  constructor(vhost: VHost, bindings: Bindings) {
    this.#vhost = vhost;
    this.#bindings = bindings;
    const behaviour = defaultExchangeType(vhost.queues);
    this.all.set(
      DEFAULT_EXCHANGE,
      new Exchange(predeclared(DEFAULT_EXCHANGE, "direct"), behaviour),
    );
    for (const [name, type] of PREDECLARED) {
      this.all.set(name, new Exchange(predeclared(name, type), exchangeType(type)));
    }
  }

  /** Creates an exchange, or returns the one that was declared with the same properties. */
  declare(spec: ExchangeSpec): Exchange {
    const name = withoutLineBreaks(spec.name);
    const behaviour = exchangeType(spec.type);
    assertNotDefaultExchange(name);
    const existing = this.all.get(name);
    if (existing !== undefined) {
      this.#assertEquivalent(existing, spec);
      return existing;
    }
    assertNewName("exchange", name);
    this.#assertArguments(name, spec);
    behaviour.validate?.(spec);
    this.#assertRoom(name);
    const exchange = new Exchange({ ...spec, name }, behaviour);
    this.all.set(name, exchange);
    this.#vhost.topologyEpoch += 1;
    defineExchange(this.#vhost.broker.store, this.#vhost.name, exchange);
    return exchange;
  }

  /** Restores an exchange from before the node started. It was accepted then, so no limit refuses it. */
  restore(spec: ExchangeSpec): void {
    this.all.set(spec.name, new Exchange(spec, exchangeType(spec.type)));
    this.#vhost.topologyEpoch += 1;
  }

  #assertEquivalent(exchange: Exchange, spec: ExchangeSpec): void {
    const entity = describe("exchange", exchange.name, this.#vhost.name);
    const compare = assertPropertyEquivalent;
    compare("type", entity, { received: spec.type, current: exchange.type });
    compare("durable", entity, { received: spec.durable, current: exchange.durable });
    compare("auto_delete", entity, { received: spec.autoDelete, current: exchange.autoDelete });
    compare("internal", entity, { received: spec.internal, current: exchange.internal });
    const tables = { received: spec.args, current: exchange.args };
    assertArgumentsEquivalent([ALTERNATE_EXCHANGE], entity, tables);
  }

  #assertArguments(name: string, spec: ExchangeSpec): void {
    const entity = describe("exchange", name, this.#vhost.name);
    const alternate = spec.args.get(ALTERNATE_EXCHANGE);
    if (alternate !== undefined) {
      if (alternate.tag !== "S") {
        const type = fieldTypeName(alternate);
        throw preconditionFailed(
          `invalid type '${type}' for arg '${ALTERNATE_EXCHANGE}' in ${entity}`,
        );
      }
      const problem = shortText(alternate);
      if (problem !== null) throw invalidArgument(ALTERNATE_EXCHANGE, entity, problem);
    }
    for (const argument of NOT_SUPPORTED_YET) {
      const field = spec.args.get(argument);
      if (field === undefined || (field.tag === "t" && !field.value)) continue;
      throw invalidArgument(argument, entity, "not supported yet");
    }
  }

  #assertRoom(name: string): void {
    const { exchangeCountMax } = this.#vhost.broker.limits;
    if (this.#vhost.countInNode((vhost) => vhost.exchanges.size) < exchangeCountMax) return;
    throw new ChannelError(
      PRECONDITION_FAILED,
      `cannot declare exchange '${name}': exchange limit (${exchangeCountMax}) is reached`,
    );
  }

  /** Returns the exchange of this name. @throws ChannelError 404 when there is none */
  lookup(name: string): Exchange {
    const exchange = this.all.get(name);
    if (exchange !== undefined) return exchange;
    throw new ChannelError(NOT_FOUND, `no ${describe("exchange", name, this.#vhost.name)}`);
  }

  /** Deletes the exchange of this name, if there is one. */
  delete(given: string, ifUnused: boolean): void {
    const name = withoutLineBreaks(given);
    assertNotDefaultExchange(name);
    const entity = describe("exchange", name, this.#vhost.name);
    if (name.startsWith(RESERVED_PREFIX)) {
      throw new ChannelError(ACCESS_REFUSED, `deletion of system ${entity} not allowed`);
    }
    const exchange = this.all.get(name);
    if (exchange === undefined) return;
    if (ifUnused && exchange.bindings.size > 0) throw preconditionFailed(`${entity} in use`);
    this.#remove(exchange);
  }

  /** Deletes those of `exchanges` that are auto-delete and have no binding left. */
  deleteAbandoned(exchanges: Iterable<Exchange>): void {
    for (const exchange of exchanges) {
      if (isAbandoned(exchange) && this.all.get(exchange.name) === exchange) this.#remove(exchange);
    }
  }

  // Removing one exchange may leave others without bindings. They are kept in a list instead of removed
  // by recursion, because a chain of exchanges may be longer than the stack.
  #remove(exchange: Exchange): void {
    const leaving = new Set([exchange]);
    for (const gone of leaving) {
      this.all.delete(gone.name);
      this.#bindings.removeOutgoing(gone);
      for (const source of this.#bindings.removeIncoming(gone)) {
        if (isAbandoned(source)) leaving.add(source);
      }
      this.#vhost.topologyEpoch += 1;
      undefineExchange(this.#vhost.broker.store, this.#vhost.name, gone);
    }
  }
}

function predeclared(name: string, type: string): ExchangeSpec {
  return { name, type, durable: true, autoDelete: false, internal: false, args: EMPTY_TABLE };
}

function isAbandoned(exchange: Exchange): boolean {
  return exchange.autoDelete && exchange.bindings.size === 0;
}

/** Refuses operations that are not allowed on the default exchange. */
export function assertNotDefaultExchange(name: string): void {
  if (name !== DEFAULT_EXCHANGE) return;
  throw new ChannelError(ACCESS_REFUSED, "operation not permitted on the default exchange");
}
