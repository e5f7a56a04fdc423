// Unacked against a naive list: tags, multiple, holes, growth, transactions.

import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { CAUSE_CLOSE, CAUSE_NACK, CAUSE_RECOVER } from "../../../../src/broker/retry/rules.ts";
import { TestBroker, TestChannel } from "../../../support/test_broker.ts";

type Step =
  | { kind: "take"; count: number }
  | { kind: "ack" | "nack" | "hold"; pick: number; multiple: boolean }
  | { kind: "rollback" | "recover" | "close" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("take" as const),
      count: fc.integer({ min: 1, max: 40 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("ack" as const, "nack" as const, "hold" as const),
      pick: fc.nat(120),
      multiple: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom("rollback" as const, "recover" as const, "close" as const),
    }),
  },
);

interface Out {
  tag: number;
  held: boolean;
}

class Comparison {
  readonly #t = new TestBroker();
  readonly #queue = this.#t.queue("q");
  readonly #channel = new TestChannel();
  #out: Out[] = [];
  #heldTags: number[] = [];
  #lastTag = 0;
  #published = 0;
  #acked = 0;

  run(next: Step): void {
    if (next.kind === "take") this.#take(next.count);
    else if ("pick" in next) {
      this.#settle(next.kind, next.pick % (this.#lastTag + 2), next.multiple);
    } else if (next.kind === "rollback") this.#rollback();
    else this.#giveBack(next.kind);
    const { unacked } = this.#channel;
    assertEquals(unacked.count, this.#out.length);
    assertEquals(this.#queue.unackedCount, this.#out.length);
    assertEquals(this.#queue.readyCount, this.#published - this.#acked - this.#out.length);
    assertEquals(this.#t.broker.store.liveMessageCount, this.#published - this.#acked);
  }

  #take(count: number): void {
    for (let i = 0; i < count; i++) {
      if (this.#queue.readyCount === 0) {
        this.#t.publish("q", "m");
        this.#published++;
      }
      const seen = this.#t.get(this.#queue, this.#channel)!;
      this.#lastTag = seen.tag;
      this.#out.push({ tag: seen.tag, held: false });
    }
  }

  #meant(tag: number, multiple: boolean): Out[] | null {
    if (tag === 0 && multiple) return this.#out.filter((one) => !one.held);
    const named = this.#out.find((one) => one.tag === tag && !one.held);
    if (named === undefined) return null;
    return multiple ? this.#out.filter((one) => one.tag <= tag && !one.held) : [named];
  }

  #settle(kind: "ack" | "nack" | "hold", tag: number, multiple: boolean): void {
    const { unacked } = this.#channel;
    const meant = this.#meant(tag, multiple);
    const held: number[] = [];
    const known = kind === "ack"
      ? unacked.ack(tag, multiple)
      : kind === "nack"
      ? unacked.reject(tag, multiple, true, CAUSE_NACK)
      : unacked.holdForTx(tag, multiple, held);
    assertEquals(known, meant !== null);
    if (meant === null) return;
    if (kind === "hold") {
      assertEquals(held, meant.map((one) => one.tag));
      this.#heldTags.push(...held);
      for (const one of meant) one.held = true;
      return;
    }
    if (kind === "ack") this.#acked += meant.length;
    this.#out = this.#out.filter((one) => !meant.includes(one));
  }

  #rollback(): void {
    this.#channel.unacked.releaseTx(this.#heldTags);
    this.#heldTags = [];
    for (const one of this.#out) one.held = false;
  }

  #giveBack(kind: "recover" | "close"): void {
    const isClose = kind === "close";
    this.#channel.unacked.requeueAll(isClose ? CAUSE_CLOSE : CAUSE_RECOVER, isClose);
    this.#out = isClose ? [] : this.#out.filter((one) => one.held);
  }
}

Deno.test("Unacked does what a list does", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const comparison = new Comparison();
      for (const next of steps) comparison.run(next);
    }),
    { numRuns: 200 },
  );
});

Deno.test("Unacked stays small when one message is never settled", () => {
  const t = new TestBroker();
  const queue = t.queue("q");
  const channel = new TestChannel();
  for (let i = 0; i < 100_000; i++) {
    t.publish("q", "m");
    const seen = t.get(queue, channel)!;
    if (i > 0) assertEquals(channel.unacked.ack(seen.tag, false), true);
  }
  assertEquals(channel.unacked.count, 1);
  assertEquals(channel.unacked.ack(1, false), true);
  assertEquals(t.broker.store.liveMessageCount, 0);
});
