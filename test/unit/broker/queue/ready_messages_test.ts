// ReadyMessages: its length limits while the head cannot be read yet or never, what a full queue does
// within one turn, and what a purge leaves behind.

import { assertEquals } from "@std/assert";
import { CAUSE_NACK } from "../../../../src/broker/retry/rules.ts";
import { MemoryStore } from "../../../../src/store/memory_store.ts";
import { HEAD_PENDING, type ReadWaiter, type ReadyLane } from "../../../../src/store/port.ts";
import { TestBroker, TestChannel } from "../../../support/test_broker.ts";

/** A store whose lanes say that their head is being read, while the test wants it. */
class PendingStore extends MemoryStore {
  isPending = false;

  override openLane(queueId: number): ReadyLane {
    const lane = super.openLane(queueId);
    const head = lane.head.bind(lane);
    lane.head = (waiter: ReadWaiter) => this.isPending ? HEAD_PENDING : head(waiter);
    return lane;
  }
}

Deno.test("accept() delivers before it drops the head, so a queue with consumers loses nothing", () => {
  const t = new TestBroker();
  const queue = t.queue("q", { "x-max-length": 1 });
  const channel = new TestChannel();
  t.consume(queue, channel);
  for (const body of ["1", "2", "3"]) t.publish("q", body);
  t.turn();
  assertEquals(channel.drain().map(({ body }) => body), ["1", "2", "3"]);
});

Deno.test("takeBack() drops the head at once when the returned message is one too many", () => {
  const t = new TestBroker();
  const queue = t.queue("q", { "x-max-length": 1 });
  const channel = new TestChannel();
  t.consume(queue, channel, { prefetch: 1 });
  t.publish("q", "1");
  t.turn();
  channel.isOpen = false;
  t.publish("q", "2");
  channel.unacked.reject(channel.drain()[0]!.tag, false, true, CAUSE_NACK);
  assertEquals([queue.readyCount, queue.readyBytes, queue.unackedBytes], [1, 1, 0]);
  channel.isOpen = true;
  t.unblock(queue);
  t.turn();
  assertEquals(channel.drain().map(({ body }) => body), ["2"]);
});

Deno.test("dispatched() drops what was too much while the head was being read", () => {
  const store = new PendingStore();
  const t = new TestBroker({ store });
  const queue = t.queue("q", { "x-max-length": 1 });
  t.publish("q", "1");
  store.isPending = true;
  t.publish("q", "2");
  t.turn();
  assertEquals(queue.readyCount, 2);
  store.isPending = false;
  queue.ready.readArrived();
  t.turn();
  assertEquals(t.get(queue, new TestChannel())?.body, "2");
  assertEquals(queue.readyCount, 0);
});

Deno.test("a head that cannot be read is not dropped, until a purge", () => {
  const t = new TestBroker({ store: new MemoryStore() });
  const queue = t.queue("q", { "x-max-length": 1 });
  t.publish("q", "1");
  queue.ready.readFailed(new Error("EIO"));
  t.publish("q", "2");
  t.turn();
  assertEquals(queue.readyCount, 2);
  assertEquals([queue.purge(), queue.readyCount, queue.readyBytes], [2, 0, 0]);
  t.publish("q", "3");
  t.publish("q", "4");
  assertEquals(queue.readyCount, 1);
});

Deno.test("takeAll() leaves no timer behind", () => {
  const t = new TestBroker();
  const queue = t.queue("q", { "x-message-ttl": 1000 });
  const before = t.broker.scheduler.pendingCount;
  t.publish("q", "1");
  assertEquals(t.broker.scheduler.pendingCount, before + 1);
  queue.purge();
  assertEquals(t.broker.scheduler.pendingCount, before);
});
