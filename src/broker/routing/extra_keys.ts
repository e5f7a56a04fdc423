// Sender-selected distribution: the `CC` and `BCC` headers name further routing keys of a message. A
// publish refuses a malformed header; dead-lettering ignores it.

import { ChannelError } from "../../amqp/errors.ts";
import { type FieldTable, type FieldValue, textOf } from "../../amqp/field_value.ts";
import { PRECONDITION_FAILED } from "../../amqp/reply_code.ts";
import { fieldTypeName } from "../arguments/field_text.ts";

/** Returns the keys under one header; none when it is absent or not a list. */
export function keysUnder(headers: FieldTable | null, name: "CC" | "BCC"): string[] {
  return keysIn(headers?.get(name)) ?? [];
}

/** Returns all keys of `CC` and `BCC`; null when there are none. */
export function extraKeysOf(headers: FieldTable | null): string[] | null {
  const keys = [...keysUnder(headers, "CC"), ...keysUnder(headers, "BCC")];
  return keys.length === 0 ? null : keys;
}

/** Returns the keys in the value of a published header. @throws ChannelError 406 when it is not a list */
export function checkedKeys(name: "CC" | "BCC", value: FieldValue | undefined): string[] {
  if (value === undefined) return [];
  const keys = keysIn(value);
  if (keys !== null) return keys;
  const type = fieldTypeName(value);
  const detail = `invalid message: {unacceptable_type_in_header,"${name}",${type}}`;
  throw new ChannelError(PRECONDITION_FAILED, detail);
}

// As in RabbitMQ, items that are not text are skipped. Returns null when the value is not a list.
function keysIn(value: FieldValue | undefined): string[] | null {
  if (value?.tag !== "A") return null;
  return value.value.map(textOf).filter((text) => text !== undefined);
}
