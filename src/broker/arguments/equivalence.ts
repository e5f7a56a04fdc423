// The redeclare comparison: the same name again must ask for the same thing, else 406 with RabbitMQ's
// text. Arguments are compared as given, so a default written out differs from one left out; integers
// of different width with the same value are equal.

import { ChannelError } from "../../amqp/errors.ts";
import type { FieldTable, FieldValue } from "../../amqp/field_value.ts";
import { fieldsEqual, textOf } from "../../amqp/field_value.ts";
import { PRECONDITION_FAILED } from "../../amqp/reply_code.ts";
import { fieldTypeName, fieldValueText } from "./field_text.ts";

function inequivalent(name: string, entity: string, received: string, current: string): never {
  throw new ChannelError(
    PRECONDITION_FAILED,
    `inequivalent arg '${name}' for ${entity}: received ${received} but current is ${current}`,
  );
}

/** Refuses another value of a property (`durable`, `auto_delete` …); `entity` as `describe` spells it. */
export function assertPropertyEquivalent<T extends string | boolean>(
  name: string,
  entity: string,
  values: { received: T; current: T },
): void {
  const { received, current } = values;
  if (received !== current) inequivalent(name, entity, `'${received}'`, `'${current}'`);
}

// RabbitMQ names the type only where one side has no value.
function loneValueText(field: FieldValue | undefined): string {
  if (field === undefined) return "none";
  return `the value '${fieldValueText(field)}' of type '${fieldTypeName(field)}'`;
}

// A queue without a type is a classic one.
function isClassicDefault(name: string, field: FieldValue | undefined): boolean {
  return name === "x-queue-type" && (field === undefined || textOf(field) === "classic");
}

function assertArgumentEquivalent(
  name: string,
  entity: string,
  received: FieldValue | undefined,
  current: FieldValue | undefined,
): void {
  if (received === undefined && current === undefined) return;
  if (isClassicDefault(name, received) && isClassicDefault(name, current)) return;
  if (received === undefined || current === undefined) {
    inequivalent(name, entity, loneValueText(received), loneValueText(current));
  }
  if (fieldsEqual(received, current)) return;
  const texts = [fieldValueText(received), fieldValueText(current)];
  // Equal texts of different types would read as nonsense.
  if (texts[0] === texts[1]) {
    inequivalent(name, entity, loneValueText(received), loneValueText(current));
  }
  inequivalent(name, entity, `'${texts[0]}'`, `'${texts[1]}'`);
}

/** Refuses arguments that differ in one of `names`; arguments not named are not compared. */
export function assertArgumentsEquivalent(
  names: Iterable<string>,
  entity: string,
  tables: { received: FieldTable; current: FieldTable },
): void {
  for (const name of names) {
    const received = tables.received.get(name);
    assertArgumentEquivalent(name, entity, received, tables.current.get(name));
  }
}
