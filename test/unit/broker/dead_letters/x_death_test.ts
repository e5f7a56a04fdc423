// Tests of the death history: RabbitMQ's fields, repeated deaths, forged headers, cycles.

import { assert, assertEquals, assertFalse } from "@std/assert";
import fc from "fast-check";
import { fieldTableToJson } from "../../../../src/amqp/field_json.ts";
import type { FieldTable, FieldValue } from "../../../../src/amqp/field_value.ts";
import type { Death } from "../../../../src/broker/dead_letters/x_death.ts";
import type { DeathCause } from "../../../../src/store/port.ts";
import { cycleQueues, recordDeath } from "../../../../src/broker/dead_letters/x_death.ts";
import { fieldTable } from "../../amqp/support/arbitraries.ts";
import { args } from "../support/topology.ts";

function death(queue: string, reason: DeathCause, more: Partial<Death> = {}): Death {
  return {
    queue,
    reason,
    exchange: "x",
    routingKeys: ["k"],
    timeSeconds: 1000,
    originalExpiration: null,
    ...more,
  };
}

function after(...deaths: Death[]): FieldTable {
  return deaths.reduce<FieldTable>(recordDeath, new Map());
}

function isCycle(headers: FieldTable, targetQueue: string): boolean {
  return cycleQueues(headers).has(targetQueue);
}

function historyOf(headers: FieldTable): string[] {
  const json = fieldTableToJson(headers)["x-death"] as { [key: string]: unknown }[];
  return json.map(({ queue, reason, count }) => `${queue} ${reason} ${count}`);
}

Deno.test("recordDeath() writes every field with RabbitMQ's types", () => {
  const headers = recordDeath(
    null,
    death("q", "expired", { routingKeys: ["k", "cc"], originalExpiration: "500" }),
  );
  const entry = new Map<string, FieldValue>([
    ["original-expiration", { tag: "S", value: "500" }],
    ["count", { tag: "l", value: 1 }],
    ["reason", { tag: "S", value: "expired" }],
    ["queue", { tag: "S", value: "q" }],
    ["time", { tag: "T", value: 1000 }],
    ["exchange", { tag: "S", value: "x" }],
    [
      "routing-keys",
      { tag: "A", value: [{ tag: "S", value: "k" }, { tag: "S", value: "cc" }] },
    ],
  ]);
  assertEquals(headers.get("x-death"), { tag: "A", value: [{ tag: "F", value: entry }] });
  assertEquals(headers.get("x-first-death-queue"), { tag: "S", value: "q" });
  assertEquals(headers.get("x-first-death-reason"), { tag: "S", value: "expired" });
  assertEquals(headers.get("x-first-death-exchange"), { tag: "S", value: "x" });
  assertEquals(headers.get("x-last-death-queue"), { tag: "S", value: "q" });
  assertEquals(headers.get("x-last-death-reason"), { tag: "S", value: "expired" });
  assertEquals(headers.get("x-last-death-exchange"), { tag: "S", value: "x" });
});

Deno.test("recordDeath() has no original-expiration without an expiration", () => {
  const [entry] = (fieldTableToJson(after(death("q", "rejected")))["x-death"]) as object[];
  assertFalse("original-expiration" in entry!);
});

Deno.test("recordDeath() puts the newest death first, one per queue and reason", () => {
  const headers = after(
    death("a", "rejected"),
    death("b", "expired"),
    death("a", "rejected"),
    death("a", "maxlen"),
    death("b", "expired"),
    death("b", "expired"),
  );
  assertEquals(historyOf(headers), ["b expired 3", "a maxlen 1", "a rejected 2"]);
});

