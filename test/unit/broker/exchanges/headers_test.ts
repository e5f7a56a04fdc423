// Tests of the headers exchange: RabbitMQ's rules, refusals, and a naive matcher as model.

import { assertEquals, assertFalse } from "@std/assert";
import fc from "fast-check";
import type { PlainObject, PlainValue } from "../../../../src/amqp/field_json.ts";
import type { FieldTable, FieldValue } from "../../../../src/amqp/field_value.ts";
import { fieldsEqual } from "../../../../src/amqp/field_value.ts";
import { RouteResult } from "../../../../src/broker/routing/route.ts";
import type { VHost } from "../../../../src/broker/topology/vhost.ts";
import {
  ALICE,
  args,
  bindQueue,
  declareExchange,
  declareQueue,
  makeVHost,
  message,
  refusalOf,
  routed,
} from "../support/topology.ts";

function makeHeaders(bindings: Readonly<Record<string, PlainObject>>): VHost {
  const vhost = makeVHost();
  declareExchange(vhost, "h", "headers");
  for (const [queue, values] of Object.entries(bindings)) {
    declareQueue(vhost, queue);
    bindQueue(vhost, "h", queue, { args: values });
  }
  return vhost;
}

function matched(vhost: VHost, headers: PlainObject): string[] {
  return routed(vhost, "h", message("ignored", { headers }));
}

Deno.test("HEADERS needs all headers unless x-match says any", () => {
  const vhost = makeHeaders({
    all: { "x-match": "all", a: 1, b: "two" },
    any: { "x-match": "any", a: 1, b: "two" },
    absent: { a: 1, b: "two" },
  });
  assertEquals(matched(vhost, { a: 1, b: "two", c: 3 }), ["absent", "all", "any"]);
  assertEquals(matched(vhost, { b: "two" }), ["any"]);
  assertEquals(matched(vhost, { a: 2, b: "three" }), []);
});

Deno.test("HEADERS ignores x- headers unless the mode is with-x", () => {
  const vhost = makeHeaders({
    all: { "x-match": "all", a: 1, "x-tier": "gold" },
    allWithX: { "x-match": "all-with-x", a: 1, "x-tier": "gold" },
    any: { "x-match": "any", b: 1, "x-tier": "gold" },
    anyWithX: { "x-match": "any-with-x", b: 1, "x-tier": "gold" },
  });
  assertEquals(matched(vhost, { a: 1 }), ["all"]);
  assertEquals(matched(vhost, { a: 1, "x-tier": "gold" }), ["all", "allWithX", "anyWithX"]);
  assertEquals(matched(vhost, { b: 1 }), ["any", "anyWithX"]);
});

Deno.test("HEADERS asks only for presence where the binding has no value", () => {
  const vhost = makeHeaders({ all: { a: null, b: 2 }, any: { "x-match": "any", a: null } });
  assertEquals(matched(vhost, { a: "whatever", b: 2 }), ["all", "any"]);
  assertEquals(matched(vhost, { a: [1] }), ["any"]);
  assertEquals(matched(vhost, { b: 2 }), []);
});

Deno.test("HEADERS without conditions matches everything for all and nothing for any", () => {
  const vhost = makeHeaders({
    all: {},
    any: { "x-match": "any" },
    anyX: { "x-match": "any", "x-a": 1 },
  });
  assertEquals(matched(vhost, { "x-a": 1 }), ["all"]);
  assertEquals(routed(vhost, "h", message("")), ["all"]);
});

Deno.test("HEADERS compares numbers by value and types otherwise, as RabbitMQ does", () => {
  const vhost = makeHeaders({
    number: { a: 1 },
    text: { a: "1" },
    double: { a: 1.5 },
    yes: { a: true },
  });
  for (const tag of ["B", "d", "f", "T"] as const) {
    const headers = new Map<string, FieldValue>([["a", { tag, value: 1 }]]);
    assertEquals(routed(vhost, "h", message("", { headers })), ["number"]);
  }
  assertEquals(matched(vhost, { a: "1" }), ["text"]);
  assertEquals(matched(vhost, { a: true }), ["yes"]);
  assertEquals(matched(vhost, { a: 1.5 }), ["double"]);
  const decimal = new Map<string, FieldValue>([["a", { tag: "D", scale: 0, value: 1 }]]);
  assertEquals(routed(vhost, "h", message("", { headers: decimal })), []);
});

Deno.test("HEADERS matches values too complex to index", () => {
  const vhost = makeHeaders({
    list: { a: [1, "x"] },
    table: { a: { b: 1 } },
    bytes: { a: new Uint8Array([1]) },
  });
  assertEquals(matched(vhost, { a: [1, "x"] }), ["list"]);
  assertEquals(matched(vhost, { a: { b: 1 } }), ["table"]);
  assertEquals(matched(vhost, { a: new Uint8Array([1]) }), ["bytes"]);
});

