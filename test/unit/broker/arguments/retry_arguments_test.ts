// Tests of the retry arguments: docs/automatic-retries.md "Arguments" and "RabbitMQ's dialect", row by
// row.

import { assertEquals, assertMatch } from "@std/assert";
import type { PlainObject, PlainValue } from "../../../../src/amqp/field_json.ts";
import type { FieldTable } from "../../../../src/amqp/field_value.ts";
import type { QueueArguments } from "../../../../src/broker/arguments/queue_arguments.ts";
import { parseQueueArguments } from "../../../../src/broker/arguments/queue_arguments.ts";
import { args, queueSpec, refusalOf } from "../support/topology.ts";

const MIN = "x-delayed-retry-min";
const MULTIPLIER = "x-delayed-retry-multiplier";
const MAX = "x-delayed-retry-max";
const JITTER = "x-delayed-retry-jitter";
const DELAYS = "x-delayed-retry-delays";
const TYPE = "x-delayed-retry-type";

function parse(values: PlainObject, name = "q"): QueueArguments {
  return parseQueueArguments(queueSpec(name, { args: args(values) }), "/");
}

function refusal(values: PlainObject, name = "q"): string {
  return refusalOf(() => parse(values, name)).replace("406 PRECONDITION_FAILED - ", "");
}

function effectiveNames(values: PlainObject): string[] {
  return [...parse(values).effective.keys()].sort();
}

Deno.test("x-delayed-retry-min alone enables linear retries with the default limit", () => {
  const { retry, deliveryLimit, isDeliveryLimitDefault } = parse({ [MIN]: 500 });
  assertEquals(retry, {
    minMs: 500,
    multiplier: 0,
    maxMs: 0,
    jitterPercent: 0,
    delaysMs: null,
    type: "",
  });
  assertEquals(deliveryLimit, 20);
  assertEquals(isDeliveryLimitDefault, true);
});

Deno.test("an explicit delivery limit is kept, 0 included", () => {
  for (const limit of [0, 5, 20]) {
    const settings = parse({ [MIN]: 500, "x-delivery-limit": limit });
    assertEquals(settings.deliveryLimit, limit);
    assertEquals(settings.isDeliveryLimitDefault, false);
  }
  assertEquals(parse({ "x-delivery-limit": 5 }).deliveryLimit, 5);
});

Deno.test("all retry arguments together come to settings", () => {
  const values = { [MIN]: 500, [MULTIPLIER]: 2, [MAX]: 30_000, [JITTER]: 25 };
  const { retry, effective } = parse(values);
  assertEquals(retry, {
    minMs: 500,
    multiplier: 2,
    maxMs: 30_000,
    jitterPercent: 25,
    delaysMs: null,
    type: "",
  });
  assertEquals(effective, args(values));
});

Deno.test("retry arguments take the ends of their ranges", () => {
  const maxMs = Number.MAX_SAFE_INTEGER;
  assertEquals(parse({ [MIN]: maxMs }).retry?.minMs, maxMs);
  assertEquals(parse({ [MIN]: 1, [MULTIPLIER]: 2 ** 31 - 1 }).retry?.multiplier, 2 ** 31 - 1);
  assertEquals(parse({ [MIN]: 1, [MULTIPLIER]: 1 }).retry?.multiplier, 1);
  // A longest delay beyond what can be told apart is as good as none.
  assertEquals(parse({ [MIN]: 1, [MAX]: 2n ** 63n - 1n }).retry?.maxMs, maxMs);
  assertEquals(parse({ [MIN]: 5, [MAX]: 1 }).retry?.maxMs, 1);
  assertEquals(parse({ [MIN]: 1, [JITTER]: 100 }).retry?.jitterPercent, 100);
  assertEquals(parse({ [MIN]: 1, [JITTER]: 0 }).retry?.jitterPercent, 0);
});

