// Transactions: nothing happens before commit, nothing remains after rollback.

import { assertEquals } from "@std/assert";
import * as M from "../../../src/amqp/methods_gen.ts";
import type { ClientChannel } from "../../support/client_channel.ts";
import { TestNode } from "../../support/test_node.ts";
import { MemoryStore } from "../../../src/store/memory_store.ts";
import { DELIVERY_MODE_PERSISTENT } from "../../../src/amqp/properties.ts";
import type { EntrySink } from "../../../src/store/port.ts";

function transactional(node: TestNode): ClientChannel {
  const channel = node.connect().channel();
  channel.queue("q");
  channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  return channel;
}

function commit(channel: ClientChannel): void {
  channel.rpc(M.TX_COMMIT, {}, M.TX_COMMIT_OK);
}

function rollback(channel: ClientChannel): void {
  channel.rpc(M.TX_ROLLBACK, {}, M.TX_ROLLBACK_OK);
}

Deno.test("tx holds publishes back until commit", () => {
  const node = new TestNode();
  const channel = transactional(node);
  const properties = { correlationId: "c", headers: new Map() };
  channel.publish("q", "1", { properties });
  channel.publish("q", "2");
  assertEquals(node.queue("q").readyCount, 0);
  assertEquals(node.broker.extraMemoryBytes > 0, true);
  commit(channel);
  assertEquals(node.broker.extraMemoryBytes, 0);
  const first = channel.get("q", true)!;
  assertEquals([first.body, first.properties], ["1", properties]);
  assertEquals(channel.get("q", true)!.body, "2");
});

Deno.test("tx.rollback forgets publishes", () => {
  const node = new TestNode();
  const channel = transactional(node);
  channel.publish("q", "1");
  rollback(channel);
  commit(channel);
  assertEquals(node.queue("q").readyCount, 0);
  assertEquals(node.broker.extraMemoryBytes, 0);
});

Deno.test("tx holds acks back until commit", () => {
  const node = new TestNode();
  const channel = transactional(node);
  const feeder = node.connect().channel();
  feeder.publish("q", "1");
  feeder.publish("q", "2");
  channel.get("q");
  channel.get("q");
  channel.ack(2, true);
  assertEquals(node.queue("q").unackedCount, 2);
  commit(channel);
  assertEquals(node.queue("q").unackedCount, 0);
  assertEquals(node.broker.metrics.acked, 2);
});

Deno.test("tx.rollback makes tags settleable again", () => {
  const node = new TestNode();
  const channel = transactional(node);
  node.connect().channel().publish("q", "1");
  const { tag } = channel.get("q")!;
  channel.ack(tag);
  rollback(channel);
  assertEquals(node.queue("q").unackedCount, 1);
  channel.nack(tag, false);
  commit(channel);
  assertEquals(node.queue("q").unackedCount, 0);
});

Deno.test("tx refuses to settle a tag twice", () => {
  const node = new TestNode();
  const channel = transactional(node);
  node.connect().channel().publish("q", "1");
  const { tag } = channel.get("q")!;
  channel.ack(tag);
  channel.ack(tag);
  assertEquals(
    channel.takeClose().replyText,
    "PRECONDITION_FAILED - unknown delivery tag 1",
  );
  assertEquals(node.queue("q").readyCount, 1);
});

Deno.test("tx publishes before it settles: what it returns does not fill a queue before", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("short", { "x-max-length": 1, "x-overflow": "reject-publish" });
  channel.publish("short", "old");
  channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  channel.nack(channel.get("short")!.tag, true);
  channel.publish("short", "new");
  commit(channel);
  assertEquals(["", ""].map(() => channel.get("short", true)?.body), ["old", "new"]);
});

const FULL = { "x-max-length": 1, "x-overflow": "reject-publish" };

