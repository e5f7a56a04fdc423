// Field tables as JSON and back, for management and configuration, by RabbitMQ's conventions: JSON
// integers become 64-bit integers, bytes that are not text become base64. This is cold code. The
// way to JSON loses types; the way back gives each value the type that RabbitMQ would.

import { assert } from "../lib/assert.ts";
import { decodeTextStrict } from "../lib/text.ts";
import type { FieldArray, FieldTable, FieldValue } from "./field_value.ts";
import { booleanField, longField, textField, VOID } from "./field_value.ts";

/** Any JSON value. */
type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** A JSON object. It has no prototype, so that any key is safe. */
export interface JsonObject {
  [key: string]: JsonValue;
}

/** A value for {@linkcode fieldTableFrom}: JSON, and types that JSON does not have. */
export type PlainValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | Date
  | readonly PlainValue[]
  | PlainObject;

/** An object of plain values. */
export interface PlainObject {
  readonly [key: string]: PlainValue;
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function bytesToJson(bytes: Uint8Array): string {
  return decodeTextStrict(bytes, 0, bytes.length) ?? base64(bytes);
}

/**
 * Returns a value as JSON. Integers beyond 2^53 are rounded, and floats that JSON does not have
 * become null.
 */
function fieldToJson(field: FieldValue): JsonValue {
  switch (field.tag) {
    case "V":
      return null;
    case "t":
      return field.value;
    case "D":
      return field.value / 10 ** field.scale;
    case "S":
      return typeof field.value === "string" ? field.value : bytesToJson(field.value);
    case "x":
      return bytesToJson(field.value);
    case "A":
      return field.value.map(fieldToJson);
    case "F":
      return fieldTableToJson(field.value);
    default: {
      const value = Number(field.value);
      return Number.isFinite(value) ? value : null;
    }
  }
}

/** Returns a table as a JSON object. */
export function fieldTableToJson(table: FieldTable): JsonObject {
  const json = Object.create(null) as JsonObject;
  for (const [key, value] of table) json[key] = fieldToJson(value);
  return json;
}

const LONG_MIN = -(2n ** 63n);
const LONG_MAX = 2n ** 63n - 1n;

function numberField(value: number): FieldValue {
  return Number.isSafeInteger(value) ? longField(value) : { tag: "d", value };
}

function bigintField(value: bigint): FieldValue {
  assert(value >= LONG_MIN && value <= LONG_MAX, "an integer of more than 64 bits");
  const narrowed = Number(value);
  return longField(Number.isSafeInteger(narrowed) ? narrowed : value);
}

function isArray(value: object): value is readonly PlainValue[] {
  return Array.isArray(value);
}

/**
 * Returns the typed form of a plain value: integers become 64-bit, other numbers doubles, dates
 * timestamps.
 */
function fieldFrom(value: PlainValue): FieldValue {
  if (value === null) return VOID;
  if (typeof value === "string") return textField(value);
  if (typeof value === "boolean") return booleanField(value);
  if (typeof value === "number") return numberField(value);
  if (typeof value === "bigint") return bigintField(value);
  if (value instanceof Uint8Array) return { tag: "x", value };
  if (value instanceof Date) return { tag: "T", value: Math.floor(value.getTime() / 1000) };
  if (isArray(value)) return { tag: "A", value: fieldArrayFrom(value) };
  return { tag: "F", value: fieldTableFrom(value) };
}

function fieldArrayFrom(values: readonly PlainValue[]): FieldArray {
  return values.map(fieldFrom);
}

/** Returns the typed form of a plain or parsed JSON object. Keys keep their order. */
export function fieldTableFrom(values: PlainObject): FieldTable {
  const table = new Map<string, FieldValue>();
  for (const [key, value] of Object.entries(values)) table.set(key, fieldFrom(value));
  return table;
}
