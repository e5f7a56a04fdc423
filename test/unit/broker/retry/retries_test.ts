// Automatic retries at the broker, case by case of docs/automatic-retries.md, with time moved by hand.

import { assertAlmostEquals, assertEquals } from "@std/assert";
import type { Queue } from "../../../../src/broker/queue/queue.ts";
import {
  CAUSE_CLOSE,
  CAUSE_NACK,
  CAUSE_RECOVER,
  CAUSE_REJECT,
} from "../../../../src/broker/retry/rules.ts";
import { longField } from "../../../../src/amqp/field_value.ts";
import { type Plain, TestBroker, TestChannel } from "../../../support/test_broker.ts";

const DEAD: Plain = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };

interface Scene {
  t: TestBroker;
  queue: Queue;
  dead: Queue;
  channel: TestChannel;
}

function scene(args: Plain, limits = {}): Scene {
  const t = new TestBroker({ limits });
  const dead = t.queue("dead");
  const queue = t.queue("q", { ...DEAD, ...args });
  const channel = new TestChannel();
  t.consume(queue, channel);
  return { t, queue, dead, channel };
}

/** Rejects every delivery and says after how many ms each came, in steps of 1 ms. */
function delaysUntilDead(s: Scene, cause: number): number[] {
  const delays: number[] = [];
  let waitedMs = 0;
  s.t.turn();
  while (s.dead.readyCount === 0) {
    const [seen] = s.channel.drain();
    if (seen !== undefined) {
      if (seen.redelivered) delays.push(waitedMs);
      waitedMs = 0;
      s.channel.unacked.reject(seen.tag, false, true, cause);
      s.t.turn();
      continue;
    }
    const nextMs = s.queue.retries!.delayed.nextDueMs;
    const stepMs = Math.max(1, nextMs - s.t.nowMs - 1);
    s.t.turn(stepMs);
    waitedMs += stepMs;
  }
  return delays;
}

Deno.test("a rejected message comes back after 500, 1000, 2000, 4000 and 8000 ms, then dies", () => {
  const s = scene({
    "x-delivery-limit": 5,
    "x-delayed-retry-min": 500,
    "x-delayed-retry-multiplier": 2,
    "x-delayed-retry-max": 30000,
  });
  s.t.publish("q", "hello");
  assertEquals(delaysUntilDead(s, CAUSE_REJECT), [500, 1000, 2000, 4000, 8000]);
  const seen = s.t.get(s.dead, s.channel)!;
  assertEquals(seen.body, "hello");
  assertEquals(seen.properties.headers?.get("x-delivery-count"), longField(5));
  const deaths = seen.properties.headers?.get("x-death");
  if (deaths?.tag !== "A" || deaths.value[0]?.tag !== "F") throw new Error("no x-death");
  assertEquals(deaths.value.length, 1);
  assertEquals(deaths.value[0].value.get("reason"), { tag: "S", value: "delivery_limit" });
  assertEquals(s.t.broker.metrics.retryScheduled, 5);
  assertEquals(s.t.broker.metrics.retryRedelivered, 5);
  assertEquals(s.t.broker.metrics.retryExhausted, 1);
});

Deno.test("growth is linear without a multiplier, constant with 1, clamped by max", () => {
  const cases: [Plain, number[]][] = [
    [{ "x-delivery-limit": 4, "x-delayed-retry-min": 100 }, [100, 200, 300, 400]],
    [
      { "x-delivery-limit": 3, "x-delayed-retry-min": 100, "x-delayed-retry-multiplier": 1 },
      [100, 100, 100],
    ],
    [
      { "x-delivery-limit": 4, "x-delayed-retry-min": 100, "x-delayed-retry-max": 250 },
      [100, 200, 250, 250],
    ],
    [{ "x-delivery-limit": 2, "x-delayed-retry-min": 100, "x-delayed-retry-max": 10 }, [10, 10]],
  ];
  for (const [args, expected] of cases) {
    const s = scene(args);
    s.t.publish("q", "m");
    assertEquals(delaysUntilDead(s, CAUSE_NACK), expected);
  }
});

