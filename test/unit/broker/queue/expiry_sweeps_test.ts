// ExpirySweeps: however many messages expire at once, a turn gives up a bounded number of them.

import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import type { Queue } from "../../../../src/broker/queue/queue.ts";
import { GET_PENDING } from "../../../../src/broker/queue/get_head.ts";
import { SlowStore } from "../../../support/slow_store.ts";
import { TestBroker, TestChannel } from "../../../support/test_broker.ts";

const PER_TURN_MAX = 256;
const LETTERS_PER_TURN_MAX = 64;

function readyCount(queues: readonly Queue[]): number {
  return queues.reduce((sum, queue) => sum + queue.readyCount, 0);
}

function turn({ broker }: TestBroker): void {
  broker.beginTurn(broker.nowMs);
  broker.dispatch();
  broker.endTurn();
}

for (const queueCount of [1, 100]) {
  Deno.test(`ExpirySweeps share a bounded number a turn among ${queueCount} queues`, () => {
    const t = new TestBroker();
    const names = Array.from({ length: queueCount }, (_, index) => `q${index}`);
    const queues = names.map((name) => t.queue(name, { "x-message-ttl": 1000 }));
    for (let number = 0; number < 10_000; number++) t.publish(names[number % queueCount]!, "x");
    t.turn();
    t.broker.beginTurn(t.nowMs + 1000);
    const counts = [readyCount(queues)];
    while (counts.at(-1)! > 0) {
      assert(t.broker.hasMoreWork);
      turn(t);
      counts.push(readyCount(queues));
      assertLessOrEqual(counts.at(-2)! - counts.at(-1)!, PER_TURN_MAX);
    }
    assertEquals([counts.length, counts[0]], [
      Math.ceil(10_000 / PER_TURN_MAX),
      10_000 - PER_TURN_MAX,
    ]);
    turn(t);
    assertEquals([t.broker.hasMoreWork, t.broker.store.liveMessageCount], [false, 0]);
  });
}

Deno.test("ExpirySweeps wait for the dead letters that are still to be published", () => {
  const t = new TestBroker();
  const dead = t.queue("dead");
  const queue = t.queue("q", {
    "x-message-ttl": 1000,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": "dead",
  });
  for (let number = 0; number < 20_000; number++) t.publish("q", "x");
  t.turn();
  t.broker.beginTurn(t.nowMs + 1000);
  while (dead.readyCount < 20_000) {
    const before = dead.readyCount;
    assert(t.broker.hasMoreWork);
    turn(t);
    assertLessOrEqual(dead.readyCount - before, LETTERS_PER_TURN_MAX);
    assertLessOrEqual(t.broker.deadLetters.backlog, 8192 + PER_TURN_MAX);
  }
  assertEquals(queue.readyCount, 0);
});

/** A queue of which `count` messages have just expired, and one more that has not. */
function expired(t: TestBroker, name: string, count: number): Queue {
  const queue = t.queue(name);
  for (let number = 0; number < count; number++) t.publish(name, "x", { expiration: "1000" });
  t.publish(name, "kept");
  return queue;
}

Deno.test("dispatchQueue() gives up no more expired heads than a turn may, and goes on by itself", () => {
  const t = new TestBroker();
  const queue = expired(t, "q", 10_000);
  const channel = new TestChannel();
  channel.isOpen = false;
  t.consume(queue, channel);
  t.turn();
  t.broker.beginTurn(t.nowMs + 1000);
  channel.isOpen = true;
  t.unblock(queue);
  t.broker.dispatch();
  t.broker.endTurn();
  let turns = 1;
  for (; channel.seen.length === 0; turns++) {
    const before = queue.readyCount;
    assert(t.broker.hasMoreWork);
    turn(t);
    assertLessOrEqual(before - queue.readyCount, PER_TURN_MAX + 1);
  }
  const turnCount = Math.ceil(10_000 / PER_TURN_MAX);
  assertEquals([turns, queue.readyCount, channel.seen[0]!.body], [turnCount, 0, "kept"]);
});

Deno.test("Queue.get() waits behind expired heads that are more than a turn may give up", () => {
  const t = new TestBroker();
  const queue = expired(t, "q", 2.5 * PER_TURN_MAX);
  t.turn();
  t.broker.beginTurn(t.nowMs + 1000);
  let told = 0;
  for (let turns = 0; told < 2; turns++) {
    assertEquals([queue.get(t.broker.delivery), told], [GET_PENDING, turns]);
    queue.whenRead(() => void told++);
    turn(t);
  }
  assertEquals(t.get(queue, new TestChannel())!.body, "kept");
});

Deno.test("ExpirySweeps serve first who has had nothing yet", () => {
  const t = new TestBroker();
  const many = expired(t, "many", 20_000);
  const few = expired(t, "few", 10);
  t.turn();
  t.broker.beginTurn(t.nowMs + 1000);
  assertEquals([many.readyCount, few.readyCount], [20_001 - PER_TURN_MAX, 11]);
  turn(t);
  turn(t);
  assertEquals(few.readyCount, 1);
});

Deno.test("ExpirySweeps hold up no queue for dead letters of another that have to be read", () => {
  const store = new SlowStore();
  const t = new TestBroker({ store });
  const dead = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
  t.queue("dead");
  const slow = t.queue("slow", { "x-message-ttl": 1000, ...dead });
  for (let number = 0; number < 20_000; number++) t.publish("slow", "x");
  t.turn(1000);
  // Its share is what may wait to be published; nothing is done again and again until some is read.
  assertLessOrEqual(slow.dyingCount, 8192 + PER_TURN_MAX);
  assert(slow.readyCount > 0 && !t.broker.hasMoreWork);
  const plain = t.queue("plain", { "x-message-ttl": 1000 });
  for (let number = 0; number < 3000; number++) t.publish("plain", "x");
  t.turn(1000);
  assertEquals(plain.readyCount, 0);
  for (let rounds = 0; slow.readyCount + slow.dyingCount > 0; rounds++) {
    assert(rounds < 20_000);
    store.finishReads();
    t.turn();
  }
  assertEquals(t.vhost.queues.get("dead")!.readyCount, 20_000);
});
