// A broker on the memory store for tests of topology: short forms of declarations, a recorder of store
// entries, and the refusal that a call ends in. Used by tests of vhosts, registries and routing only.

import { assertInstanceOf } from "@std/assert";
import { AmqpError, ChannelError } from "../../../../src/amqp/errors.ts";
import type { PlainObject } from "../../../../src/amqp/field_json.ts";
import { fieldTableFrom } from "../../../../src/amqp/field_json.ts";
import type { FieldTable } from "../../../../src/amqp/field_value.ts";
import { Broker } from "../../../../src/broker/broker.ts";
import type { Exchange } from "../../../../src/broker/routing/exchange.ts";
import type { Limits } from "../../../../src/broker/limits.ts";
import { DEFAULT_LIMITS } from "../../../../src/broker/limits.ts";
import type { ExchangeSpec, Owner, QueueSpec } from "../../../../src/broker/names.ts";
import type { Queue } from "../../../../src/broker/queue/queue.ts";
import type { RouteMessage } from "../../../../src/broker/routing/route.ts";
import { RouteResult } from "../../../../src/broker/routing/route.ts";
import { Users } from "../../../../src/broker/access/users.ts";
import type { VHost } from "../../../../src/broker/topology/vhost.ts";
import { SILENT_LOGGER } from "../../../../src/lib/logger.ts";
import { Prng } from "../../../../src/lib/prng.ts";
import { Scheduler } from "../../../../src/schedule/scheduler.ts";
import { MemoryStore } from "../../../../src/store/memory_store.ts";
import type { DefinitionKind, EntrySink } from "../../../../src/store/port.ts";

/** A connection. */
export const ALICE: Owner = { name: "alice" };
/** Another connection. */
export const BOB: Owner = { name: "bob" };

/** A broker that keeps everything in memory. */
export function makeBroker(
  options: { limits?: Partial<Limits>; entries?: EntrySink; seed?: number } = {},
): Broker {
  const prng = new Prng(options.seed ?? 1);
  return new Broker({
    store: new MemoryStore(options.entries === undefined ? {} : { entries: options.entries }),
    scheduler: new Scheduler(),
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    logger: SILENT_LOGGER,
    users: new Users([]),
    random: () => prng.nextFloat(),
  });
}

/** The vhost "/" of a new broker. */
export function makeVHost(limits: Partial<Limits> = {}): VHost {
  return makeBroker({ limits }).vhosts.get("/")!;
}

/** Arguments from plain values; integers become 64-bit ones. */
export function args(values: PlainObject = {}): FieldTable {
  return fieldTableFrom(values);
}

/** What queue.declare asks for unless a test says otherwise. */
export function queueSpec(name: string, more: Partial<QueueSpec> = {}): QueueSpec {
  return { name, durable: false, exclusive: false, autoDelete: false, args: args(), ...more };
}

/** What exchange.declare asks for unless a test says otherwise. */
export function exchangeSpec(name: string, more: Partial<ExchangeSpec> = {}): ExchangeSpec {
  return {
    name,
    type: "direct",
    durable: false,
    autoDelete: false,
    internal: false,
    args: args(),
    ...more,
  };
}

/** Declares a queue with these arguments. */
export function declareQueue(vhost: VHost, name: string, values: PlainObject = {}): Queue {
  return vhost.declareQueue(queueSpec(name, { args: args(values) }), ALICE);
}

/** Declares an exchange. */
export function declareExchange(
  vhost: VHost,
  name: string,
  type = "direct",
  more: Partial<ExchangeSpec> = {},
): Exchange {
  return vhost.declareExchange(exchangeSpec(name, { type, ...more }));
}

/** Binds a queue. */
export function bindQueue(
  vhost: VHost,
  exchange: string,
  queue: string,
  more: { key?: string; args?: PlainObject } = {},
): void {
  vhost.bindQueue(
    { exchange, queue, routingKey: more.key ?? "", args: args(more.args) },
    ALICE,
  );
}

/** Binds an exchange to another. */
export function bindExchange(vhost: VHost, source: string, destination: string, key = ""): void {
  vhost.bindExchange({ source, destination, routingKey: key, args: args() });
}

/** A message as exchanges see it. */
export function message(
  routingKey: string,
  more: { extraKeys?: string[]; headers?: PlainObject | FieldTable } = {},
): RouteMessage {
  const { headers } = more;
  let table: FieldTable | null = null;
  if (headers instanceof Map) table = headers;
  else if (headers !== undefined) table = fieldTableFrom(headers as PlainObject);
  return { routingKey, extraKeys: more.extraKeys ?? null, headers: () => table };
}

/** Sorted names of the queues a message reaches from an exchange. */
export function routed(vhost: VHost, exchange: string, routable: RouteMessage): string[] {
  const result = new RouteResult();
  vhost.route(vhost.exchanges.get(exchange)!, routable, result);
  return result.queues.slice(0, result.count).map((queue) => queue.name).sort();
}

/** The refusal that `run` ends in: `406 PRECONDITION_FAILED - …`. */
export function refusalOf(run: () => unknown): string {
  let refusal: unknown;
  try {
    run();
  } catch (error) {
    refusal = error;
  }
  assertInstanceOf(refusal, ChannelError);
  assertInstanceOf(refusal, AmqpError);
  return `${refusal.code} ${refusal.replyText}`;
}

/** Records the definitions a store is told; all other entries are dropped. */
export class DefinitionRecorder implements EntrySink {
  readonly definitions = new Map<string, unknown>();

  defined(kind: DefinitionKind, key: string, value: unknown): void {
    this.definitions.set(`${kind} ${key}`, value);
  }

  undefined(kind: DefinitionKind, key: string): void {
    this.definitions.delete(`${kind} ${key}`);
  }

  enqueued(): void {}
  delivered(): void {}
  requeued(): void {}
  delayed(): void {}
  dying(): void {}
  returned(): void {}
  removed(): void {}
  purged(): void {}
}