Deno.test("an explicit list of delays is followed and its last entry repeats", () => {
  const delays = { tag: "A" as const, value: [longField(10), longField(30), longField(20)] };
  const s = scene({ "x-delivery-limit": 5, "x-delayed-retry-delays": delays });
  s.t.publish("q", "m");
  assertEquals(delaysUntilDead(s, CAUSE_REJECT), [10, 30, 20, 20, 20]);
});

Deno.test("the default limit is 20: 21 deliveries", () => {
  const s = scene({ "x-delayed-retry-min": 1, "x-delayed-retry-multiplier": 1 });
  s.t.publish("q", "m");
  assertEquals(delaysUntilDead(s, CAUSE_REJECT).length, 20);
});

Deno.test("limit 0 gives one delivery", () => {
  const s = scene({ "x-delayed-retry-min": 1, "x-delivery-limit": 0 });
  s.t.publish("q", "m");
  assertEquals(delaysUntilDead(s, CAUSE_REJECT), []);
  assertEquals(s.t.get(s.dead, s.channel)!.properties.headers?.has("x-delivery-count"), false);
});

Deno.test("without a dead-letter exchange the message is dropped after the limit", () => {
  const t = new TestBroker();
  const queue = t.queue("q", { "x-delayed-retry-min": 1, "x-delivery-limit": 0 });
  const channel = new TestChannel();
  t.consume(queue, channel);
  t.publish("q", "m");
  t.turn();
  channel.unacked.reject(1, false, true, CAUSE_REJECT);
  t.turn();
  assertEquals(t.broker.store.liveMessageCount, 0);
});

Deno.test("jitter takes up to its percentage off, never a millisecond more", () => {
  const seen = new Set<number>();
  for (let seed = 1; seed <= 40; seed++) {
    const t = new TestBroker({ seed });
    const queue = t.queue("q", { "x-delayed-retry-min": 1000, "x-delayed-retry-jitter": 20 });
    const channel = new TestChannel();
    t.consume(queue, channel);
    t.publish("q", "m");
    t.turn();
    channel.unacked.reject(1, false, true, CAUSE_REJECT);
    const delayMs = queue.retries!.delayed.nextDueMs - t.nowMs;
    assertAlmostEquals(delayMs, 900, 100);
    seen.add(delayMs);
  }
  assertEquals(seen.size > 20, true);
});

Deno.test("every message of a multiple nack is delayed, in order", () => {
  const s = scene({ "x-delayed-retry-min": 100 });
  for (const body of ["1", "2", "3"]) s.t.publish("q", body);
  s.t.turn();
  const last = s.channel.drain().at(-1)!;
  s.channel.unacked.reject(last.tag, true, true, CAUSE_NACK);
  assertEquals([s.queue.delayedCount, s.queue.readyCount, s.queue.unackedCount], [3, 0, 0]);
  s.t.turn(100);
  assertEquals(s.channel.drain().map((seen) => seen.body + seen.deliveryCount), ["11", "21", "31"]);
});

Deno.test("requeue=false never retries: dead-lettered as rejected", () => {
  const s = scene({ "x-delayed-retry-min": 100 });
  s.t.publish("q", "m");
  s.t.turn();
  s.channel.unacked.reject(1, false, false, CAUSE_REJECT);
  s.t.turn();
  const seen = s.t.get(s.dead, s.channel)!;
  assertEquals(seen.properties.headers?.get("x-first-death-reason"), {
    tag: "S",
    value: "rejected",
  });
  assertEquals(s.queue.delayedCount, 0);
});

Deno.test("recover and close requeue at once at the old position, and count", () => {
  for (const cause of [CAUSE_RECOVER, CAUSE_CLOSE]) {
    const s = scene({ "x-delayed-retry-min": 100, "x-delivery-limit": 2 });
    s.t.publish("q", "1");
    s.t.publish("q", "2");
    for (let round = 0; round <= 2; round++) {
      s.t.turn();
      const seen = s.channel.drain();
      assertEquals(seen.map((one) => one.body), ["1", "2"]);
      assertEquals(seen.map((one) => one.deliveryCount), [round, round]);
      assertEquals(seen[0]!.redelivered, round > 0);
      s.channel.unacked.requeueAll(cause, true);
      assertEquals(s.queue.delayedCount, 0);
    }
    s.t.turn();
    assertEquals(s.dead.readyCount, 2);
  }
});

