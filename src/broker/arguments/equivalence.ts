// Compares a redeclaration with the existing entity: differing properties or arguments get a 406 with
// RabbitMQ's text. Arguments are compared as the client gave them, so an explicit default differs from
// an omitted argument. Integers of different width are equal if their values are.

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

/** Refuses a property (`durable`, `auto_delete` …) that differs. `entity` is the text of `describe`. */
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

// A queue without a type is a classic queue.
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
  // Equal texts of different types would make the error meaningless without the types.
  if (texts[0] === texts[1]) {
    inequivalent(name, entity, loneValueText(received), loneValueText(current));
  }
  inequivalent(name, entity, `'${texts[0]}'`, `'${texts[1]}'`);
}

/** Refuses arguments that differ in one of `names`. Other arguments are not compared. */
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
