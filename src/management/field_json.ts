// Field tables as JSON, the way RabbitMQ's API shows arguments. Called for queues, exchanges and
// bindings; it never reads JSON back.

import type { FieldTable, FieldValue } from "../amqp/field_value.ts";
import { decodeText } from "../lib/text.ts";

/** A field table as a JSON object. */
export function tableJson(table: FieldTable): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [key, value] of table) {
    // A plain assignment would set the prototype instead of a member of that name.
    Object.defineProperty(json, key, { value: fieldJson(value), enumerable: true });
  }
  return json;
}

function fieldJson(field: FieldValue): unknown {
  switch (field.tag) {
    case "V":
      return null;
    case "D":
      return field.value / 10 ** field.scale;
    case "A":
      return field.value.map(fieldJson);
    case "F":
      return tableJson(field.value);
    case "S":
    case "x":
      return typeof field.value === "string" ? field.value : asText(field.value);
    case "f":
    case "d":
      return Number.isFinite(field.value) ? field.value : null;
    default:
      // JSON has no integers of its own beyond doubles; tools read these as numbers as well.
      return typeof field.value === "bigint" ? Number(field.value) : field.value;
  }
}

function asText(bytes: Uint8Array): string {
  return decodeText(bytes, 0, bytes.length);
}
