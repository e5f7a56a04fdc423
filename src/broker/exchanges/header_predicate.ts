// The condition that one set of binding arguments sets on the headers of a message. Bindings with equal
// arguments share one predicate. headers.ts uses it and finds the candidates by header name and value.

import type { FieldTable, FieldValue } from "../../amqp/field_value.ts";
import { fieldsEqual, integerOf } from "../../amqp/field_value.ts";
import { BindingList } from "../routing/binding.ts";

/** A test of one header. An `expected` value of tag `V` only requires that the header is present. */
export interface HeaderTest {
  readonly name: string;
  readonly expected: FieldValue;
  readonly predicate: HeaderPredicate;
}

/** Values of `x-match`, as in RabbitMQ. */
export const MATCH_MODES: readonly string[] = ["all", "any", "all-with-x", "any-with-x"];

/** The tests of one set of arguments, and the bindings with these arguments. */
export class HeaderPredicate {
  /** Whether one matching header is enough. */
  readonly isAny: boolean;
  readonly tests: readonly HeaderTest[];
  readonly bindings: BindingList = new BindingList();
  /** Number of the last message that it matched. */
  foundFor = 0;

  /** Reads the conditions from validated binding arguments. */
  constructor(args: FieldTable) {
    const field = args.get("x-match");
    const mode = field?.tag === "S" ? field.value : "all";
    this.isAny = mode === "any" || mode === "any-with-x";
    const withX = mode === "all-with-x" || mode === "any-with-x";
    const tests: HeaderTest[] = [];
    for (const [name, expected] of args) {
      if (name === "x-match" || (!withX && name.startsWith("x-"))) continue;
      tests.push({ name, expected, predicate: this });
    }
    this.tests = tests;
  }

  /** Whether every test holds. */
  holdsAll(headers: FieldTable): boolean {
    for (const test of this.tests) {
      const actual = headers.get(test.name);
      if (actual === undefined || !testHolds(test, actual)) return false;
    }
    return true;
  }
}

/** Whether a header that is present satisfies a test. */
export function testHolds(test: HeaderTest, actual: FieldValue): boolean {
  const { expected } = test;
  if (expected.tag === "V" || fieldsEqual(expected, actual)) return true;
  const number = numberOf(expected);
  return number !== undefined && number === numberOf(actual);
}

// As in RabbitMQ, 1, 1.0 and a timestamp of 1 are equal.
function numberOf(field: FieldValue): number | bigint | undefined {
  if (field.tag === "f" || field.tag === "d" || field.tag === "T") return field.value;
  return integerOf(field);
}
