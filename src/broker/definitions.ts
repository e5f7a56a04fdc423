// Topology as the commit log sees it: one key and one JSON-ready value per durable exchange, queue and
// binding. Entered by the registries of a vhost when something is made or goes, and read back by
// recovery.ts; a store that keeps no entries is never bothered. Arguments keep their type tags, so
// that reading them back loses nothing.

import type { FieldTable, FieldValue } from "../amqp/field_value.ts";
import { wholeNumber } from "../amqp/field_value.ts";
import type { EntrySink } from "../store/port.ts";
import type { Binding } from "./binding.ts";
import type { Exchange } from "./exchange.ts";
import type { Queue } from "./queue.ts";

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

/** A table as a list of `[name, tag, value]`. */
export function tableJson(table: FieldTable): Json {
  return [...table].map(([name, field]) => [name, field.tag, valueJson(field)]);
}

function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

/** Enters a durable exchange. */
export function defineExchange(entries: EntrySink, vhost: string, exchange: Exchange): void {
  const { name, type, autoDelete, internal, args } = exchange;
  const value = { vhost, name, type, autoDelete, internal, arguments: tableJson(args) };
  entries.defined("exchange", keyOf(vhost, name), value);
}

/** Enters that a durable exchange is gone. */
export function undefineExchange(entries: EntrySink, vhost: string, exchange: Exchange): void {
  entries.undefined("exchange", keyOf(vhost, exchange.name));
}

/** Enters a durable queue. */
export function defineQueue(entries: EntrySink, vhost: string, queue: Queue): void {
  const { id, name, autoDelete } = queue;
  const value = { vhost, id, name, autoDelete, arguments: tableJson(queue.args.raw) };
  entries.defined("queue", keyOf(vhost, name), value);
}

/** Enters that a durable queue is gone. */
export function undefineQueue(entries: EntrySink, vhost: string, queue: Queue): void {
  entries.undefined("queue", keyOf(vhost, queue.name));
}

/** Enters a binding between durable ends. */
export function defineBinding(entries: EntrySink, vhost: string, binding: Binding): void {
  const { destination, destinationType, routingKey, args } = binding;
  entries.defined("binding", keyOf(vhost, binding.source.name, binding.key), {
    vhost,
    source: binding.source.name,
    destination,
    destinationType,
    routingKey,
    arguments: tableJson(args),
  });
}

/** Enters that a binding between durable ends is gone. */
export function undefineBinding(entries: EntrySink, vhost: string, binding: Binding): void {
  entries.undefined("binding", keyOf(vhost, binding.source.name, binding.key));
}

/** A durable exchange as it was entered. */
export interface ExchangeDefinition {
  readonly vhost: string;
  readonly name: string;
  readonly type: string;
  readonly autoDelete: boolean;
  readonly internal: boolean;
  readonly arguments: Json;
}

/** A durable queue as it was entered. */
export interface QueueDefinition {
  readonly vhost: string;
  readonly id: number;
  readonly name: string;
  readonly autoDelete: boolean;
  readonly arguments: Json;
}

/** A binding between durable ends as it was entered. */
export interface BindingDefinition {
  readonly vhost: string;
  readonly source: string;
  readonly destination: string;
  readonly destinationType: "queue" | "exchange";
  readonly routingKey: string;
  readonly arguments: Json;
}

/** The table that {@link tableJson} wrote. */
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