Deno.test("tx.commit with a publish that a full queue refused applies the rest and closes the channel", () => {
  const node = new TestNode();
  const channel = transactional(node);
  channel.queue("full", FULL);
  const feeder = node.connect().channel();
  feeder.publish("full", "old");
  for (const body of ["1", "2", "3"]) feeder.publish("q", body);
  for (let i = 0; i < 3; i++) channel.get("q");
  channel.ack(1);
  channel.publish("q", "before");
  channel.publish("full", "refused");
  channel.publish("q", "after");
  channel.reject(2, false);
  channel.send(M.TX_COMMIT);
  assertEquals(channel.client.take(M.TX_COMMIT_OK, channel.number), undefined);
  assertEquals(channel.takeClose(), {
    replyCode: 406,
    replyText: "PRECONDITION_FAILED - partial tx completion",
    classId: 90,
    methodId: 20,
  });
  const left = ["", "", "", ""].map(() => feeder.get("q", true)).map((one) =>
    one === null ? null : [one.body, one.redelivered]
  );
  assertEquals(left, [["3", true], ["before", false], ["after", false], null]);
  assertEquals(feeder.get("full", true)!.body, "old");
  assertEquals([node.broker.metrics.acked, node.broker.metrics.rejected], [1, 1]);
});

Deno.test("tx.commit goes on past a publish whose exchange has gone since", () => {
  const node = new TestNode();
  const channel = transactional(node);
  channel.exchange("x", "fanout");
  channel.publish("", "lost", { exchange: "x" });
  channel.publish("q", "kept");
  const other = node.connect().channel();
  other.rpc(M.EXCHANGE_DELETE, { exchange: "x", ifUnused: false }, M.EXCHANGE_DELETE_OK);
  channel.send(M.TX_COMMIT);
  const { replyCode, replyText, methodId } = channel.takeClose();
  assertEquals([replyCode, methodId], [406, 20]);
  assertEquals(replyText, "PRECONDITION_FAILED - partial tx completion");
  assertEquals(other.get("q", true)!.body, "kept");
  channel.client.channel(channel.number).queue("q");
});

Deno.test("tx.commit that was partial is answered when what it did is safe", () => {
  const store = new SyncingStore({ entries: NO_ENTRIES });
  const node = new TestNode({ store });
  const channel = node.connect().channel();
  channel.queue("d", {}, { durable: true });
  channel.queue("full", { ...FULL, "x-max-length": 0 });
  channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  channel.publish("d", "x", PERSISTENT);
  channel.publish("full", "x");
  channel.send(M.TX_COMMIT);
  assertEquals(channel.client.inbox.length, 0);
  store.syncedBatch = store.openBatch - 1;
  node.engine.turn(() => {});
  node.settle();
  assertEquals(channel.takeClose().replyCode, 406);
  assertEquals(node.queue("d").readyCount, 1);
});

Deno.test("tx settles in the order given, after its publishes", () => {
  const node = new TestNode();
  const channel = transactional(node);
  const feeder = node.connect().channel();
  for (const body of ["1", "2", "3"]) feeder.publish("q", body);
  for (let i = 0; i < 3; i++) channel.get("q");
  channel.reject(2, true);
  channel.nack(1, false);
  channel.publish("q", "new");
  channel.ack(3);
  commit(channel);
  assertEquals(channel.get("q", true)!.body, "2");
  assertEquals(channel.get("q", true)!.body, "new");
  assertEquals(channel.get("q", true), null);
});

Deno.test("tx counts a retry's delay from commit", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("r", { "x-delayed-retry-min": 1000 });
  channel.publish("r", "x");
  channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  const { tag } = channel.get("r")!;
  channel.reject(tag, true);
  node.advance(5000);
  assertEquals(node.queue("r").delayedCount, 0);
  assertEquals(node.queue("r").unackedCount, 1);
  commit(channel);
  assertEquals(node.queue("r").delayedCount, 1);
  node.advance(999);
  assertEquals(channel.get("r"), null);
  node.advance(1);
  assertEquals(channel.get("r")!.redelivered, true);
});

Deno.test("tx rolled back has no effect on a retry", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("r", { "x-delayed-retry-min": 1000, "x-delivery-limit": 1 });
  channel.publish("r", "x");
  channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  const { tag } = channel.get("r")!;
  for (let i = 0; i < 5; i++) {
    channel.reject(tag, true);
    rollback(channel);
  }
  channel.reject(tag, true);
  commit(channel);
  node.advance(1000);
  const again = channel.get("r")!;
  assertEquals(again.properties.headers?.get("x-delivery-count"), { tag: "l", value: 1 });
});