Deno.test("recordDeath() counts a repeated death and keeps the rest as it first was", () => {
  const headers = after(
    death("a", "expired", { timeSeconds: 1000, originalExpiration: "10" }),
    death("a", "expired", { timeSeconds: 2000, exchange: "other", routingKeys: ["new"] }),
  );
  const [entry] = fieldTableToJson(headers)["x-death"] as object[];
  assertEquals(entry, {
    "original-expiration": "10",
    count: 2,
    reason: "expired",
    queue: "a",
    time: 1000,
    exchange: "x",
    "routing-keys": ["k"],
  });
});

Deno.test("recordDeath() sets the first death once and lets the last follow", () => {
  const headers = after(death("a", "rejected"), death("b", "expired"), death("c", "maxlen"));
  const json = fieldTableToJson(headers);
  assertEquals(json["x-first-death-queue"], "a");
  assertEquals(json["x-first-death-reason"], "rejected");
  assertEquals(json["x-last-death-queue"], "c");
  assertEquals(json["x-last-death-reason"], "maxlen");
});

Deno.test("recordDeath() keeps other headers and leaves the given ones alone", () => {
  const given = args({ a: 1, "x-delay": 5 });
  const headers = recordDeath(given, death("q", "rejected"));
  assertEquals(given.size, 2);
  assertEquals(headers.get("a"), given.get("a"));
  assertEquals(headers.get("x-delay"), given.get("x-delay"));
});

Deno.test("recordDeath() continues a history that a consumer published again", () => {
  const published = after(death("a", "rejected"), death("b", "expired"));
  assertEquals(historyOf(recordDeath(published, death("a", "rejected"))), [
    "a rejected 2",
    "b expired 1",
  ]);
  assertEquals(
    fieldTableToJson(recordDeath(published, death("c", "maxlen")))["x-first-death-queue"],
    "a",
  );
});

Deno.test("recordDeath() ignores a malformed history and starts anew", () => {
  const forgeries = [
    "text",
    5,
    [],
    ["text"],
    [{}],
    [{ queue: "a", reason: "rejected", count: 1 }],
    [{
      queue: 1,
      reason: "rejected",
      count: 1,
      exchange: "x",
      "routing-keys": [],
      time: new Date(0),
    }],
    [{
      queue: "a",
      reason: "rejected",
      count: 0,
      exchange: "x",
      "routing-keys": [],
      time: new Date(0),
    }],
    [{
      queue: "a",
      reason: "rejected",
      count: "1",
      exchange: "x",
      "routing-keys": [],
      time: new Date(0),
    }],
    [{
      queue: "a",
      reason: "rejected",
      count: 1,
      exchange: "x",
      "routing-keys": "k",
      time: new Date(0),
    }],
    [{ queue: "a", reason: "rejected", count: 1, exchange: "x", "routing-keys": [], time: "5" }],
  ];
  for (const forgery of forgeries) {
    const headers = args({ "x-death": forgery, "x-first-death-queue": "forged" });
    const updated = recordDeath(headers, death("q", "rejected"));
    assertEquals(historyOf(updated), ["q rejected 1"]);
    assertEquals(fieldTableToJson(updated)["x-first-death-queue"], "q");
  }
});

Deno.test("recordDeath() drops only the malformed entries of a history", () => {
  const good = after(death("a", "rejected")).get("x-death")!;
  const items = good.tag === "A" ? good.value : [];
  const mixed: FieldTable = new Map([
    ["x-death", { tag: "A", value: [{ tag: "S", value: "bad" }, ...items, ...items] }],
  ]);
  assertEquals(historyOf(recordDeath(mixed, death("a", "rejected"))), ["a rejected 2"]);
});

Deno.test("recordDeath() continues a history whose time a client library made an integer", () => {
  const time = {
    queue: "a",
    reason: "rejected",
    count: 2,
    exchange: "x",
    "routing-keys": [],
    time: 5,
  };
  const updated = recordDeath(args({ "x-death": [time] }), death("a", "rejected"));
  assertEquals(historyOf(updated), ["a rejected 3"]);
  const field = updated.get("x-death")!;
  const entry = field.tag === "A" && field.value[0]!.tag === "F" ? field.value[0]!.value : null;
  assertEquals(entry!.get("time"), { tag: "T", value: 5 });
});

