// Sender-selected distribution: the `CC` and `BCC` headers name further routing keys of a message.
// Used at publish, where a malformed one is refused, and at dead-lettering, where it is ignored.

import { ChannelError } from "../amqp/errors.ts";
import { type FieldTable, type FieldValue, textOf } from "../amqp/field_value.ts";
import { PRECONDITION_FAILED } from "../amqp/reply_code.ts";
import { fieldTypeName } from "./arguments/field_text.ts";

/** Keys under one header; none when it is absent or no list. */
export function keysUnder(headers: FieldTable | null, name: "CC" | "BCC"): string[] {
  return keysIn(headers?.get(name)) ?? [];
}

/** All keys of `CC` and `BCC`, null without any. */
export function extraKeysOf(headers: FieldTable | null): string[] | null {
  const keys = [...keysUnder(headers, "CC"), ...keysUnder(headers, "BCC")];
  return keys.length === 0 ? null : keys;
}

/** Keys in the value of a published header. @throws ChannelError 406 when it is not a list */
export function checkedKeys(name: "CC" | "BCC", value: FieldValue | undefined): string[] {
  if (value === undefined) return [];
  const keys = keysIn(value);
  if (keys !== null) return keys;
  const type = fieldTypeName(value);
  const detail = `invalid message: {unacceptable_type_in_header,"${name}",${type}}`;
  throw new ChannelError(PRECONDITION_FAILED, detail);
}

// As in RabbitMQ what is no text is passed over; null when there is no list at all.
function keysIn(value: FieldValue | undefined): string[] | null {
  if (value?.tag !== "A") return null;
  return value.value.map(textOf).filter((text) => text !== undefined);
}
