// Topology as the commit log sees it: one key and one JSON-ready value per durable exchange, queue and
// binding. Entered by the registries of a vhost when something is made or goes; a store that keeps no
// entries is never bothered. Arguments keep their type tags, so that reading them back loses nothing.

import type { FieldTable, FieldValue } from "../amqp/field_value.ts";
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
