// Topology as the commit log stores it: one key and one JSON-ready value per durable exchange, queue
// and binding. The registries of a vhost enter and remove definitions; recovery.ts reads them back. A
// store without entries is never called. Arguments keep their type tags, so that reading them back
// loses nothing.

import type { FieldTable, FieldValue } from "../../amqp/field_value.ts";
import { wholeNumber } from "../../amqp/field_value.ts";
import type { DefinitionKind, EntrySink, Store } from "../../store/port.ts";
import type { Binding } from "../routing/binding.ts";
import type { Exchange } from "../routing/exchange.ts";
import type { Queue } from "../queue/queue.ts";

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

function bytesJson(bytes: Uint8Array): Json {
  return { bytes: [...bytes] };
}

function valueJson(field: FieldValue): Json {
  switch (field.tag) {
    case "V":
      return null;
    case "D":
      return [field.scale, field.value];
    case "f":
    case "d":
      // JSON has no NaN and no infinities.
      return Number.isFinite(field.value) ? field.value : String(field.value);
    case "S":
    case "x":
      return typeof field.value === "string" ? field.value : bytesJson(field.value);
    case "A":
      return field.value.map((item) => [item.tag, valueJson(item)]);
    case "F":
      return tableJson(field.value);
    default:
      return typeof field.value === "bigint" ? String(field.value) : field.value;
  }
}

/** Returns a table as a list of `[name, tag, value]`. */
export function tableJson(table: FieldTable): Json {
  return [...table].map(([name, field]) => [name, field.tag, valueJson(field)]);
}

function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

// Returns the entries for a definition; null when it is not durable or the store keeps none.
function entriesOf(store: Store, { durable }: { readonly durable: boolean }): EntrySink | null {
  return durable ? store.entries : null;
}

/** Enters an exchange if it is durable. */
export function defineExchange(store: Store, vhost: string, exchange: Exchange): void {
  const entries = entriesOf(store, exchange);
  if (entries === null) return;
  const { name, type, autoDelete, internal, args } = exchange;
  const value = { vhost, name, type, autoDelete, internal, arguments: tableJson(args) };
  entries.defined("exchange", keyOf(vhost, name), value);
  exchange.definedBatch = store.definitionBatch;
}

/** Enters the removal of an exchange if it was durable. */
export function undefineExchange(store: Store, vhost: string, exchange: Exchange): void {
  entriesOf(store, exchange)?.undefined("exchange", keyOf(vhost, exchange.name));
}

/** Enters a queue if it is durable. */
export function defineQueue(store: Store, vhost: string, queue: Queue): void {
  const entries = entriesOf(store, queue);
  if (entries === null) return;
  entries.defined("queue", keyOf(vhost, queue.name), queueJson(vhost, queue));
  queue.definedBatch = store.definitionBatch;
}

function queueJson(vhost: string, { id, name, autoDelete, args }: Queue): Json {
  return { vhost, id, name, autoDelete, arguments: tableJson(args.raw) };
}

/** Enters the removal of a queue if it was durable. */
export function undefineQueue(store: Store, vhost: string, queue: Queue): void {
  entriesOf(store, queue)?.undefined("queue", keyOf(vhost, queue.name));
}

/** Enters a deleted queue that still has dead letters: the definition says where they go. */
export function defineDeleted(store: Store, vhost: string, queue: Queue): void {
  entriesOf(store, queue)?.defined("deleted", keyOf(vhost, `${queue.id}`), queueJson(vhost, queue));
}

/** Enters the removal of a deleted queue whose last dead letter has been published. */
export function undefineDeleted(store: Store, vhost: string, queue: Queue): void {
  entriesOf(store, queue)?.undefined("deleted", keyOf(vhost, `${queue.id}`));
}

/** Enters a binding if both its ends are durable. */
export function defineBinding(store: Store, vhost: string, binding: Binding): void {
  const entries = entriesOf(store, binding);
  if (entries === null) return;
  const { destination, destinationType, routingKey, args } = binding;
  const value = {
    vhost,
    source: binding.source.name,
    destination,
    destinationType,
    routingKey,
    arguments: tableJson(args),
  };
  entries.defined("binding", keyOf(vhost, binding.source.name, binding.key), value);
  binding.definedBatch = store.definitionBatch;
}

/** Enters the removal of a binding if both its ends were durable. */
export function undefineBinding(store: Store, vhost: string, binding: Binding): void {
  const key = keyOf(vhost, binding.source.name, binding.key);
  entriesOf(store, binding)?.undefined("binding", key);
}

/** The entered definition of a durable exchange. */
export interface ExchangeDefinition {
  readonly vhost: string;
  readonly name: string;
  readonly type: string;
  readonly autoDelete: boolean;
  readonly internal: boolean;
  readonly arguments: Json;
}

/** The entered definition of a durable queue. */
export interface QueueDefinition {
  readonly vhost: string;
  readonly id: number;
  readonly name: string;
  readonly autoDelete: boolean;
  readonly arguments: Json;
}

/** The entered definition of a binding between durable ends. */
export interface BindingDefinition {
  readonly vhost: string;
  readonly source: string;
  readonly destination: string;
  readonly destinationType: "queue" | "exchange";
  readonly routingKey: string;
  readonly arguments: Json;
}

type Members<T> = Readonly<Record<keyof T, true>>;

const EXCHANGE: Members<ExchangeDefinition> = {
  vhost: true,
  name: true,
  type: true,
  autoDelete: true,
  internal: true,
  arguments: true,
};
const QUEUE: Members<QueueDefinition> = {
  vhost: true,
  id: true,
  name: true,
  autoDelete: true,
  arguments: true,
};
const BINDING: Members<BindingDefinition> = {
  vhost: true,
  source: true,
  destination: true,
  destinationType: true,
  routingKey: true,
  arguments: true,
};
const MEMBERS = { exchange: EXCHANGE, queue: QUEUE, binding: BINDING, deleted: QUEUE };

/** Returns a member of an entered definition that this version does not know; undefined if none. */
export function unknownMember(kind: DefinitionKind, value: object): string | undefined {
  return Object.keys(value).find((member) => !Object.hasOwn(MEMBERS[kind], member));
}

/** Returns the table that {@link tableJson} wrote. */
export function tableFromJson(json: Json): FieldTable {
  const table = new Map<string, FieldValue>();
  for (const [name, tag, value] of json as [string, string, Json][]) {
    table.set(name, valueFromJson(tag, value));
  }
  return table;
}

function valueFromJson(tag: string, json: Json): FieldValue {
  switch (tag) {
    case "V":
      return { tag };
    case "D": {
      const [scale, value] = json as [number, number];
      return { tag, scale, value };
    }
    case "f":
    case "d":
      return { tag, value: Number(json) };
    case "S":
      return { tag, value: typeof json === "string" ? json : bytesFromJson(json) };
    case "x":
      return { tag, value: bytesFromJson(json) };
    case "A":
      return { tag, value: (json as [string, Json][]).map((item) => valueFromJson(...item)) };
    case "F":
      return { tag, value: tableFromJson(json) };
    case "t":
      return { tag, value: json as boolean };
    default: {
      const value = typeof json === "string" ? wholeNumber(BigInt(json)) : json as number;
      return { tag: tag as "l", value };
    }
  }
}

function bytesFromJson(json: Json): Uint8Array {
  return Uint8Array.from((json as { bytes: number[] }).bytes);
}
