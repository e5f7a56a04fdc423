// Tests of queue arguments: settings and defaults, and every refusal with its text.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { PlainObject, PlainValue } from "../../../../src/amqp/field_json.ts";
import type { FieldTable, FieldValue } from "../../../../src/amqp/field_value.ts";
import type { QueueArguments } from "../../../../src/broker/arguments/queue_arguments.ts";
import { parseQueueArguments } from "../../../../src/broker/arguments/queue_arguments.ts";
import type { QueueSpec } from "../../../../src/broker/names.ts";
import { args, queueSpec, refusalOf } from "../support/topology.ts";

function parse(values: PlainObject | FieldTable, more: Partial<QueueSpec> = {}): QueueArguments {
  const table = values instanceof Map ? values as FieldTable : args(values as PlainObject);
  return parseQueueArguments(queueSpec("q", { args: table, ...more }), "/");
}

function invalid(name: string, reason: string): string {
  return `406 PRECONDITION_FAILED - invalid arg '${name}' for queue 'q' in vhost '/': ${reason}`;
}

function refusal(values: PlainObject, more: Partial<QueueSpec> = {}): string {
  return refusalOf(() => parse(values, more));
}

Deno.test("parseQueueArguments() leaves everything unset without arguments", () => {
  assertEquals(parse({}), {
    messageTtlMs: Infinity,
    expiresMs: Infinity,
    lengthMax: Infinity,
    lengthBytesMax: Infinity,
    overflow: "drop-head",
    deadLetterExchange: null,
    deadLetterRoutingKey: null,
    deliveryLimit: Infinity,
    isDeliveryLimitDefault: false,
    retry: null,
    queueType: "classic",
    raw: args(),
    effective: args(),
  });
});

Deno.test("parseQueueArguments() reads every argument with an effect", () => {
  const values = {
    "x-message-ttl": 0,
    "x-expires": 1,
    "x-max-length": 0,
    "x-max-length-bytes": 2 ** 40,
    "x-overflow": "reject-publish-dlx",
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": "",
    "x-delivery-limit": 0,
    "x-queue-type": "classic",
  };
  assertEquals(parse(values), {
    messageTtlMs: 0,
    expiresMs: 1,
    lengthMax: 0,
    lengthBytesMax: 2 ** 40,
    overflow: "reject-publish-dlx",
    deadLetterExchange: "",
    deadLetterRoutingKey: "",
    deliveryLimit: 0,
    isDeliveryLimitDefault: false,
    retry: null,
    queueType: "classic",
    raw: args(values),
    effective: args(values),
  });
});

Deno.test("parseQueueArguments() takes integers of any width, and no others", () => {
  for (const tag of ["b", "B", "s", "u", "I", "i", "l", "L"] as const) {
    assertEquals(parse(new Map([["x-max-length", { tag, value: 7 }]])).lengthMax, 7);
  }
  const names: [FieldValue, string][] = [
    [{ tag: "d", value: 7 }, "double"],
    [{ tag: "f", value: 7 }, "float"],
    [{ tag: "S", value: "7" }, "longstr"],
    [{ tag: "t", value: true }, "bool"],
    [{ tag: "T", value: 7 }, "timestamp"],
    [{ tag: "D", scale: 0, value: 7 }, "decimal"],
    [{ tag: "V" }, "void"],
    [{ tag: "A", value: [] }, "array"],
    [{ tag: "F", value: new Map() }, "table"],
    [{ tag: "x", value: new Uint8Array([7]) }, "binary"],
  ];
  const integers = ["x-message-ttl", "x-expires", "x-max-length", "x-max-length-bytes"];
  for (const name of [...integers, "x-delivery-limit", "x-delayed-retry-min"]) {
    for (const [field, type] of names) {
      assertEquals(
        refusalOf(() => parse(new Map([[name, field]]))),
        invalid(name, `"expected integer, got ${type}"`),
      );
    }
  }
});

