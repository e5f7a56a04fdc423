// One canonical text for all argument tables with the same meaning, whatever the order of the arguments
// and the width of their integers. It identifies bindings and header predicates, and is never parsed.

import type { FieldTable, FieldValue } from "../../amqp/field_value.ts";

function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

function canonicalValue(field: FieldValue): string {
  switch (field.tag) {
    case "V":
      return "V";
    case "t":
      return field.value ? "t1" : "t0";
    case "f":
    case "d":
      return `d${field.value};`;
    case "D":
      return `D${field.scale}:${field.value};`;
    case "T":
      return `T${field.value};`;
    case "S":
      return typeof field.value === "string"
        ? `S${field.value.length}:${field.value}`
        : `B${hex(field.value)};`;
    case "x":
      return `x${hex(field.value)};`;
    case "A":
      return `[${field.value.map(canonicalValue).join("")}]`;
    case "F":
      return canonicalTable(field.value);
    default:
      return `i${field.value};`;
  }
}

/** Returns the canonical text of a table; the empty text for an empty table. */
export function canonicalTable(table: FieldTable): string {
  if (table.size === 0) return "";
  let text = "{";
  for (const key of [...table.keys()].sort()) {
    text += `${key.length}:${key}${canonicalValue(table.get(key)!)}`;
  }
  return text + "}";
}