Deno.test("limit + 1 deliveries whatever the mix of causes, and n counts them all", () => {
  const s = scene({ "x-delayed-retry-min": 100, "x-delivery-limit": 3 });
  s.t.publish("q", "m");
  s.t.turn();
  s.channel.unacked.reject(1, false, true, CAUSE_REJECT);
  s.t.turn(100);
  s.channel.unacked.requeueAll(CAUSE_CLOSE, true);
  s.t.turn();
  s.channel.unacked.reject(3, false, true, CAUSE_NACK);
  assertEquals(s.queue.retries!.delayed.nextDueMs - s.t.nowMs, 300);
  s.t.turn(300);
  assertEquals(s.channel.drain().map((seen) => seen.deliveryCount), [0, 1, 2, 3]);
  s.channel.unacked.reject(4, false, true, CAUSE_REJECT);
  s.t.turn();
  assertEquals([s.dead.readyCount, s.queue.delayedCount], [1, 0]);
});

Deno.test("a queue with a delivery limit and no retry keeps the counter and requeues at once", () => {
  const s = scene({ "x-delivery-limit": 1 });
  s.t.publish("q", "m");
  s.t.turn();
  s.channel.unacked.reject(1, false, true, CAUSE_NACK);
  s.t.turn();
  assertEquals(s.channel.drain().map((seen) => seen.deliveryCount), [0, 1]);
  s.channel.unacked.reject(2, false, true, CAUSE_NACK);
  s.t.turn();
  assertEquals(s.dead.readyCount, 1);
});

Deno.test("time to live runs on total age, also in the middle of a delay", () => {
  const s = scene({ "x-delayed-retry-min": 500, "x-message-ttl": 300 });
  s.t.publish("q", "m");
  s.t.turn(100);
  s.channel.unacked.reject(1, false, true, CAUSE_REJECT);
  s.t.turn(199);
  assertEquals([s.queue.delayedCount, s.dead.readyCount], [1, 0]);
  s.t.turn(1);
  assertEquals([s.queue.delayedCount, s.dead.readyCount], [0, 1]);
  const seen = s.t.get(s.dead, s.channel)!;
  assertEquals(seen.properties.headers?.get("x-first-death-reason"), {
    tag: "S",
    value: "expired",
  });
  assertEquals(s.t.broker.metrics.retryExpired, 1);
});

Deno.test("a message past its time when rejected expires, also when the limit is reached with it", () => {
  const s = scene({ "x-delayed-retry-min": 500, "x-message-ttl": 300, "x-delivery-limit": 0 });
  s.t.publish("q", "m");
  s.t.turn();
  s.t.turn(300);
  s.channel.unacked.reject(1, false, true, CAUSE_REJECT);
  s.t.turn();
  const seen = s.t.get(s.dead, s.channel)!;
  assertEquals(seen.properties.headers?.get("x-first-death-reason"), {
    tag: "S",
    value: "expired",
  });
});

Deno.test("a full reject-publish queue sends due messages round once more with the same n", () => {
  const s = scene({
    "x-delayed-retry-min": 100,
    "x-delayed-retry-multiplier": 3,
    "x-max-length": 1,
    "x-overflow": "reject-publish",
  });
  s.t.publish("q", "1");
  s.t.turn();
  s.channel.isOpen = false;
  s.channel.unacked.reject(1, false, true, CAUSE_REJECT);
  s.t.publish("q", "2");
  s.t.turn(100);
  assertEquals([s.queue.delayedCount, s.queue.readyCount], [1, 1]);
  assertEquals(s.queue.retries!.delayed.nextDueMs - s.t.nowMs, 100);
  s.t.turn(100);
  assertEquals(s.queue.delayedCount, 1);
  s.channel.isOpen = true;
  s.t.unblock(s.queue);
  s.t.turn(100);
  assertEquals(s.channel.drain().map((seen) => seen.body + seen.deliveryCount), ["10", "20", "11"]);
  assertEquals(s.t.broker.metrics.retryDelayedAgain, 2);
});