Deno.test("parseQueueArguments() refuses numbers out of range with RabbitMQ's texts", () => {
  const tenYears = 315_360_000_000;
  const cases: [string, PlainValue, string][] = [
    ["x-message-ttl", -1, "{value_negative,-1}"],
    ["x-message-ttl", tenYears + 1, `{value_too_large,${tenYears + 1}}`],
    ["x-message-ttl", 2n ** 63n - 1n, "{value_too_large,9223372036854775807}"],
    ["x-expires", 0, "{value_zero,0}"],
    ["x-expires", -5, "{value_negative,-5}"],
    ["x-expires", tenYears + 1, `{value_too_large,${tenYears + 1}}`],
    ["x-max-length", -1, "{value_negative,-1}"],
    ["x-max-length-bytes", -1, "{value_negative,-1}"],
    ["x-delivery-limit", -1, "{value_negative,-1}"],
    ["x-max-priority", -1, "{value_negative,-1}"],
    ["x-max-priority", 256, "{max_value_exceeded,256}"],
    ["x-queue-version", 3, "\"unsupported queue version '3'\""],
    ["x-queue-version", "2", '"expected integer, got longstr"'],
  ];
  for (const [name, value, reason] of cases) {
    assertEquals(refusal({ [name]: value }), invalid(name, reason));
  }
  assertEquals(parse({ "x-message-ttl": tenYears, "x-expires": tenYears }).messageTtlMs, tenYears);
  assertStringIncludes(refusal({ "x-max-priority": 255 }), "not supported yet");
});

Deno.test("parseQueueArguments() refuses texts it does not know", () => {
  const cases: [string, PlainValue, string][] = [
    ["x-overflow", "drop-tail", "invalid_overflow"],
    ["x-overflow", 1, "{unacceptable_type,long}"],
    ["x-queue-type", "odd", "\"unsupported queue type 'odd'\""],
    ["x-queue-type", 1, "{unacceptable_type,long}"],
    ["x-queue-mode", "odd", "\"unsupported queue mode 'odd'\""],
    ["x-dead-letter-routing-key", 1, "{unacceptable_type,long}"],
    ["x-single-active-consumer", "true", "{unacceptable_type,longstr}"],
    ["x-message-deduplication", 1, "{unacceptable_type,long}"],
    ["x-deduplication-header", 1, "{unacceptable_type,long}"],
    ["x-consumer-timeout", "1", '"expected integer, got longstr"'],
    ["x-cache-size", -1, "{value_negative,-1}"],
    ["x-cache-ttl", true, '"expected integer, got bool"'],
  ];
  for (const [name, value, reason] of cases) {
    assertEquals(refusal({ [name]: value }), invalid(name, reason));
  }
});

