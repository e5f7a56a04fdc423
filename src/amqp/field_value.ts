// Field values and tables in decoded form. Every value keeps its AMQP type tag, so a table that is
// decoded and encoded again comes out as it came in. Arguments, headers and SASL use them. Raw
// tables on the hot path are walked, not decoded: see raw_table.ts.
//
//   tag  value                                   tag  value
//   t    boolean                                 f    single-precision float
//   b B  signed / unsigned 8-bit integer         d    double
//   s u  signed / unsigned 16-bit integer        D    decimal: scale and unsigned 32-bit digits
//   I i  signed / unsigned 32-bit integer        T    timestamp: unsigned 64-bit seconds
//   l L  signed 64-bit integer (both, as         S    long string: text, or bytes if not UTF-8
//        RabbitMQ reads them)                    x    bytes
//   A    array of values                         F    table
//   V    nothing

import { bytesEqual } from "../lib/bytes.ts";

/** Tags of the integer types. */
type IntegerTag = "b" | "B" | "s" | "u" | "I" | "i" | "l" | "L";

/**
 * A 64-bit whole number in canonical form: a `number` while it is a safe integer, a `bigint`
 * beyond. So `===` and `<` compare the values of any two of them.
 */
export type WholeNumber = number | bigint;

/** One typed value of a field table or array. */
export type FieldValue =
  | { readonly tag: "t"; readonly value: boolean }
  | { readonly tag: IntegerTag; readonly value: WholeNumber }
  | { readonly tag: "f" | "d"; readonly value: number }
  | { readonly tag: "D"; readonly scale: number; readonly value: number }
  | { readonly tag: "T"; readonly value: WholeNumber }
  | { readonly tag: "S"; readonly value: string | Uint8Array }
  | { readonly tag: "x"; readonly value: Uint8Array }
  | { readonly tag: "A"; readonly value: FieldArray }
  | {
    readonly tag: "F";
    readonly value: FieldTable;
    /**
     * The entries as they came. They are written in place of `value`, because decoding loses odd
     * floats.
     */
    readonly bytes?: Uint8Array;
  }
  | { readonly tag: "V" };

/** A field array. */
export type FieldArray = readonly FieldValue[];

/** A field table in wire order. If a key was sent twice, the first value counts, as in RabbitMQ. */
export type FieldTable = ReadonlyMap<string, FieldValue>;

/** A shared table without entries. Never write to it. */
export const EMPTY_TABLE: FieldTable = new Map();

/** The value of tag `V`. */
export const VOID: FieldValue = { tag: "V" };

/** Returns the canonical form of a 64-bit integer. */
export function wholeNumber(value: bigint): WholeNumber {
  const narrowed = Number(value);
  return Number.isSafeInteger(narrowed) ? narrowed : value;
}

/** Returns a text value. */
export function textField(value: string): FieldValue {
  return { tag: "S", value };
}

/**
 * Returns a 64-bit integer value, the type that RabbitMQ gives to counters and to integers from
 * JSON.
 */
export function longField(value: WholeNumber): FieldValue {
  return { tag: "l", value };
}

/** Returns a boolean value. */
export function booleanField(value: boolean): FieldValue {
  return { tag: "t", value };
}

/** Returns a timestamp value in seconds since 1970. */
export function timestampField(seconds: WholeNumber): FieldValue {
  return { tag: "T", value: seconds };
}

/** Returns the integer of a field, whatever its width, or `undefined` if it has none. */
export function integerOf(field: FieldValue | undefined): WholeNumber | undefined {
  switch (field?.tag) {
    case "b":
    case "B":
    case "s":
    case "u":
    case "I":
    case "i":
    case "l":
    case "L":
      return field.value;
    default:
      return undefined;
  }
}

/** Returns the text of a field, or `undefined` if it is not a long string of UTF-8. */
export function textOf(field: FieldValue | undefined): string | undefined {
  return field?.tag === "S" && typeof field.value === "string" ? field.value : undefined;
}

/** Returns the boolean of a field, or `undefined` if it has none. */
export function booleanOf(field: FieldValue | undefined): boolean | undefined {
  return field?.tag === "t" ? field.value : undefined;
}

// Only values of one class can be equal. RabbitMQ compares the arguments of a redeclare in this
// way.
function comparisonClass(field: FieldValue): string {
  if (integerOf(field) !== undefined) return "integer";
  return field.tag === "f" ? "d" : field.tag;
}

function stringsEqual(a: string | Uint8Array, b: string | Uint8Array): boolean {
  if (typeof a === "string" || typeof b === "string") return a === b;
  return bytesEqual(a, b);
}

function arraysEqual(a: FieldArray, b: FieldArray): boolean {
  return a.length === b.length && a.every((item, i) => fieldsEqual(item, b[i]!));
}

/** Whether two values mean the same. Integers of different width are equal if their values are. */
export function fieldsEqual(a: FieldValue, b: FieldValue): boolean {
  if (comparisonClass(a) !== comparisonClass(b)) return false;
  if (a.tag === "V" || b.tag === "V") return true;
  if (a.tag === "D" && b.tag === "D") return a.scale === b.scale && a.value === b.value;
  if (a.tag === "A" && b.tag === "A") return arraysEqual(a.value, b.value);
  if (a.tag === "F" && b.tag === "F") return fieldTablesEqual(a.value, b.value);
  if (a.tag === "S" && b.tag === "S") return stringsEqual(a.value, b.value);
  if (a.tag === "x" && b.tag === "x") return bytesEqual(a.value, b.value);
  if ((a.tag === "f" || a.tag === "d") && Number.isNaN(a.value)) return Number.isNaN(b.value);
  return a.value === b.value;
}

/** Whether two tables hold the same keys with equal values. Order does not matter. */
export function fieldTablesEqual(a: FieldTable, b: FieldTable): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !fieldsEqual(value, other)) return false;
  }
  return true;
}
