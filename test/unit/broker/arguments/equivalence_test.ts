// Tests of the redeclare comparison on its own; the registries' tests show it at work.

import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { FieldTable, FieldValue } from "../../../../src/amqp/field_value.ts";
import { fieldsEqual } from "../../../../src/amqp/field_value.ts";
import {
  assertArgumentsEquivalent,
  assertPropertyEquivalent,
} from "../../../../src/broker/arguments/equivalence.ts";
import { fieldTable } from "../../amqp/support/arbitraries.ts";
import { args, refusalOf } from "../support/topology.ts";

Deno.test("assertPropertyEquivalent() names the property and both values", () => {
  assertPropertyEquivalent("durable", "queue 'q'", { received: true, current: true });
  assertEquals(
    refusalOf(() =>
      assertPropertyEquivalent("durable", "queue 'q'", { received: false, current: true })
    ),
    "406 PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'q': received 'false' but current is 'true'",
  );
});

Deno.test("assertArgumentsEquivalent() looks at named arguments only", () => {
  const tables = { received: args({ a: 1, b: 2 }), current: args({ a: 1, b: 3 }) };
  assertArgumentsEquivalent(["a", "c"], "queue 'q'", tables);
  assertEquals(
    refusalOf(() => assertArgumentsEquivalent(["a", "b"], "queue 'q'", tables)),
    "406 PRECONDITION_FAILED - inequivalent arg 'b' for queue 'q': received '2' but current is '3'",
  );
});

Deno.test("assertArgumentsEquivalent() names the types where the texts are the same", () => {
  const tables = { received: args({ a: 1 }), current: args({ a: "1" }) };
  assertEquals(
    refusalOf(() => assertArgumentsEquivalent(["a"], "queue 'q'", tables)),
    "406 PRECONDITION_FAILED - inequivalent arg 'a' for queue 'q': " +
      "received the value '1' of type 'long' but current is the value '1' of type 'longstr'",
  );
});

function isAccepted(names: Iterable<string>, received: FieldTable, current: FieldTable): boolean {
  try {
    assertArgumentsEquivalent(names, "queue 'q'", { received, current });
    return true;
  } catch {
    return false;
  }
}

Deno.test("assertArgumentsEquivalent() accepts exactly equal values", () => {
  fc.assert(
    fc.property(fieldTable, fieldTable, (a, b) => {
      const names = new Set([...a.keys(), ...b.keys()]);
      names.delete("x-queue-type");
      const isSame = [...names].every((name) => {
        const [one, other] = [a.get(name), b.get(name)];
        return one !== undefined && other !== undefined && fieldsEqual(one, other);
      });
      assertEquals(isAccepted(names, a, b), isSame);
      assertEquals(isAccepted(names, a, a), true);
    }),
    { seed: 19 },
  );
});

Deno.test("assertArgumentsEquivalent() compares integers of different width by value", () => {
  for (const tag of ["b", "B", "s", "u", "I", "i", "L"] as const) {
    const narrow = new Map<string, FieldValue>([["a", { tag, value: 5 }]]);
    assertEquals(isAccepted(["a"], narrow, args({ a: 5 })), true);
    assertEquals(isAccepted(["a"], narrow, args({ a: 6 })), false);
  }
});
