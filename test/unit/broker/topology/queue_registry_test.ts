// Tests of declaring, reaching and deleting queues: every refusal text, ownership, internal names.

import { assert, assertEquals, assertFalse, assertMatch, assertStrictEquals } from "@std/assert";
import type { PlainObject } from "../../../../src/amqp/field_json.ts";
import type { FieldValue } from "../../../../src/amqp/field_value.ts";
import type { QueueSpec } from "../../../../src/broker/names.ts";
import type { VHost } from "../../../../src/broker/topology/vhost.ts";
import {
  ALICE,
  args,
  BOB,
  declareQueue,
  makeBroker,
  makeVHost,
  queueSpec,
  refusalOf,
} from "../support/topology.ts";

const ANY = { ifUnused: false, ifEmpty: false };
const LOCKED =
  "405 RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost '/'. " +
  "It could be originally declared on another connection or the exclusive property value does not " +
  "match that of the original declaration.";

function declare(vhost: VHost, more: Partial<QueueSpec>, owner = ALICE) {
  return vhost.declareQueue(queueSpec("q", more), owner);
}

Deno.test("declareQueue() gives back the queue that was declared just so", () => {
  const vhost = makeVHost();
  const queue = declare(vhost, { durable: true, args: args({ "x-max-length": 5 }) });
  const narrow = new Map<string, FieldValue>([["x-max-length", { tag: "b", value: 5 }]]);
  assertStrictEquals(declare(vhost, { durable: true, args: narrow }, BOB), queue);
  assertEquals(vhost.queues.size, 1);
});

Deno.test("declareQueue() refuses other properties with RabbitMQ's texts", () => {
  const vhost = makeVHost();
  declare(vhost, { args: args({ "x-message-ttl": 1000, "x-overflow": "drop-head" }) });
  const text = (arg: string, received: string, current: string) =>
    `406 PRECONDITION_FAILED - inequivalent arg '${arg}' for queue 'q' in vhost '/': ` +
    `received ${received} but current is ${current}`;
  const given = args({ "x-message-ttl": 1000, "x-overflow": "drop-head" });
  const refusal = (more: Partial<QueueSpec>) =>
    refusalOf(() => declare(vhost, { args: given, ...more }));
  assertEquals(refusal({ durable: true }), text("durable", "'true'", "'false'"));
  assertEquals(refusal({ autoDelete: true }), text("auto_delete", "'true'", "'false'"));
  const withArgs = (values: PlainObject) => refusal({ args: args(values) });
  assertEquals(
    withArgs({ "x-message-ttl": 2000, "x-overflow": "drop-head" }),
    text("x-message-ttl", "'2000'", "'1000'"),
  );
  assertEquals(
    withArgs({ "x-overflow": "drop-head" }),
    text("x-message-ttl", "none", "the value '1000' of type 'long'"),
  );
  assertEquals(
    withArgs({ "x-message-ttl": 1000, "x-overflow": "reject-publish" }),
    text("x-overflow", "'reject-publish'", "'drop-head'"),
  );
  assertEquals(
    withArgs({ "x-message-ttl": 1000, "x-overflow": "drop-head", "x-expires": 5 }),
    text("x-expires", "the value '5' of type 'long'", "none"),
  );
  assertEquals(
    withArgs({ "x-message-ttl": "1000", "x-overflow": "drop-head" }),
    text("x-message-ttl", "the value '1000' of type 'longstr'", "the value '1000' of type 'long'"),
  );
});

Deno.test("declareQueue() compares a default written out with one left out as different", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q", { "x-delayed-retry-min": 500 });
  assertEquals(
    refusalOf(() =>
      declareQueue(vhost, "q", { "x-delayed-retry-min": 500, "x-delivery-limit": 20 })
    ),
    "406 PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit' for queue 'q' in vhost '/': " +
      "received the value '20' of type 'long' but current is none",
  );
});