Deno.test("parseQueueArguments() checks the dead-letter arguments", () => {
  assertEquals(
    refusal({ "x-dead-letter-exchange": 1 }),
    "406 PRECONDITION_FAILED - invalid type 'long' for arg 'x-dead-letter-exchange' in queue 'q' in vhost '/'",
  );
  assertEquals(
    refusal({ "x-dead-letter-routing-key": "k" }),
    invalid("x-dead-letter-routing-key", "routing_key_but_no_dlx_defined"),
  );
  // What no short string can hold could never be an exchange or a key.
  assertEquals(
    refusal({ "x-dead-letter-exchange": "é".repeat(128) }),
    invalid("x-dead-letter-exchange", "longer than 255 bytes"),
  );
  assertEquals(
    refusal({ "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "k".repeat(256) }),
    invalid("x-dead-letter-routing-key", "longer than 255 bytes"),
  );
  const bytes: FieldTable = new Map([
    ["x-dead-letter-exchange", { tag: "S", value: new Uint8Array([255]) }],
  ]);
  assertEquals(
    refusalOf(() => parse(bytes)),
    invalid("x-dead-letter-exchange", "not valid UTF-8"),
  );
});

Deno.test("parseQueueArguments() refuses what is not there yet, if it asks for anything", () => {
  const asked: PlainObject = {
    "x-max-priority": 10,
    "x-single-active-consumer": true,
    "x-consumer-timeout": 0,
    "x-message-deduplication": true,
    "x-cache-size": 128,
    "x-cache-ttl": 1000,
    "x-deduplication-header": "x-id",
  };
  for (const [name, value] of Object.entries(asked)) {
    assertEquals(refusal({ [name]: value }), invalid(name, "not supported yet"));
  }
  const off = {
    "x-max-priority": 0,
    "x-single-active-consumer": false,
    "x-message-deduplication": false,
  };
  assertEquals(parse(off).effective, args());
  assertEquals(
    refusal({ "x-queue-type": "stream" }),
    invalid("x-queue-type", "queue type 'stream' is not supported yet"),
  );
});

Deno.test("parseQueueArguments() takes arguments without effect and arguments nobody knows", () => {
  const inert = {
    "x-queue-mode": "lazy",
    "x-queue-version": 2,
    "x-queue-master-locator": "min-masters",
    "x-mine": 1.5,
    other: [1],
  };
  const settings = parse(inert);
  assertEquals(settings.raw, args(inert));
  assertEquals(settings.effective, args());
});

Deno.test("parseQueueArguments() serves quorum queues that could be ones", () => {
  const quorum = { "x-queue-type": "quorum" };
  const settings = parse(quorum, { durable: true });
  assertEquals(settings.queueType, "quorum");
  assertEquals(settings.deliveryLimit, Infinity);
  const property = (name: string) =>
    `406 PRECONDITION_FAILED - invalid property '${name}' for queue 'q' in vhost '/'`;
  assertEquals(refusal(quorum), property("non-durable"));
  assertEquals(refusal(quorum, { exclusive: true }), property("exclusive-owner"));
  assertEquals(refusal(quorum, { durable: true, autoDelete: true }), property("auto-delete"));
});

Deno.test("parseQueueArguments() takes placement arguments on quorum queues only", () => {
  const placement: PlainObject = {
    "x-dead-letter-strategy": "at-least-once",
    "x-max-in-memory-length": 0,
    "x-max-in-memory-bytes": 0,
    "x-quorum-initial-group-size": 3,
    "x-queue-leader-locator": "balanced",
  };
  parse({ ...placement, "x-queue-type": "quorum" }, { durable: true });
  for (const [name, value] of Object.entries(placement)) {
    assertEquals(
      refusal({ [name]: value }),
      `406 PRECONDITION_FAILED - invalid arg '${name}' for queue 'q' in vhost '/' ` +
        "of queue type rabbit_classic_queue",
    );
  }
  const onQuorum = (values: PlainObject) =>
    refusal({ ...values, "x-queue-type": "quorum" }, { durable: true });
  assertEquals(
    onQuorum({ "x-quorum-initial-group-size": 0 }),
    invalid("x-quorum-initial-group-size", "{value_zero,0}"),
  );
  assertEquals(
    onQuorum({ "x-dead-letter-strategy": "never" }),
    invalid("x-dead-letter-strategy", "invalid_dlx_strategy"),
  );
  assertEquals(
    onQuorum({ "x-queue-leader-locator": "odd" }),
    invalid("x-queue-leader-locator", "invalid_queue_locator_arg"),
  );
  for (const type of ["classic", "quorum"]) {
    assertEquals(
      refusal({ "x-max-age": "1D", "x-queue-type": type }, { durable: true }),
      "406 PRECONDITION_FAILED - invalid arg 'x-max-age' for queue 'q' in vhost '/' " +
        `of queue type rabbit_${type}_queue`,
    );
  }
});

Deno.test("parseQueueArguments() names the argument also where a long name cuts the text", () => {
  const spec = queueSpec("q".repeat(255), { args: args({ "x-message-ttl": -1 }) });
  const text = refusalOf(() => parseQueueArguments(spec, "/"));
  assertEquals(text.length, "406 ".length + 255);
  assertStringIncludes(text, "x-message-ttl");
});
