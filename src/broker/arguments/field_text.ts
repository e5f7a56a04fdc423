// Field values as RabbitMQ prints them in its errors: Erlang type names and terms. Clients match on
// these texts, so they are part of the behaviour. They are used in errors only.

import type { FieldTable, FieldValue } from "../../amqp/field_value.ts";

const TYPE_NAMES: Readonly<Record<FieldValue["tag"], string>> = {
  t: "bool",
  b: "byte",
  B: "unsignedbyte",
  s: "short",
  u: "unsignedshort",
  I: "signedint",
  i: "unsignedint",
  l: "long",
  L: "long",
  f: "float",
  d: "double",
  D: "decimal",
  T: "timestamp",
  S: "longstr",
  x: "binary",
  A: "array",
  F: "table",
  V: "void",
};

/** Returns RabbitMQ's name for the type of a value. */
export function fieldTypeName(field: FieldValue): string {
  return TYPE_NAMES[field.tag];
}

function binaryTerm(value: string | Uint8Array): string {
  if (typeof value !== "string") return `<<${value.join(",")}>>`;
  const escaped = value.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  // Text outside Latin-1 needs the utf8 qualifier, as Erlang prints it.
  const isWide = [...value].some((character) => character.codePointAt(0)! > 0xff);
  return isWide ? `<<"${escaped}"/utf8>>` : `<<"${escaped}">>`;
}

// Erlang always writes a fraction and never a plus sign.
function floatTerm(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const [digits, exponent] = String(value).split("e");
  const fraction = digits!.includes(".") ? digits! : `${digits}.0`;
  return exponent === undefined ? fraction : `${fraction}e${exponent.replace("+", "")}`;
}

function tableTerm(table: FieldTable): string {
  const entries = [...table].map(([key, field]) =>
    `{${binaryTerm(key)},${fieldTypeName(field)},${fieldValueTerm(field)}}`
  );
  return `[${entries.join(",")}]`;
}

/** Returns a value without its type as an Erlang term: `5`, `<<"text">>`, `[{long,1},{long,2}]`. */
export function fieldValueTerm(field: FieldValue): string {
  switch (field.tag) {
    case "V":
      return "undefined";
    case "f":
    case "d":
      return floatTerm(field.value);
    case "D":
      return `{${field.scale},${field.value}}`;
    case "S":
    case "x":
      return binaryTerm(field.value);
    case "A":
      return `[${
        field.value.map((item) => `{${fieldTypeName(item)},${fieldValueTerm(item)}}`).join(",")
      }]`;
    case "F":
      return tableTerm(field.value);
    default:
      return String(field.value);
  }
}

/** Returns a value as a comparison quotes it: text unchanged, any other value as an Erlang term. */
export function fieldValueText(field: FieldValue): string {
  return field.tag === "S" && typeof field.value === "string" ? field.value : fieldValueTerm(field);
}