Deno.test("declareQueue() compares inert, future and retry arguments as well", () => {
  const cases: [string, PlainObject, PlainObject][] = [
    ["x-delayed-retry-min", { "x-delayed-retry-min": 5 }, { "x-delayed-retry-min": 6 }],
    ["x-delayed-retry-max", { "x-delayed-retry-max": 5 }, {}],
    ["x-delayed-retry-multiplier", {}, { "x-delayed-retry-multiplier": 2 }],
    ["x-delayed-retry-jitter", {}, { "x-delayed-retry-jitter": 2 }],
    ["x-delayed-retry-delays", { "x-delayed-retry-delays": [1, 2] }, {
      "x-delayed-retry-delays": [1],
    }],
    ["x-delayed-retry-type", {}, { "x-delayed-retry-type": "disabled" }],
    ["x-consumer-timeout", {}, { "x-consumer-timeout": 5 }],
    ["x-queue-mode", { "x-queue-mode": "lazy" }, {}],
    ["x-single-active-consumer", {}, { "x-single-active-consumer": true }],
    ["x-max-priority", {}, { "x-max-priority": 5 }],
    ["x-message-deduplication", {}, { "x-message-deduplication": true }],
  ];
  for (const [name, first, second] of cases) {
    const vhost = makeVHost();
    declareQueue(vhost, "q", first);
    const refusal = refusalOf(() => declareQueue(vhost, "q", second));
    assertMatch(refusal, new RegExp(`^406 PRECONDITION_FAILED - inequivalent arg '${name}' for`));
  }
});

Deno.test("declareQueue() shows lists in a comparison as RabbitMQ prints them", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q", { "x-delayed-retry-delays": [1, 2] });
  assertEquals(
    refusalOf(() => declareQueue(vhost, "q", { "x-delayed-retry-delays": [1] })),
    "406 PRECONDITION_FAILED - inequivalent arg 'x-delayed-retry-delays' for queue 'q' in vhost '/': " +
      "received '[{long,1}]' but current is '[{long,1},{long,2}]'",
  );
});

Deno.test("declareQueue() takes a queue without a type for a classic one", () => {
  const vhost = makeVHost();
  const queue = declareQueue(vhost, "q");
  assertStrictEquals(declareQueue(vhost, "q", { "x-queue-type": "classic" }), queue);
  assertEquals(
    refusalOf(() => declareQueue(vhost, "q", { "x-queue-type": "quorum" })),
    "406 PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': " +
      "received the value 'quorum' of type 'longstr' but current is none",
  );
  const typed = declareQueue(vhost, "typed", { "x-queue-type": "classic" });
  assertStrictEquals(declareQueue(vhost, "typed"), typed);
});

Deno.test("declareQueue() ignores arguments nobody knows, also in the comparison", () => {
  const vhost = makeVHost();
  const queue = declareQueue(vhost, "q", { "x-mine": 1, other: "a" });
  assertStrictEquals(declareQueue(vhost, "q", { "x-mine": 2 }), queue);
});

Deno.test("declareQueue() makes a name of its own for the empty one", () => {
  const vhost = makeVHost();
  const one = declareQueue(vhost, "");
  const two = declareQueue(vhost, "\r\n");
  assertMatch(one.name, /^amq\.gen-[A-Za-z0-9_-]{22}$/);
  assertFalse(one.name === two.name);
  assertStrictEquals(vhost.accessQueue(one.name, ALICE), one);
});

Deno.test("declareQueue() draws again when a generated name is taken", () => {
  const vhost = makeVHost();
  const numbers = [...Array(32).fill(0), ...Array(16).fill(0.5)];
  Object.defineProperty(vhost.broker, "random", { value: () => numbers.shift()! });
  const names = [declareQueue(vhost, "").name, declareQueue(vhost, "").name];
  assertEquals(new Set(names).size, 2);
  assertEquals(numbers.length, 0);
});

Deno.test("declareQueue() refuses reserved names, also of queues that exist", () => {
  const vhost = makeVHost();
  assertEquals(
    refusalOf(() => declareQueue(vhost, "amq.mine")),
    "403 ACCESS_REFUSED - queue name 'amq.mine' contains reserved prefix 'amq.*'",
  );
  const { name } = declareQueue(vhost, "");
  assertEquals(
    refusalOf(() => declareQueue(vhost, name)),
    `403 ACCESS_REFUSED - queue name '${name}' contains reserved prefix 'amq.*'`,
  );
  assertEquals(vhost.passiveQueue(name, ALICE).name, name);
});

