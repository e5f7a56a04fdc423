// Dead letters of several queues side by side: turns, reads under way and letters that cannot be read.

import { assert, assertEquals, assertGreater, assertLessOrEqual } from "@std/assert";
import type { FieldTable } from "../../../../src/amqp/field_value.ts";
import type { Properties } from "../../../../src/amqp/properties.ts";
import { type Death, recordDeath } from "../../../../src/broker/dead_letters/x_death.ts";
import type { ReadWaiter } from "../../../../src/store/port.ts";
import { emptyView } from "../../../../src/store/views.ts";
import { SlowStore } from "../../../support/slow_store.ts";
import { type Plain, TestBroker, TestChannel } from "../../../support/test_broker.ts";

const DEAD: Plain = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };

/** Publishes so many messages to queues of these names and lets them expire. */
function expire(
  t: TestBroker,
  counts: Record<string, number>,
  bodyBytes = 10,
  properties: Properties = {},
): void {
  for (const [name, count] of Object.entries(counts)) {
    if (!t.vhost.queues.has(name)) t.queue(name, { ...DEAD, "x-message-ttl": 1000 });
    for (let i = 1; i <= count; i++) {
      t.publish(name, `${name}${i}`.padEnd(bodyBytes + i), properties);
    }
  }
  t.broker.dispatch();
  t.broker.endTurn();
  t.broker.beginTurn(t.nowMs + 1000);
}

function take(t: TestBroker, count: number): string[] {
  const queue = t.vhost.queues.get("dead")!;
  return Array.from({ length: count }, () => t.get(queue, new TestChannel(), true)!.body.trim());
}

Deno.test("one dead letter of a queue does not wait for many of another", () => {
  const t = new TestBroker();
  const dead = t.queue("dead");
  expire(t, { many: 200, one: 1 });
  t.broker.dispatch();
  assertLessOrEqual(dead.readyCount, 64);
  const bodies = take(t, dead.readyCount);
  assert(bodies.includes("one1"));
  const many = bodies.filter((body) => body.startsWith("many"));
  assertEquals(many, many.map((_, index) => `many${index + 1}`));
});

Deno.test("large dead letters take more of a turn", () => {
  const t = new TestBroker();
  const dead = t.queue("dead");
  expire(t, { large: 100 }, 1024 * 1024);
  t.broker.dispatch();
  assertGreater(dead.readyCount, 2);
  assertLessOrEqual(dead.readyCount, 8);
  t.turn();
  assertEquals(take(t, 100), Array.from({ length: 100 }, (_, index) => `large${index + 1}`));
});

Deno.test("dead letters with a long history take more of a turn", () => {
  const t = new TestBroker();
  const dead = t.queue("dead");
  const died = Array.from({ length: 8 }, (_, index): Death => {
    return {
      reason: "rejected",
      queue: `earlier${index}`,
      exchange: "",
      routingKeys: ["q"],
      timeSeconds: 1000,
      originalExpiration: null,
    };
  });
  const headers = died.reduce<FieldTable>(recordDeath, new Map());
  expire(t, { q: 500 }, 10, { headers });
  t.broker.dispatch();
  assertGreater(dead.readyCount, 3);
  assertLessOrEqual(dead.readyCount, 20);
  t.turn();
  assertEquals(dead.readyCount, 500);
});

/** Ends reads by hand, the last first, or as errors. */
class WaywardStore extends SlowStore {
  readonly waiting: { ref: number; waiter: ReadWaiter }[] = [];

  override request(ref: number, waiter: ReadWaiter): void {
    this.waiting.push({ ref, waiter });
  }

  finishLast(): void {
    const { ref, waiter } = this.waiting.pop()!;
    super.request(ref, waiter);
    this.finishReads();
  }
}

Deno.test("dead letters that are read in any order are published in theirs", () => {
  const store = new WaywardStore();
  const t = new TestBroker({ store });
  t.queue("dead");
  expire(t, { q: 50 });
  t.turn();
  assertEquals(store.waiting.length, 16);
  for (let rounds = 0; t.vhost.queues.get("dead")!.readyCount < 50; rounds++) {
    assert(rounds < 1000);
    store.finishLast();
    t.turn();
  }
  assertEquals(store.waiting.length, 0);
  // Each was read once.
  assertEquals(store.readCount, 50);
  const dead = t.vhost.queues.get("dead")!;
  const view = emptyView();
  const sizes: number[] = [];
  dead.ready.lane.peek(50, (ref) => {
    store.describe(ref, view);
    sizes.push(view.bodyEnd - view.bodyStart);
  });
  assertEquals(sizes, Array.from({ length: 50 }, (_, index) => 11 + index));
});

Deno.test("a dead letter that cannot be read is lost and said so, those behind it are published", () => {
  const store = new WaywardStore();
  const logs: string[] = [];
  const logger = { log: (_level: string, message: string) => void logs.push(message) };
  const t = new TestBroker({ store, logger });
  const dead = t.queue("dead");
  expire(t, { q: 3 });
  t.turn();
  const first = store.waiting.shift()!;
  const second = store.waiting.shift()!;
  // One that is not the next is asked for again when it is.
  second.waiter.readFailed(new Error("bad sector"));
  assertEquals(logs, []);
  first.waiter.readFailed(new Error("bad sector"));
  for (let rounds = 0; dead.readyCount < 2; rounds++) {
    assert(rounds < 100);
    t.turn();
    store.finishLast();
    t.turn();
  }
  assertEquals(logs, ["dead letter is lost: it cannot be read"]);
  assertEquals([t.broker.metrics.deadLettersDropped, t.broker.deadLetters.backlog], [1, 0]);
});