Deno.test("tx returns mandatory messages before commit-ok", () => {
  const channel = transactional(new TestNode());
  channel.publish("nowhere", "x", { mandatory: true });
  assertEquals(channel.client.inbox.length, 0);
  channel.send(M.TX_COMMIT);
  const names = channel.client.inbox.map(({ name }) => name);
  assertEquals(names, ["basic.return", "tx.commit-ok"]);
});

Deno.test("tx checks properties when the message comes", () => {
  const channel = transactional(new TestNode());
  channel.publish("q", "x", { properties: { userId: "bob" } });
  assertEquals(channel.takeClose().replyCode, 406);
});

Deno.test("tx ends with its channel: nothing was published, messages come back", () => {
  const node = new TestNode();
  const channel = transactional(node);
  node.connect().channel().publish("q", "1");
  channel.ack(channel.get("q")!.tag);
  channel.publish("q", "2");
  channel.close();
  assertEquals([node.queue("q").readyCount, node.queue("q").unackedCount], [1, 0]);
  assertEquals(node.broker.extraMemoryBytes, 0);
});

Deno.test("tx may not hold more operations than allowed", () => {
  const node = new TestNode({ limits: { txOperationsMax: 2 } });
  const channel = transactional(node);
  channel.publish("q", "1");
  channel.publish("q", "2");
  channel.publish("q", "3");
  assertEquals(
    channel.takeClose().replyText,
    "PRECONDITION_FAILED - transaction holds more than 2 operations",
  );
  assertEquals(node.queue("q").readyCount, 0);
});

Deno.test("recover leaves alone what a transaction holds", () => {
  const node = new TestNode();
  const channel = transactional(node);
  const feeder = node.connect().channel();
  feeder.publish("q", "1");
  feeder.publish("q", "2");
  channel.ack(channel.get("q")!.tag);
  channel.get("q");
  channel.rpc(M.BASIC_RECOVER, { requeue: true }, M.BASIC_RECOVER_OK);
  assertEquals([node.queue("q").readyCount, node.queue("q").unackedCount], [1, 1]);
  commit(channel);
  assertEquals([node.queue("q").readyCount, node.queue("q").unackedCount], [1, 0]);
});

/** A store whose batches become safe only when told so, like one that syncs a file. */
class SyncingStore extends MemoryStore {
  syncedBatch = 0;

  override get safeBatch(): number {
    return this.syncedBatch;
  }
}

const NO_ENTRIES = new Proxy({}, { get: () => () => {} }) as EntrySink;
const PERSISTENT = { properties: { deliveryMode: DELIVERY_MODE_PERSISTENT } };

Deno.test("tx.commit is answered when its batch is safe, and frames behind it wait", () => {
  const store = new SyncingStore({ entries: NO_ENTRIES });
  const node = new TestNode({ store });
  const channel = node.connect().channel();
  channel.queue("d", {}, { durable: true });
  channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  channel.publish("d", "x", PERSISTENT);
  channel.send(M.TX_COMMIT);
  channel.send(M.BASIC_GET, { queue: "d", noAck: true });
  assertEquals(channel.client.inbox.length, 0);
  store.syncedBatch = store.openBatch - 1;
  node.engine.turn(() => {});
  node.settle();
  const names = channel.client.inbox.map(({ name }) => name);
  assertEquals(names, ["tx.commit-ok", "basic.get-ok"]);
});

Deno.test("confirms of persistent messages wait until their batch is safe", () => {
  const store = new SyncingStore({ entries: NO_ENTRIES });
  const node = new TestNode({ store });
  const channel = node.connect().channel();
  channel.queue("d", {}, { durable: true });
  channel.confirmSelect();
  channel.publish("d", "1");
  assertEquals(channel.confirms(), ["+1"]);
  channel.publish("d", "2", PERSISTENT);
  const batch = store.openBatch - 1;
  channel.publish("d", "3", PERSISTENT);
  assertEquals(channel.confirms(), []);
  store.syncedBatch = batch;
  node.engine.turn(() => {});
  assertEquals(channel.confirms(), ["+2"]);
  channel.publish("d", "4");
  assertEquals(channel.confirms(), []);
  store.syncedBatch = store.openBatch;
  node.engine.turn(() => {});
  assertEquals(channel.confirms(), ["+3", "+4"]);
});
