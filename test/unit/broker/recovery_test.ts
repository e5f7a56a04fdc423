// What restoreBroker() says of what it has taken over.

import { assertEquals } from "@std/assert";
import { restoreBroker, type RestoredCounts } from "../../../src/broker/recovery.ts";
import { REJECT } from "../../../src/broker/queue/unacked.ts";
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
  channel.unacked.reject(2, true, true, REJECT);
  node.settle(2);
  assertEquals(countsAfter(node), { queues: 2, ready: 2, delayed: 2, dying: 0, missing: 0 });
});

Deno.test("restoreBroker() counts nothing where nothing was kept", () => {
  const node = new DiskNode();
  node.settle();
  assertEquals(countsAfter(node), { queues: 0, ready: 0, delayed: 0, dying: 0, missing: 0 });
});
