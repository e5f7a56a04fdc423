// Tests of the list of exchange types and of the refusal of others.

import { assertEquals } from "@std/assert";
import { exchangeType } from "../../../../src/broker/exchanges/types.ts";
import { refusalOf } from "../support/topology.ts";

Deno.test("exchangeType() knows the four types of the protocol", () => {
  for (const name of ["direct", "fanout", "headers", "topic"]) {
    assertEquals(exchangeType(name).name, name);
  }
});

Deno.test("exchangeType() refuses unknown types as RabbitMQ since 3.13", () => {
  assertEquals(
    refusalOf(() => exchangeType("nonsense")),
    "406 PRECONDITION_FAILED - unknown exchange type 'nonsense'",
  );
  assertEquals(
    refusalOf(() => exchangeType("")),
    "406 PRECONDITION_FAILED - unknown exchange type ''",
  );
});

Deno.test("exchangeType() says so when a type is only not there yet", () => {
  for (const name of ["x-delayed-message", "x-consistent-hash", "x-random"]) {
    assertEquals(
      refusalOf(() => exchangeType(name)),
      `406 PRECONDITION_FAILED - exchange type '${name}' is not supported yet`,
    );
  }
});
