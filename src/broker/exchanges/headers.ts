// The headers exchange: a message goes to the bindings whose arguments match its headers; the routing
// key has no effect. An "all" predicate is indexed under one of its headers, an "any" predicate under
// each of them, by value if the test has one. Predicates that cannot match are therefore not tested.

import type { FieldTable, FieldValue } from "../../amqp/field_value.ts";
import { EMPTY_TABLE } from "../../amqp/field_value.ts";
import { ChannelError } from "../../amqp/errors.ts";
import { PRECONDITION_FAILED } from "../../amqp/reply_code.ts";
import { canonicalTable } from "../arguments/canonical.ts";
import { fieldTypeName, fieldValueTerm } from "../arguments/field_text.ts";
import type { Binding } from "../routing/binding.ts";
import type { Exchange } from "../routing/exchange.ts";
import type { RouteMessage, RouteResult } from "../routing/route.ts";
import type { ExchangeType, RoutingTable } from "../routing/contract.ts";
import type { HeaderTest } from "./header_predicate.ts";
import { HeaderPredicate, MATCH_MODES, testHolds } from "./header_predicate.ts";

type Scalar = string | number | bigint | boolean;

/** The tests of one header name. */
interface NameIndex {
  /** Tests for one simple value, by that value. Values of different types may share a list. */
  readonly byValue: Map<Scalar, HeaderTest[]>;
  /** Tests for presence only, and for values that are too complex to index. */
  readonly others: HeaderTest[];
}

// Returns the value to index by; undefined if the test must be tried for every value.
function scalarOf(field: FieldValue): Scalar | undefined {
  switch (field.tag) {
    case "V":
    case "A":
    case "F":
    case "D":
    case "x":
      return undefined;
    case "S":
      return typeof field.value === "string" ? field.value : undefined;
    default:
      return field.value;
  }
}

// A test with a value is preferred, because it narrows the search more than a test for presence.
function indexedTests(predicate: HeaderPredicate): readonly HeaderTest[] {
  if (predicate.isAny || predicate.tests.length < 2) return predicate.tests;
  const test = predicate.tests.find((one) => scalarOf(one.expected) !== undefined);
  return [test ?? predicate.tests[0]!];
}

function removeTest(tests: HeaderTest[], predicate: HeaderPredicate): void {
  const at = tests.findIndex((test) => test.predicate === predicate);
  tests[at] = tests[tests.length - 1]!;
  tests.pop();
}

class HeadersTable implements RoutingTable {
  readonly #predicates = new Map<string, HeaderPredicate>();
  readonly #names = new Map<string, NameIndex>();
  /** Predicates without tests: "all" of no tests always matches, "any" of no tests never does. */
  readonly #always: HeaderPredicate[] = [];
  #messageNumber = 0;

  bind(binding: Binding): void {
    const key = canonicalTable(binding.args);
    let predicate = this.#predicates.get(key);
    if (predicate === undefined) {
      predicate = new HeaderPredicate(binding.args);
      this.#predicates.set(key, predicate);
      this.#index(predicate);
    }
    predicate.bindings.add(binding);
  }

  #index(predicate: HeaderPredicate): void {
    if (predicate.tests.length === 0 && !predicate.isAny) this.#always.push(predicate);
    for (const test of indexedTests(predicate)) this.#testsLike(test).push(test);
  }

  // Returns the list of a test, which is created if needed.
  #testsLike(test: HeaderTest): HeaderTest[] {
    let index = this.#names.get(test.name);
    if (index === undefined) {
      index = { byValue: new Map(), others: [] };
      this.#names.set(test.name, index);
    }
    const scalar = scalarOf(test.expected);
    if (scalar === undefined) return index.others;
    let tests = index.byValue.get(scalar);
    if (tests === undefined) {
      tests = [];
      index.byValue.set(scalar, tests);
    }
    return tests;
  }

  unbind(binding: Binding): void {
    const key = canonicalTable(binding.args);
    const predicate = this.#predicates.get(key)!;
    predicate.bindings.remove(binding);
    if (!predicate.bindings.isEmpty) return;
    this.#predicates.delete(key);
    if (predicate.tests.length === 0 && !predicate.isAny) {
      this.#always.splice(this.#always.indexOf(predicate), 1);
    }
    for (const test of indexedTests(predicate)) this.#unindex(test);
  }

  #unindex(test: HeaderTest): void {
    const tests = this.#testsLike(test);
    removeTest(tests, test.predicate);
    const index = this.#names.get(test.name)!;
    const scalar = scalarOf(test.expected);
    if (tests.length === 0 && scalar !== undefined) index.byValue.delete(scalar);
    if (index.byValue.size === 0 && index.others.length === 0) this.#names.delete(test.name);
  }

  match(_routingKey: string, message: RouteMessage, result: RouteResult): void {
    result.isCacheable = false;
    this.#messageNumber += 1;
    for (const predicate of this.#always) result.addAll(predicate.bindings);
    if (this.#names.size === 0) return;
    const headers = message.headers() ?? EMPTY_TABLE;
    for (const [name, value] of headers) {
      const index = this.#names.get(name);
      if (index === undefined) continue;
      this.#ask(index.others, value, headers, result);
      const scalar = scalarOf(value);
      const tests = scalar === undefined ? undefined : index.byValue.get(scalar);
      if (tests !== undefined) this.#ask(tests, value, headers, result);
    }
  }

  #ask(
    tests: readonly HeaderTest[],
    value: FieldValue,
    headers: FieldTable,
    result: RouteResult,
  ): void {
    for (const test of tests) {
      const predicate = test.predicate;
      if (predicate.foundFor === this.#messageNumber || !testHolds(test, value)) continue;
      if (!predicate.isAny && !predicate.holdsAll(headers)) continue;
      predicate.foundFor = this.#messageNumber;
      result.addAll(predicate.bindings);
    }
  }
}

function validateBinding(_source: Exchange, binding: Binding): void {
  const field = binding.args.get("x-match");
  if (field === undefined) return;
  if (field.tag !== "S") {
    throw new ChannelError(
      PRECONDITION_FAILED,
      `Invalid x-match field type ${fieldTypeName(field)} (value ${fieldValueTerm(field)}); ` +
        "expected longstr",
    );
  }
  if (typeof field.value === "string" && MATCH_MODES.includes(field.value)) return;
  throw new ChannelError(
    PRECONDITION_FAILED,
    `Invalid x-match field value ${fieldValueTerm(field)}; ` +
      "expected all, any, all-with-x, or any-with-x",
  );
}

/** The type `headers`. */
export const HEADERS: ExchangeType = {
  name: "headers",
  usesRoutingKey: false,
  validateBinding,
  createTable: () => new HeadersTable(),
};
