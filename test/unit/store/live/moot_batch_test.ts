// Batches whose messages came and went in one turn: they are not written, and nobody waits for a disk.
// Whatever else a batch says has it written as ever.

import { assertEquals } from "@std/assert";
import { EMPTY_TABLE } from "../../../../src/amqp/field_value.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestChannel } from "../../../support/test_broker.ts";
import { numberOf, PagedNode, PERSISTENT, range } from "../support/paged_node.ts";

const OWNER = { name: "test" };

/** A settled node with durable queues, of which "q" has a consumer. */
function start(noAck = true): { node: PagedNode; channel: TestChannel } {
  const node = new PagedNode(new MemoryDisk());
  for (const name of ["q", "other"]) node.queue(name);
  const channel = new TestChannel();
  node.t.consume(node.find("q"), channel, { noAck });
  node.settle();
  return { node, channel };
}

/** Whether the turn with these publishes wrote to the log, and whether its batch was decided at once. */
function turn(node: PagedNode, publishes: () => void): { wrote: boolean; decided: boolean } {
  const before = node.store.loggedBytes;
  publishes();
  const batch = node.store.openBatch;
  node.t.turn();
  return { wrote: node.store.loggedBytes > before, decided: node.store.safeBatch >= batch };
}

Deno.test("FileStore writes nothing for messages that were consumed without acknowledgement in their turn", () => {
  const { node, channel } = start();
  const publishes = () => range(0, 5).forEach((n) => node.t.publish("q", `${n}`, PERSISTENT));
  assertEquals(turn(node, publishes), { wrote: false, decided: true });
  assertEquals(channel.seen.map(numberOf), range(0, 5));
  assertEquals(node.disk.finishAll(), 0);
  node.publish("other", 7, 1);
  const next = node.crash();
  assertEquals([next.take("q", 9), next.take("other", 9)], [[], [7]]);
  assertEquals(next.store.recovered.damages, []);
});

Deno.test("FileStore writes a batch in which one message stays", () => {
  const { node } = start();
  const publishes = () => {
    node.t.publish("q", "1", PERSISTENT);
    node.t.publish("other", "2", PERSISTENT);
  };
  assertEquals(turn(node, publishes), { wrote: true, decided: false });
  assertEquals(node.crash().take("other", 9), [2]);
});

Deno.test("FileStore writes a batch whose consumer has yet to acknowledge", () => {
  const { node } = start(false);
  const publishes = () => node.t.publish("q", "1", PERSISTENT);
  assertEquals(turn(node, publishes), { wrote: true, decided: false });
  assertEquals(node.crash().take("q", 9), [1]);
});

Deno.test("FileStore writes a batch that says of earlier messages, too", () => {
  const { node } = start();
  node.publish("other", 3, 1);
  const channel = new TestChannel();
  const seen = node.get("other", channel)!;
  node.settle();
  const publishes = () => {
    node.t.publish("q", "1", PERSISTENT);
    channel.unacked.ack(seen.tag, false);
  };
  assertEquals(turn(node, publishes).wrote, true);
  assertEquals(node.crash().take("other", 9), []);
});

Deno.test("FileStore writes a batch whose record a transient queue still holds", () => {
  const { node } = start();
  node.queue("brief", {}, false);
  for (const queue of ["q", "brief"]) {
    const binding = { exchange: "amq.fanout", queue, routingKey: "", args: EMPTY_TABLE };
    node.t.vhost.bindQueue(binding, OWNER);
  }
  node.settle();
  const publishes = () => node.t.publish("", "4", PERSISTENT, "amq.fanout");
  assertEquals(turn(node, publishes).wrote, true);
  assertEquals(node.take("brief", 9), [4]);
});

Deno.test("FileStore keeps waiting for what was wanted before a batch that is not needed", () => {
  const { node } = start();
  const batch = node.store.openBatch;
  node.t.publish("other", "1", PERSISTENT);
  node.t.turn();
  turn(node, () => node.t.publish("q", "2", PERSISTENT));
  assertEquals(node.store.safeBatch, batch - 1);
  node.disk.finishAll();
  assertEquals(node.store.safeBatch, node.store.openBatch - 1);
});

Deno.test("FileStore writes a batch that is not needed, too, while one before it is not decided", () => {
  const { node } = start();
  node.publish("other", 3, 1);
  const channel = new TestChannel();
  channel.unacked.ack(node.get("other", channel)!.tag, false);
  node.t.turn();
  const publishes = () => node.t.publish("q", "1", PERSISTENT);
  assertEquals(turn(node, publishes), { wrote: true, decided: false });
  // Its publisher waits for what stands before it, which is synced for that.
  node.disk.finishAll();
  assertEquals(node.store.safeBatch, node.store.openBatch - 1);
});

Deno.test("FileStore calls no batch failed that it has not written", () => {
  const { node } = start();
  node.disk.failNext("sync", "EIO", "log");
  const failed = ["other", "q", "other"].map((name) => {
    const batch = node.store.openBatch;
    assertEquals(turn(node, () => node.t.publish(name, "1", PERSISTENT)).wrote, true);
    return batch;
  });
  node.disk.failNext("open", "EIO", "log");
  node.disk.finishAll();
  assertEquals(failed.map((batch) => node.store.isFailed(batch)), [true, true, true]);
  // Everything that is retained is decided, so a batch that is over at once need not be written.
  const batch = node.store.openBatch;
  const publishes = () => node.t.publish("q", "2", PERSISTENT);
  assertEquals(turn(node, publishes), { wrote: false, decided: true });
  assertEquals(node.store.isFailed(batch), false);
});

Deno.test("FileStore writes a batch with a message that stays, although an older one goes in it", () => {
  let node = new PagedNode(new MemoryDisk());
  node.queue("q");
  node.t.publish("q", "1", PERSISTENT);
  node.settle();
  assertEquals(node.t.get(node.find("q"), new TestChannel(), true)?.body, "1");
  node.t.publish("q", "2", PERSISTENT);
  node.settle();
  node = node.crash();
  assertEquals(node.take("q", 10), [2]);
});