Deno.test("declareQueue() takes names of 255 bytes of any text and no longer ones", () => {
  const vhost = makeVHost();
  assertEquals(declareQueue(vhost, "é".repeat(127) + "q").name.length, 128);
  assertEquals(
    refusalOf(() => declareQueue(vhost, "é".repeat(128))),
    "406 PRECONDITION_FAILED - queue name is longer than 255 bytes",
  );
});

Deno.test("declareQueue() leaves nothing behind when it refuses", () => {
  const vhost = makeVHost();
  const epoch = vhost.topologyEpoch;
  refusalOf(() => declareQueue(vhost, "q", { "x-message-ttl": -1 }));
  refusalOf(() => declareQueue(vhost, "q".repeat(246), { "x-delayed-retry-min": 1 }));
  assertEquals(vhost.queues.size, 0);
  assertEquals(vhost.topologyEpoch, epoch);
});

Deno.test("declareQueue() refuses more queues than the limit", () => {
  const vhost = makeVHost({ queueCountMax: 2 });
  declareQueue(vhost, "a");
  const b = declareQueue(vhost, "b");
  assertEquals(
    refusalOf(() => declareQueue(vhost, "q")),
    "406 PRECONDITION_FAILED - cannot declare queue 'q': queue limit (2) is reached",
  );
  assertStrictEquals(declareQueue(vhost, "b"), b);
  vhost.removeQueue(b);
  declareQueue(vhost, "q");
});

Deno.test("an exclusive queue belongs to its connection and is never durable", () => {
  const vhost = makeVHost();
  const queue = declare(vhost, { exclusive: true, durable: true });
  assertFalse(queue.durable);
  assertStrictEquals(declare(vhost, { exclusive: true }), queue);
  assertEquals(refusalOf(() => declare(vhost, { exclusive: true }, BOB)), LOCKED);
  assertEquals(refusalOf(() => declare(vhost, {}, BOB)), LOCKED);
  assertEquals(refusalOf(() => declare(vhost, {})), LOCKED);
  assertEquals(refusalOf(() => vhost.passiveQueue("q", BOB)), LOCKED);
  assertEquals(refusalOf(() => vhost.accessQueue("q", BOB)), LOCKED);
  assertEquals(refusalOf(() => vhost.purgeQueue("q", BOB)), LOCKED);
  assertEquals(refusalOf(() => vhost.deleteQueue("q", ANY, BOB)), LOCKED);
  assertStrictEquals(vhost.passiveQueue("q", ALICE), queue);
});

Deno.test("a queue of everybody cannot be declared exclusive", () => {
  const vhost = makeVHost();
  declare(vhost, {});
  assertEquals(refusalOf(() => declare(vhost, { exclusive: true })), LOCKED);
});

Deno.test("deleteExclusive() ends the queues of one connection only", () => {
  const vhost = makeVHost();
  for (const name of ["a1", "a2"]) vhost.declareQueue(queueSpec(name, { exclusive: true }), ALICE);
  vhost.declareQueue(queueSpec("b", { exclusive: true }), BOB);
  const shared = vhost.declareQueue(queueSpec("shared"), ALICE);
  vhost.deleteQueue("a1", ANY, ALICE);
  vhost.deleteExclusive(ALICE);
  assertEquals([...vhost.queues.keys()].sort(), ["b", "shared"]);
  assertFalse(shared.isDeleted);
  vhost.deleteExclusive(ALICE);
  vhost.deleteExclusive(BOB);
  assertEquals([...vhost.queues.keys()], ["shared"]);
});

Deno.test("passiveQueue() and accessQueue() answer 404 for a missing queue", () => {
  const vhost = makeVHost();
  const text = "404 NOT_FOUND - no queue 'q' in vhost '/'";
  assertEquals(refusalOf(() => vhost.passiveQueue("q", ALICE)), text);
  assertEquals(refusalOf(() => vhost.accessQueue("q", ALICE)), text);
  assertEquals(refusalOf(() => vhost.purgeQueue("q", ALICE)), text);
});

