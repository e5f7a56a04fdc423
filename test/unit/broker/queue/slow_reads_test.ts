// Reads are effects: the broker over a store that answers in a later turn.

import { assertEquals, assertGreater } from "@std/assert";
import { GET_MESSAGE, GET_PENDING } from "../../../../src/broker/queue/get_head.ts";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { SlowStore } from "../../../support/slow_store.ts";
import { TestBroker, TestChannel } from "../../../support/test_broker.ts";

Deno.test("dispatch goes on when the head has been read", () => {
  const store = new SlowStore();
  const t = new TestBroker({ store });
  const queue = t.queue("q");
  const channel = new TestChannel();
  t.consume(queue, channel);
  for (const body of ["1", "2", "3"]) t.publish("q", body);
  for (let turn = 0; turn < 4; turn++) {
    t.turn();
    assertEquals(channel.seen.length, turn);
    store.finishReads();
  }
  assertEquals(channel.drain().map((seen) => seen.body), ["1", "2", "3"]);
});

Deno.test("get says pending and tells its waiter when it may be tried again", () => {
  const store = new SlowStore();
  const t = new TestBroker({ store });
  const queue = t.queue("q");
  t.publish("q", "1");
  let toldCount = 0;
  assertEquals(queue.get(t.broker.delivery), GET_PENDING);
  queue.whenRead(() => toldCount++);
  t.turn();
  store.finishReads();
  assertEquals(toldCount, 0);
  t.turn();
  assertEquals(toldCount, 1);
  assertEquals(queue.get(t.broker.delivery), GET_MESSAGE);
});

Deno.test("dead letters wait for their bytes and lose nothing", () => {
  const store = new SlowStore();
  const t = new TestBroker({ store });
  const dead = t.queue("dead");
  t.queue("q", {
    "x-message-ttl": 10,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": "dead",
  });
  for (let i = 0; i < 5; i++) t.publish("q", `${i}`);
  t.turn(10);
  assertEquals(dead.readyCount, 0);
  for (let turn = 0; turn < 12; turn++) {
    store.finishReads();
    t.turn();
  }
  assertEquals(dead.readyCount, 5);
  assertEquals(store.liveMessageCount, 5);
});

Deno.test("retries work over slow reads: in, delayed, back and dead", () => {
  const store = new SlowStore();
  const t = new TestBroker({ store });
  const dead = t.queue("dead");
  const queue = t.queue("q", {
    "x-delayed-retry-min": 100,
    "x-delivery-limit": 2,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": "dead",
  });
  const channel = new TestChannel();
  t.consume(queue, channel);
  t.publish("q", "m");
  for (let step = 0; step < 30 && dead.readyCount === 0; step++) {
    store.finishReads();
    t.turn(step === 0 ? 0 : 50);
    for (const seen of channel.drain()) channel.unacked.reject(seen.tag, false, true, CAUSE_REJECT);
  }
  assertEquals([dead.readyCount, queue.readyCount, queue.delayedCount], [1, 0, 0]);
  assertGreater(store.readCount, 0);
});
