// What restoreBroker() says of what it has taken over.

import { assertEquals, assertThrows } from "@std/assert";
import { restoreBroker, type RestoredCounts, RestoreError } from "../../../src/broker/recovery.ts";
import { CAUSE_REJECT } from "../../../src/broker/retry/rules.ts";
import type { DefinitionKind, KeepingStore } from "../../../src/store/port.ts";
import { DiskNode, PERSISTENT } from "../../support/disk_node.ts";
import { openStore } from "../../support/disk_store.ts";
import { TestBroker, TestChannel } from "../../support/test_broker.ts";

function countsAfter(node: DiskNode): RestoredCounts {
  const store = openStore(node.disk.crash({ kind: "process" }));
  const t = new TestBroker({ store, nowMs: Math.max(node.t.nowMs, store.recovered.lastTimeMs) });
  return restoreBroker(t.broker, store);
}

Deno.test("restoreBroker() counts what is ready, what was out as well, and what is delayed", () => {
  const node = new DiskNode();
  node.t.queue("q", { "x-delayed-retry-min": 5000 }, { durable: true });
  node.t.queue("r", {}, { durable: true });
  const channel = new TestChannel();
  for (const body of ["1", "2", "3", "4"]) node.t.publish("q", body, PERSISTENT);
  node.settle();
  for (let i = 0; i < 3; i++) node.get("q", channel);
  channel.unacked.reject(2, true, true, CAUSE_REJECT);
  node.settle(2);
  assertEquals(countsAfter(node), { queues: 2, ready: 2, delayed: 2, dying: 0, missing: 0 });
});

Deno.test("restoreBroker() counts nothing where nothing was kept", () => {
  const node = new DiskNode();
  node.settle();
  assertEquals(countsAfter(node), { queues: 0, ready: 0, delayed: 0, dying: 0, missing: 0 });
});

Deno.test("restoreBroker() restores exchanges, queues and bindings beyond limits that are lower now", () => {
  const node = new DiskNode();
  const { vhost, owner } = node.t;
  const plain = { type: "topic", durable: true, autoDelete: false, internal: false };
  for (const name of ["x", "y"]) vhost.declareExchange({ name, ...plain, args: new Map() });
  for (const name of ["q", "r"]) node.t.queue(name, {}, { durable: true });
  const bind = (to: TestBroker, queue: string, routingKey: string) =>
    to.vhost.bindQueue({ queue, exchange: "x", routingKey, args: new Map() }, owner);
  bind(node.t, "q", "a");
  bind(node.t, "r", "a");
  vhost.bindExchange({ source: "y", destination: "x", routingKey: "#", args: new Map() });
  node.settle();
  const store = openStore(node.disk.crash({ kind: "process" }));
  const t = new TestBroker({
    store,
    nowMs: store.recovered.lastTimeMs,
    limits: { exchangeCountMax: 8, queueCountMax: 1, bindingCountMax: 1 },
  });
  restoreBroker(t.broker, store);
  const { exchanges, queues, bindingCount } = t.vhost;
  assertEquals([exchanges.has("x"), exchanges.has("y"), bindingCount], [true, true, 3]);
  t.publish("a", "1", PERSISTENT, "y");
  assertEquals([...queues.values()].map(({ readyCount }) => readyCount), [1, 1]);
  // What was there can be declared again, and nothing is entered for it; more is refused.
  assertEquals([bind(t, "q", "a").definedBatch, store.definitionBatch], [0, 0]);
  assertThrows(() => bind(t, "q", "b"), Error, "binding limit (1) is reached");
});

/** Restores one definition, as a store hands it over. */
function restoring(kind: DefinitionKind, value: unknown): void {
  const store: KeepingStore = { restore: (sink) => sink.defined(kind, value) };
  restoreBroker(new TestBroker().broker, store);
}

Deno.test("restoreBroker() refuses definitions of newer versions, whatever they have that is new", () => {
  const queue = { vhost: "/", id: 3, name: "q", autoDelete: false, arguments: [] };
  const exchange = { vhost: "/", name: "x", type: "topic", autoDelete: false, internal: false };
  restoring("queue", queue);
  restoring("exchange", { ...exchange, arguments: [] });
  const refused: [DefinitionKind, object, string][] = [
    ["queue", { ...queue, lanes: [3, 4] }, "queue 'q': it has 'lanes'"],
    ["deleted", { ...queue, lanes: [3, 4] }, "deleted 'q': it has 'lanes'"],
    ["queue", { ...queue, vhost: "other" }, "queue 'q': vhost 'other' does not exist"],
    ["binding", { vhost: "/", source: "x", weight: 1 }, "binding of 'x': it has 'weight'"],
    [
      "exchange",
      { ...exchange, type: "x-new", arguments: [] },
      "exchange 'x': PRECONDITION_FAILED - unknown exchange type 'x-new'",
    ],
    [
      "queue",
      { ...queue, arguments: [["x-queue-type", "S", "new"]] },
      "queue 'q': PRECONDITION_FAILED - ",
    ],
  ];
  for (const [kind, value, what] of refused) {
    const { message } = assertThrows(() => restoring(kind, value), RestoreError);
    const start = `this version cannot restore the ${what}`;
    assertEquals(message.slice(0, start.length), start);
    assertEquals(message.endsWith(": use the version that wrote it, or another folder"), true);
  }
});

Deno.test("restoreBroker() leaves out a binding whose exchange or queue is gone", () => {
  for (const destinationType of ["queue", "exchange"]) {
    const ends = { vhost: "/", source: "amq.topic", destination: "gone", destinationType };
    restoring("binding", { ...ends, routingKey: "a", arguments: [] });
    const swapped = { ...ends, source: "gone", destination: "amq.topic" };
    restoring("binding", { ...swapped, routingKey: "a", arguments: [] });
  }
});
