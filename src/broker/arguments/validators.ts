// Checks of single arguments: a validator says what is wrong with a value, or returns null. The words
// are RabbitMQ's where RabbitMQ knows the argument. The tables of queue and retry arguments use them;
// combinations of arguments are not checked here.

import type { FieldValue } from "../../amqp/field_value.ts";
import { integerOf, textOf } from "../../amqp/field_value.ts";
import { NAME_BYTES_MAX, utf8Bytes } from "../names.ts";
import { fieldTypeName, fieldValueTerm } from "./field_text.ts";

/** Returns what is wrong with a value; null if it is valid. */
export type Validator = (field: FieldValue) => string | null;

/** RabbitMQ's maximum for TTL and expiry, ms; ten years of 365 days. */
export const EXPIRY_MS_MAX = 315_360_000_000;

function notAnInteger(field: FieldValue): string {
  return `"expected integer, got ${fieldTypeName(field)}"`;
}

function unacceptableType(field: FieldValue): string {
  return `{unacceptable_type,${fieldTypeName(field)}}`;
}

/** An integer of at least 0. */
export const nonNegativeInteger: Validator = (field) => {
  const value = integerOf(field);
  if (value === undefined) return notAnInteger(field);
  return value < 0 ? `{value_negative,${value}}` : null;
};

/** An integer of at least 1, refused as in RabbitMQ. */
export const positiveInteger: Validator = (field) =>
  integerOf(field) === 0 ? "{value_zero,0}" : nonNegativeInteger(field);

/** A time to live: from 0 to ten years, in ms. */
export const expiryMs: Validator = (field) => {
  const problem = nonNegativeInteger(field);
  if (problem !== null) return problem;
  const value = integerOf(field)!;
  return value > EXPIRY_MS_MAX ? `{value_too_large,${value}}` : null;
};

/** A time without use: from 1 ms to ten years. */
export const disuseMs: Validator = (field) =>
  integerOf(field) === 0 ? "{value_zero,0}" : expiryMs(field);

/** A number of priorities. */
export const maxPriority: Validator = (field) => {
  const problem = nonNegativeInteger(field);
  if (problem !== null) return problem;
  const value = integerOf(field)!;
  return value > 255 ? `{max_value_exceeded,${value}}` : null;
};

/** An integer within bounds, which the error names. */
export function integerWithin(min: number, max: number): Validator {
  return (field) => {
    const value = integerOf(field);
    if (value === undefined) return notAnInteger(field);
    if (value < min) return `${value} is less than the minimum value ${min}`;
    return value > max ? `${value} is greater than the maximum value ${max}` : null;
  };
}

/** A non-empty array of at most `countMax` integers within bounds. */
export function integersWithin(min: number, max: number, countMax: number): Validator {
  const validate = integerWithin(min, max);
  return (field) => {
    if (field.tag !== "A") return `"expected array of integers, got ${fieldTypeName(field)}"`;
    if (field.value.length === 0) return "expected at least 1 entry";
    if (field.value.length > countMax) return `expected at most ${countMax} entries`;
    for (const item of field.value) {
      const problem = validate(item);
      if (problem !== null) return problem;
    }
    return null;
  };
}

/** A boolean. */
export const boolean: Validator = (field) => field.tag === "t" ? null : unacceptableType(field);

/** Any long string. */
export const longString: Validator = (field) => field.tag === "S" ? null : unacceptableType(field);

/** The name of an exchange or a routing key: UTF-8 that fits a short string. */
export const shortText: Validator = (field) => {
  if (field.tag !== "S") return unacceptableType(field);
  const text = textOf(field);
  if (text === undefined) return "not valid UTF-8";
  return utf8Bytes(text) > NAME_BYTES_MAX ? `longer than ${NAME_BYTES_MAX} bytes` : null;
};

/** One of a few texts. `refusal` returns RabbitMQ's answer to any other text. */
export function oneOf(texts: readonly string[], refusal: (text: string) => string): Validator {
  return (field) => {
    if (field.tag !== "S") return unacceptableType(field);
    const text = textOf(field);
    if (text !== undefined && texts.includes(text)) return null;
    return refusal(text ?? fieldValueTerm(field));
  };
}

/** The version of a classic queue's files: 1 or 2. */
export const queueVersion: Validator = (field) => {
  const problem = nonNegativeInteger(field);
  if (problem !== null) return problem;
  const value = integerOf(field)!;
  return value === 1 || value === 2 ? null : `"unsupported queue version '${value}'"`;
};

/** No check at all. */
export const anything: Validator = () => null;