Deno.test("with drop-head a due message goes to the tail and the head is dropped", () => {
  const s = scene({ "x-delayed-retry-min": 100, "x-max-length": 1 });
  s.t.publish("q", "1");
  s.t.turn();
  s.channel.isOpen = false;
  s.channel.unacked.reject(1, false, true, CAUSE_REJECT);
  s.t.publish("q", "2");
  s.t.turn(100);
  assertEquals(s.t.get(s.dead, s.channel)!.body, "2");
  assertEquals(s.t.get(s.queue, s.channel)!.body, "1");
});

Deno.test("delayed messages do not count in length and are purged and deleted with the queue", () => {
  const s = scene({
    "x-delayed-retry-min": 100,
    "x-max-length": 1,
    "x-overflow": "reject-publish",
  });
  s.t.publish("q", "1");
  s.t.turn();
  s.channel.unacked.reject(1, false, true, CAUSE_REJECT);
  s.channel.isOpen = false;
  s.t.publish("q", "2");
  assertEquals([s.queue.readyCount, s.queue.delayedCount], [1, 1]);
  assertEquals(s.queue.purge(), 2);
  s.t.turn(1000);
  assertEquals([s.queue.readyCount, s.t.broker.store.liveMessageCount], [0, 0]);
});

Deno.test("over a limit of delayed messages the message is requeued at once and counted", () => {
  const s = scene({ "x-delayed-retry-min": 100 }, { delayedPerQueueMax: 1 });
  s.t.publish("q", "1");
  s.t.publish("q", "2");
  s.t.turn();
  s.channel.unacked.reject(0, true, true, CAUSE_NACK);
  assertEquals([s.queue.delayedCount, s.queue.readyCount], [1, 1]);
  assertEquals(s.t.broker.metrics.retryOverLimit, 1);
});

Deno.test("equal due times come back in the order of rejection, others by due time", () => {
  const s = scene({ "x-delayed-retry-min": 100 });
  for (const body of ["1", "2", "3"]) s.t.publish("q", body);
  s.t.turn();
  for (const tag of [3, 1, 2]) s.channel.unacked.reject(tag, false, true, CAUSE_REJECT);
  s.channel.drain();
  s.t.turn(100);
  assertEquals(s.channel.drain().map((seen) => seen.body), ["3", "1", "2"]);
});

Deno.test("a return bypasses exchanges and keeps address, properties and arrival", () => {
  const s = scene({ "x-delayed-retry-min": 100 });
  s.t.publish("q", "m", {
    contentType: "text/plain",
    headers: new Map([["x-delay", longField(7)]]),
  });
  s.t.turn();
  const [first] = s.channel.drain();
  s.channel.unacked.reject(1, false, true, CAUSE_REJECT);
  s.t.turn(100);
  const [second] = s.channel.drain();
  assertEquals(second!.properties, first!.properties);
  assertEquals([second!.exchange, second!.routingKey], ["", "q"]);
});

Deno.test("types of the RabbitMQ dialect delay and count by cause", () => {
  const outcomes: Record<string, number[][]> = {
    // Per cause reject, nack, recover, close: [delayed, deliveries spent].
    all: [[1, 1], [1, 1], [0, 1], [1, 1]],
    failed: [[1, 1], [0, 0], [0, 1], [1, 1]],
    returned: [[0, 1], [1, 0], [0, 1], [0, 1]],
  };
  for (const [type, expected] of Object.entries(outcomes)) {
    for (const cause of [CAUSE_REJECT, CAUSE_NACK, CAUSE_RECOVER, CAUSE_CLOSE]) {
      const s = scene({ "x-delayed-retry-min": 100, "x-delayed-retry-type": type });
      s.t.publish("q", "m");
      s.t.turn();
      s.channel.drain();
      if (cause === CAUSE_REJECT || cause === CAUSE_NACK) {
        s.channel.unacked.reject(1, false, true, cause);
      } else s.channel.unacked.requeueAll(cause, true);
      const delayed = s.queue.delayedCount;
      s.t.turn(100);
      const [seen] = s.channel.drain();
      assertEquals([delayed, seen!.deliveryCount], expected[cause], `${type} cause ${cause}`);
      assertEquals(seen!.redelivered, true);
    }
  }
});