Deno.test("recordDeath() does not let a forged count overflow", () => {
  const one = after(death("a", "rejected")).get("x-death")!;
  const entry = one.tag === "A" && one.value[0]!.tag === "F" ? one.value[0]!.value : new Map();
  for (const count of [Number.MAX_SAFE_INTEGER, 2n ** 63n - 1n]) {
    const table = new Map([...entry, ["count", { tag: "l", value: count }]]) as FieldTable;
    const forged: FieldTable = new Map([
      ["x-death", { tag: "A", value: [{ tag: "F", value: table }] }],
    ]);
    assertEquals(historyOf(recordDeath(forged, death("a", "rejected"))), [
      `a rejected ${Number(count)}`,
    ]);
  }
});

Deno.test("recordDeath() takes any headers at all", () => {
  fc.assert(
    fc.property(fieldTable, (headers) => {
      const updated = recordDeath(headers, death("q", "maxlen"));
      assert(historyOf(updated).length >= 1);
      isCycle(updated, "q");
    }),
    { seed: 17 },
  );
});

Deno.test("cycleQueues() sees a queue the message died in before without a consumer's doing", () => {
  const headers = after(death("a", "expired"), death("b", "maxlen"));
  assert(isCycle(headers, "a"));
  assert(isCycle(headers, "b"));
  assertFalse(isCycle(headers, "c"));
});

Deno.test("cycleQueues() lets a loop pass that a consumer is part of", () => {
  for (const reason of ["rejected", "delivery_limit"] as const) {
    assertFalse(isCycle(after(death("a", reason)), "a"));
    assertFalse(isCycle(after(death("a", "expired"), death("b", reason)), "a"));
    assertFalse(isCycle(after(death("a", reason), death("b", "expired")), "a"));
  }
});

Deno.test("cycleQueues() does not excuse a loop by a rejection before it", () => {
  const headers = after(death("work", "rejected"), death("a", "expired"), death("b", "expired"));
  assert(isCycle(headers, "a"));
  assertFalse(isCycle(headers, "work"));
});

Deno.test("cycleQueues() looks at the newest death of a queue only", () => {
  assert(isCycle(after(death("a", "rejected"), death("a", "expired")), "a"));
  assertFalse(isCycle(after(death("a", "expired"), death("a", "rejected")), "a"));
});

/** The model, as the contract says it: cut the history at the target, then look for a consumer. */
function isCycleByContract(newestFirst: [string, DeathCause][], target: string): boolean {
  const at = newestFirst.findIndex(([queue]) => queue === target);
  if (at < 0) return false;
  const loop = newestFirst.slice(0, at + 1);
  return loop.every(([, reason]) => reason !== "rejected" && reason !== "delivery_limit");
}

Deno.test("recordDeath() and cycleQueues() agree with a naive history", () => {
  const reason = fc.constantFrom<DeathCause>("rejected", "expired", "maxlen", "delivery_limit");
  const deaths = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), reason), {
    minLength: 1,
    maxLength: 9,
  });
  fc.assert(
    fc.property(deaths, (run) => {
      const headers = after(...run.map(([queue, why]) => death(queue, why)));
      const newestFirst: [string, DeathCause][] = [];
      for (const one of [...run].reverse()) {
        if (!newestFirst.some((other) => String(other) === String(one))) newestFirst.push(one);
      }
      const counted = newestFirst.map((one) =>
        `${one[0]} ${one[1]} ${run.filter((other) => String(other) === String(one)).length}`
      );
      assertEquals(historyOf(headers), counted);
      for (const target of ["a", "b", "c"]) {
        assertEquals(isCycle(headers, target), isCycleByContract(newestFirst, target));
      }
    }),
    { seed: 18, numRuns: 500 },
  );
});