Deno.test("HEADERS refuses a bad x-match with RabbitMQ's text", () => {
  const vhost = makeHeaders({ q: {} });
  const bind = (value: PlainValue) => () =>
    bindQueue(vhost, "h", "q", { args: { "x-match": value } });
  assertEquals(
    refusalOf(bind("some")),
    '406 PRECONDITION_FAILED - Invalid x-match field value <<"some">>; ' +
      "expected all, any, all-with-x, or any-with-x",
  );
  assertEquals(
    refusalOf(bind(5)),
    "406 PRECONDITION_FAILED - Invalid x-match field type long (value 5); expected longstr",
  );
  assertEquals(vhost.bindingCount, 1);
});

Deno.test("HEADERS makes routes that must not be cached", () => {
  const vhost = makeHeaders({ q: { a: 1 } });
  const result = new RouteResult();
  vhost.route(vhost.exchanges.get("h")!, message("k"), result);
  assertFalse(result.isCacheable);
});

const NUMBERS = ["b", "l", "T", "d"];

function isSame(a: FieldValue, b: FieldValue): boolean {
  const areNumbers = NUMBERS.includes(a.tag) && NUMBERS.includes(b.tag);
  return areNumbers
    ? (a as { value: unknown }).value === (b as { value: unknown }).value
    : fieldsEqual(a, b);
}

/** The model: every binding is asked in turn. */
function holds(binding: FieldTable, headers: FieldTable): boolean {
  const mode = binding.get("x-match");
  const text = mode?.tag === "S" ? mode.value : "all";
  const results: boolean[] = [];
  for (const [name, expected] of binding) {
    if (
      name === "x-match" ||
      (name.startsWith("x-") && text !== "all-with-x" && text !== "any-with-x")
    ) {
      continue;
    }
    const actual = headers.get(name);
    results.push(actual !== undefined && (expected.tag === "V" || isSame(expected, actual)));
  }
  return text === "any" || text === "any-with-x"
    ? results.includes(true)
    : !results.includes(false);
}

const value: fc.Arbitrary<FieldValue> = fc.constantFrom<FieldValue>(
  { tag: "V" },
  { tag: "b", value: 1 },
  { tag: "l", value: 1 },
  { tag: "T", value: 1 },
  { tag: "d", value: 1 },
  { tag: "S", value: "1" },
  { tag: "t", value: true },
  { tag: "A", value: [{ tag: "b", value: 1 }] },
  { tag: "S", value: new Uint8Array([255]) },
  { tag: "D", scale: 0, value: 1 },
);
const entries = fc.dictionary(fc.constantFrom("a", "b", "c", "x-a"), value, { maxKeys: 4 })
  .map((record): Map<string, FieldValue> => new Map(Object.entries(record)));
const mode = fc.constantFrom("", "all", "any", "all-with-x", "any-with-x");
const bindingArgs = fc.tuple(entries, mode).map(([table, text]): FieldTable => {
  if (text !== "") table.set("x-match", { tag: "S", value: text });
  return table;
});

Deno.test("HEADERS agrees with the naive matcher while bindings come and go", () => {
  const run = fc.record({
    bindings: fc.array(bindingArgs, { maxLength: 10 }),
    removed: fc.array(fc.nat(9), { maxLength: 6 }),
    headers: fc.array(entries, { minLength: 1, maxLength: 5 }),
  });
  fc.assert(
    fc.property(run, ({ bindings, removed, headers }) => {
      const vhost = makeVHost();
      declareExchange(vhost, "h", "headers");
      const left = new Map<string, FieldTable>();
      bindings.forEach((table, i) => {
        declareQueue(vhost, `q${i}`);
        vhost.bindQueue({ exchange: "h", queue: `q${i}`, routingKey: "", args: table }, ALICE);
        left.set(`q${i}`, table);
      });
      for (const i of removed) {
        const table = left.get(`q${i}`);
        if (table === undefined) continue;
        vhost.unbindQueue({ exchange: "h", queue: `q${i}`, routingKey: "", args: table }, ALICE);
        left.delete(`q${i}`);
      }
      for (const table of headers) {
        const expected = [...left].filter(([, one]) => holds(one, table)).map(([name]) => name);
        assertEquals(routed(vhost, "h", message("", { headers: table })), expected.sort());
      }
    }),
    { seed: 14, numRuns: 500 },
  );
});

Deno.test("HEADERS looks only at predicates that ask for a value the message has", () => {
  const vhost = makeHeaders({});
  declareQueue(vhost, "q");
  for (let i = 0; i < 1000; i++) bindQueue(vhost, "h", "q", { args: { kind: "order", id: i } });
  for (let i = 0; i < 1000; i++) bindQueue(vhost, "h", "q", { args: { "x-match": "any", id: i } });
  let addedLists = 0;
  const result = { addAll: () => void (addedLists += 1), isCacheable: true };
  const headers = args({ kind: "order", id: 7 });
  vhost.exchanges.get("h")!.table.match("", message("", { headers }), result as never);
  assertEquals(addedLists, 2);
});