Deno.test("with a type and no multiplier max defaults to min", () => {
  const s = scene({
    "x-delayed-retry-min": 100,
    "x-delayed-retry-type": "all",
    "x-delivery-limit": 3,
  });
  s.t.publish("q", "m");
  assertEquals(delaysUntilDead(s, CAUSE_REJECT), [100, 100, 100]);
});

Deno.test("a forged x-delivery-count is flagged for removal on queues that count only", () => {
  const t = new TestBroker();
  const forged = { headers: new Map([["x-delivery-count", longField(99)]]) };
  for (const [args, strips] of [[{ "x-delivery-limit": 3 }, true], [{}, false]] as const) {
    const name = `q${strips}`;
    const queue = t.queue(name, args);
    t.publish(name, "m", forged);
    assertEquals(queue.get(t.broker.delivery), 1);
    assertEquals(t.broker.delivery.stripsDeliveryCount, strips);
    assertEquals(t.broker.delivery.deliveryCount, 0);
  }
});

Deno.test("a retry-enabled dead-letter queue starts a fresh budget", () => {
  const t = new TestBroker();
  const dead = t.queue("dead", { "x-delayed-retry-min": 1 });
  const queue = t.queue("q", { ...DEAD, "x-delivery-limit": 1 });
  const channel = new TestChannel();
  t.consume(queue, channel);
  t.publish("q", "m");
  for (const tag of [1, 2]) {
    t.turn();
    channel.unacked.reject(tag, false, true, CAUSE_REJECT);
  }
  t.turn();
  assertEquals(dead.get(t.broker.delivery), 1);
  assertEquals([t.broker.delivery.deliveryCount, t.broker.delivery.stripsDeliveryCount], [0, true]);
});

Deno.test("how late a message came back is measured from when it was due", () => {
  const s = scene({ "x-delayed-retry-min": 100 });
  s.t.publish("q", "m");
  s.t.turn();
  s.channel.unacked.reject(s.channel.drain()[0]!.tag, false, true, CAUSE_REJECT);
  s.t.turn(130);
  const { retryLatenessSeconds } = s.t.broker.metrics;
  assertEquals(retryLatenessSeconds.count, 1);
  assertAlmostEquals(retryLatenessSeconds.sum, 0.03, 1e-9);
});

Deno.test("a dead letter without a count has none to be taken away", () => {
  const t = new TestBroker();
  const dead = t.queue("dead", { "x-delayed-retry-min": 1 });
  const queue = t.queue("q", DEAD);
  t.publish("q", "m");
  const channel = new TestChannel();
  channel.unacked.reject(t.get(queue, channel)!.tag, false, false, CAUSE_REJECT);
  t.turn();
  assertEquals(dead.get(t.broker.delivery), 1);
  assertEquals([t.broker.delivery.deliveryCount, t.broker.delivery.stripsDeliveryCount], [
    0,
    false,
  ]);
});

Deno.test("a delivery limit on a queue without retries counts nothing as a retry", () => {
  const s = scene({ "x-delivery-limit": 1 });
  s.t.publish("q", "x");
  s.t.turn();
  for (let i = 0; i < 2; i++) {
    s.channel.unacked.reject(s.channel.drain()[0]!.tag, false, true, CAUSE_NACK);
    s.t.turn();
  }
  const { metrics } = s.t.broker;
  assertEquals([s.dead.readyCount, metrics.deadLetteredDeliveryLimit], [1, 1]);
  assertEquals([metrics.retryExhausted, metrics.retryAttempts.count], [0, 0]);
});