Deno.test("retry arguments out of range are refused by name and rule", () => {
  const safe = Number.MAX_SAFE_INTEGER;
  const cases: [string, PlainValue, string][] = [
    [MIN, 0, "0 is less than the minimum value 1"],
    [MIN, -1, "-1 is less than the minimum value 1"],
    [MIN, 2n ** 53n, `9007199254740992 is greater than the maximum value ${safe}`],
    [MIN, 1.5, '"expected integer, got double"'],
    [MIN, "bad", '"expected integer, got longstr"'],
    [MIN, true, '"expected integer, got bool"'],
    [MULTIPLIER, 0, "0 is less than the minimum value 1"],
    [MULTIPLIER, 3_000_000_000, "3000000000 is greater than the maximum value 2147483647"],
    [MULTIPLIER, 1.5, '"expected integer, got double"'],
    [MAX, 0, "0 is less than the minimum value 1"],
    [MAX, "1", '"expected integer, got longstr"'],
    [JITTER, -1, "-1 is less than the minimum value 0"],
    [JITTER, 101, "101 is greater than the maximum value 100"],
    [JITTER, 0.5, '"expected integer, got double"'],
    [DELAYS, 5, '"expected array of integers, got long"'],
    [DELAYS, [], "expected at least 1 entry"],
    [DELAYS, Array(65).fill(1), "expected at most 64 entries"],
    [DELAYS, [1, 0], "0 is less than the minimum value 1"],
    [DELAYS, [1, "2"], '"expected integer, got longstr"'],
    [DELAYS, [2n ** 53n], `9007199254740992 is greater than the maximum value ${safe}`],
    [TYPE, "some", "unknown value 'some', expected all, failed, returned, disabled"],
    [TYPE, 5, "{unacceptable_type,long}"],
  ];
  for (const [name, value, reason] of cases) {
    const text = `invalid arg '${name}' for queue 'q' in vhost '/': ${reason}`;
    assertEquals(refusal({ [name]: value }), text);
    // The same beside an argument that enables retries.
    if (name !== MIN && name !== DELAYS) assertEquals(refusal({ [MIN]: 1, [name]: value }), text);
  }
});

Deno.test("x-delayed-retry-delays enables retries on its own, with jitter if asked", () => {
  const { retry, deliveryLimit } = parse({ [DELAYS]: [1, 500, 3], [JITTER]: 10 });
  assertEquals(retry, {
    minMs: 0,
    multiplier: 0,
    maxMs: 0,
    jitterPercent: 10,
    delaysMs: [1, 500, 3],
    type: "",
  });
  assertEquals(deliveryLimit, 20);
  assertEquals(parse({ [DELAYS]: Array(64).fill(7) }).retry?.delaysMs?.length, 64);
});

Deno.test("x-delayed-retry-delays cannot be combined with min, multiplier or max", () => {
  for (const name of [MIN, MULTIPLIER, MAX]) {
    assertEquals(
      refusal({ [DELAYS]: [1], [name]: 5 }),
      `x-delayed-retry-delays cannot be combined with ${name}`,
    );
  }
});

Deno.test("max, multiplier and jitter without min or delays are inert", () => {
  const values = { [MAX]: 5, [MULTIPLIER]: 2, [JITTER]: 10, "x-max-length": 5 };
  const { retry, deliveryLimit, raw } = parse(values);
  assertEquals(retry, null);
  assertEquals(deliveryLimit, Infinity);
  assertEquals(raw, args(values));
  assertEquals(effectiveNames(values), ["x-max-length"]);
  assertEquals(effectiveNames({ [DELAYS]: [5], [JITTER]: 5 }), [DELAYS, JITTER]);
});

Deno.test("retries are refused together with deduplication, with min and with delays", () => {
  for (const [name, value] of [[MIN, 1], [DELAYS, [1]]] as const) {
    assertEquals(
      refusal({ [name]: value, "x-message-deduplication": true }),
      `${name} cannot be combined with x-message-deduplication`,
    );
    assertEquals(parse({ [name]: value, "x-message-deduplication": false }).retry === null, false);
  }
});