Deno.test("every operation that names a retry queue is refused", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q", { "x-delayed-retry-min": 100 });
  for (const name of ["amq.retry-q", "amq.retry-missing"]) {
    const text = `403 ACCESS_REFUSED - access to internal queue '${name}' in vhost '/' refused`;
    const binding = { queue: name, exchange: "amq.fanout", routingKey: "", args: args() };
    for (
      const run of [
        () => declareQueue(vhost, name),
        () => vhost.passiveQueue(name, ALICE),
        () => vhost.deleteQueue(name, ANY, ALICE),
        () => vhost.purgeQueue(name, ALICE),
        () => vhost.accessQueue(name, ALICE),
        () => vhost.bindQueue(binding, ALICE),
        () => vhost.unbindQueue(binding, ALICE),
        () => vhost.bindQueue({ ...binding, exchange: "missing" }, ALICE),
      ]
    ) assertEquals(refusalOf(run), text);
  }
});

Deno.test("deleteQueue() says 0 for a missing queue and forgets one that exists", () => {
  const vhost = makeVHost();
  assertEquals(vhost.deleteQueue("q", { ifUnused: true, ifEmpty: true }, ALICE), 0);
  const queue = declareQueue(vhost, "q");
  assertEquals(vhost.deleteQueue("q", { ifUnused: true, ifEmpty: true }, ALICE), 0);
  assert(queue.isDeleted);
  assertFalse(vhost.queues.has("q"));
  assertFalse(declareQueue(vhost, "q").id === queue.id);
});

Deno.test("deleteQueue() with if-empty counts ready and delayed messages", () => {
  const vhost = makeVHost();
  const queue = declareQueue(vhost, "q", { "x-delayed-retry-min": 100 });
  const text = "406 PRECONDITION_FAILED - queue 'q' in vhost '/' not empty";
  const ifEmpty = { ifUnused: false, ifEmpty: true };
  for (const count of ["readyCount", "delayedCount"]) {
    Object.defineProperty(queue, count, { value: 1, configurable: true });
    assertEquals(refusalOf(() => vhost.deleteQueue("q", ifEmpty, ALICE)), text);
    Object.defineProperty(queue, count, { value: 0, configurable: true });
  }
  vhost.deleteQueue("q", ifEmpty, ALICE);
  assertEquals(vhost.queues.size, 0);
});

Deno.test("deleteQueue() with if-unused refuses a queue with consumers", () => {
  const vhost = makeVHost();
  const queue = declareQueue(vhost, "q");
  Object.defineProperty(queue, "consumerCount", { value: 1, configurable: true });
  assertEquals(
    refusalOf(() => vhost.deleteQueue("q", { ifUnused: true, ifEmpty: true }, ALICE)),
    "406 PRECONDITION_FAILED - queue 'q' in vhost '/' in use",
  );
  vhost.deleteQueue("q", ANY, ALICE);
  assertEquals(vhost.queues.size, 0);
});

Deno.test("removeQueue() twice is nothing, also when the name is taken again", () => {
  const vhost = makeVHost();
  const old = declareQueue(vhost, "q");
  vhost.removeQueue(old);
  const young = declareQueue(vhost, "q");
  assertEquals(vhost.removeQueue(old), 0);
  assertStrictEquals(vhost.queues.get("q")!, young);
});

Deno.test("declaring a queue again keeps it from expiring, passively as well", () => {
  const broker = makeBroker();
  const vhost = broker.vhosts.get("/")!;
  declareQueue(vhost, "q", { "x-expires": 1000 });
  for (const nowMs of [900, 1800, 2700]) {
    broker.beginTurn(nowMs);
    if (nowMs === 1800) declareQueue(vhost, "q", { "x-expires": 1000 });
    else vhost.passiveQueue("q", ALICE);
  }
  broker.beginTurn(3699);
  assert(vhost.queues.has("q"));
  broker.beginTurn(3700);
  assertFalse(vhost.queues.has("q"));
});