Deno.test("retry arguments are refused on streams, before the stream itself is", () => {
  const values: PlainObject = {
    [MIN]: 1,
    [MULTIPLIER]: 1,
    [MAX]: 1,
    [JITTER]: 1,
    [DELAYS]: [1],
    [TYPE]: "disabled",
  };
  for (const [name, value] of Object.entries(values)) {
    assertEquals(
      refusal({ [name]: value, "x-queue-type": "stream" }),
      `argument ${name} not allowed for streams`,
    );
  }
});

Deno.test("a retry refusal comes before the refusal of a feature that is not there yet", () => {
  assertMatch(refusal({ [MIN]: 0, "x-max-priority": 5 }), /x-delayed-retry-min/);
  assertMatch(
    refusal({ [MIN]: 1, "x-message-deduplication": true, "x-max-priority": 5 }),
    /x-delayed-retry-min cannot be combined with x-message-deduplication/,
  );
  assertMatch(refusal({ [TYPE]: "all", "x-max-priority": 5 }), /requires/);
});

Deno.test("a name that leaves no room for the retry queue's is refused", () => {
  const text = (name: string) => `queue name too long for ${name}: at most 245 bytes`;
  assertEquals(parse({ [MIN]: 1 }, "q".repeat(245)).retry?.minMs, 1);
  assertEquals(refusal({ [MIN]: 1 }, "q".repeat(246)), text(MIN));
  assertEquals(refusal({ [DELAYS]: [1] }, "é".repeat(123)), text(DELAYS));
  assertEquals(parse({ [MIN]: 1, [TYPE]: "disabled" }, "q".repeat(255)).retry, null);
  assertEquals(parse({ [MAX]: 1 }, "q".repeat(255)).retry, null);
});

Deno.test("x-delayed-retry-type all, failed and returned need min or delays", () => {
  for (const type of ["all", "failed", "returned"]) {
    assertEquals(
      refusal({ [TYPE]: type }),
      "x-delayed-retry-type requires x-delayed-retry-min or x-delayed-retry-delays",
    );
    assertEquals(refusal({ [TYPE]: type, [MAX]: 5 }).slice(0, 20), "x-delayed-retry-type");
    assertEquals(parse({ [TYPE]: type, [MIN]: 500 }).retry?.type as string, type);
    assertEquals(parse({ [TYPE]: type, [DELAYS]: [5] }).retry?.type as string, type);
    assertEquals(parse({ [TYPE]: type, [MIN]: 500 }).deliveryLimit, 20);
  }
});

Deno.test("x-delayed-retry-type disabled switches everything off and still validates", () => {
  const values = { [TYPE]: "disabled", [MIN]: 500, [MULTIPLIER]: 2, [MAX]: 1000, [JITTER]: 5 };
  const { retry, deliveryLimit, isDeliveryLimitDefault } = parse(values);
  assertEquals(retry, null);
  assertEquals(deliveryLimit, Infinity);
  assertEquals(isDeliveryLimitDefault, false);
  assertEquals(effectiveNames(values), [TYPE]);
  assertMatch(refusal({ ...values, [MIN]: 0 }), /x-delayed-retry-min/);
  assertMatch(refusal({ ...values, [DELAYS]: [1] }), /cannot be combined/);
  assertEquals(parse({ [TYPE]: "disabled" }).retry, null);
});

Deno.test("retry arguments take integers of every width", () => {
  for (const tag of ["b", "B", "s", "u", "I", "i", "l", "L"] as const) {
    const table: FieldTable = new Map([
      [MIN, { tag, value: 7 }],
      [JITTER, { tag, value: 9 }],
    ]);
    const { retry } = parseQueueArguments(queueSpec("q", { args: table }), "/");
    assertEquals([retry?.minMs, retry?.jitterPercent], [7, 9]);
  }
});
