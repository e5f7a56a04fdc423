// Lane against a naive sorted list.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { ChunkPool } from "../../../../src/store/memory/lane_chunk.ts";
import { Lane } from "../../../../src/store/memory/lane.ts";
import { HEAD_EMPTY, HEAD_READY } from "../../../../src/store/port.ts";
import { type Held, NaiveLane } from "../support/naive_lane.ts";

const WAITER = { readArrived() {}, readFailed() {} };

type Step =
  | { kind: "push"; count: number; expiryMs: number }
  | { kind: "shift"; count: number }
  | { kind: "restore"; count: number }
  | { kind: "expire"; nowMs: number; max: number }
  | { kind: "clear" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("push" as const),
      count: fc.integer({ min: 1, max: 80 }),
      expiryMs: fc.oneof(fc.constant(Infinity), fc.integer({ min: 0, max: 100 })),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("shift" as const),
      count: fc.integer({ min: 1, max: 80 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("restore" as const),
      count: fc.integer({ min: 1, max: 20 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("expire" as const),
      nowMs: fc.integer({ min: 0, max: 100 }),
      max: fc.integer({ min: 1, max: 50 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "clear" as const }) },
);

/** Runs the steps on a lane and on the naive one and compares all they give. */
class Comparison {
  readonly #out: Held[] = [];
  #nextRef = 1;
  memoryBytes = 0;
  readonly lane = new Lane(new ChunkPool(), (delta) => this.memoryBytes += delta);
  readonly naive = new NaiveLane();

  run(next: Step): void {
    if (next.kind === "push") this.#push(next.count, next.expiryMs);
    else if (next.kind === "shift") this.#shift(next.count);
    else if (next.kind === "restore") this.#restore(next.count);
    else if (next.kind === "expire") this.#expire(next.nowMs, next.max);
    else this.#clear();
    this.#check();
  }

  #push(count: number, expiryMs: number): void {
    for (let i = 0; i < count; i++) {
      const ref = this.#nextRef++;
      const position = this.lane.push(ref, ref % 7, expiryMs + i);
      assertEquals(position, this.naive.push(ref, ref % 7, expiryMs + i));
    }
  }

  #shift(count: number): void {
    for (let i = 0; i < count; i++) {
      const expected = this.naive.ready.shift();
      const state = this.lane.head(WAITER);
      assertEquals(state, expected === undefined ? HEAD_EMPTY : HEAD_READY);
      if (expected === undefined) return;
      const { headPosition, headRef, headEntry, headExpiryMs } = this.lane;
      assertEquals(
        { position: headPosition, ref: headRef, entry: headEntry, expiryMs: headExpiryMs },
        expected,
      );
      this.lane.shift();
      this.#out.push(expected);
    }
  }

  #restore(count: number): void {
    for (const held of this.#out.splice(-count)) {
      const changed = { ...held, entry: held.entry + 1 };
      this.lane.restore(held.position, held.ref, changed.entry, held.expiryMs);
      this.naive.restore(changed);
    }
  }

  // Requeued messages are looked at before the others, so the order of visits is not compared, and
  // with a cap on the number only that every visited one was due.
  #expire(nowMs: number, max: number): void {
    const visited: number[] = [];
    const expired = this.lane.expire(nowMs, max, (ref) => visited.push(ref), WAITER);
    const due = this.naive.ready.filter((held) => held.expiryMs <= nowMs);
    assertEquals(expired, Math.min(due.length, max));
    assertEquals(visited.length, expired);
    for (const ref of visited) assert(due.some((held) => held.ref === ref));
    this.naive.ready = this.naive.ready.filter((held) => !visited.includes(held.ref));
  }

  #clear(): void {
    const released: number[] = [];
    const taken = this.lane.takeAll();
    assertEquals(taken.messageCount, this.naive.ready.length);
    while (taken.releaseSome(3, (ref) => released.push(ref)));
    const ascending = (a: number, b: number) => a - b;
    assertEquals(released.sort(ascending), this.naive.ready.map(({ ref }) => ref).sort(ascending));
    this.naive.ready = [];
  }

  #check(): void {
    assertEquals(this.lane.messageCount, this.naive.ready.length);
    const earliestMs = Math.min(Infinity, ...this.naive.ready.map((held) => held.expiryMs));
    assert(this.lane.nextExpiryMs() <= earliestMs);
    const peeked: number[] = [];
    this.lane.peek(10, (ref) => peeked.push(ref));
    assertEquals(peeked, this.naive.ready.slice(0, 10).map((held) => held.ref));
  }
}

Deno.test("Lane does what a sorted list does", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const comparison = new Comparison();
      for (const next of steps) comparison.run(next);
    }),
    { numRuns: 300 },
  );
});

Deno.test("Lane owns no memory while it is empty", () => {
  const comparison = new Comparison();
  comparison.run({ kind: "push", count: 5000, expiryMs: 10 });
  assert(comparison.memoryBytes > 5000 * 8);
  comparison.run({ kind: "shift", count: 5000 });
  assertEquals(comparison.memoryBytes, 0);
});

Deno.test("Lane expires messages in the middle and behind messages that expire later", () => {
  const lane = new Lane(new ChunkPool(), () => {});
  for (let ref = 1; ref <= 3000; ref++) lane.push(ref, 0, ref % 2 === 0 ? 5 : 500);
  let expired = 0;
  lane.expire(5, 10_000, () => expired++, WAITER);
  assertEquals(expired, 1500);
  assertEquals(lane.nextExpiryMs(), 500);
  assertEquals(lane.head(WAITER), HEAD_READY);
  assertEquals(lane.headRef, 1);
});

Deno.test("Lane gives back the memory of requeued messages when all of them have expired", () => {
  let memoryBytes = 0;
  const lane = new Lane(new ChunkPool(), (deltaBytes) => memoryBytes += deltaBytes);
  const kept: number[] = [];
  for (const count of [10, 1000]) {
    for (let number = 0; number < count; number++) lane.push(number + 1, 0, 10);
    const first = lane.nextPosition - count;
    for (let number = 0; number < count; number++) {
      lane.head(WAITER);
      lane.shift();
    }
    for (let number = 0; number < count; number++) lane.restore(first + number, number + 1, 0, 10);
    assertEquals(lane.expire(10, count, () => {}, WAITER), count);
    kept.push(memoryBytes);
  }
  assertEquals(kept[0], kept[1]);
});

Deno.test("Lane does not take what a chunk held before for messages, where recovery skips positions", () => {
  const pool = new ChunkPool();
  const before = new Lane(pool, () => {});
  for (let ref = 101; ref <= 120; ref++) before.push(ref, 0, Infinity);
  const taken = before.takeAll();
  while (taken.releaseSome(1000, () => {}));
  const lane = new Lane(pool, () => {});
  for (let ref = 1; ref <= 6; ref++) lane.push(ref, 0, Infinity);
  lane.nextPosition += 3;
  lane.push(7, 0, Infinity);
  const seen: number[][] = [];
  lane.peek(10, (ref, position) => seen.push([ref, position]));
  assertEquals(seen, [[1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6], [7, 10]]);
  for (const [ref, position] of seen) {
    assertEquals([lane.head(WAITER), lane.headRef, lane.headPosition], [HEAD_READY, ref, position]);
    lane.shift();
  }
  assertEquals(lane.head(WAITER), HEAD_EMPTY);
});

Deno.test("Lane has room for expiries only in chunks with a message that expires", () => {
  let memoryBytes = 0;
  const lane = new Lane(new ChunkPool(), (delta) => memoryBytes += delta);
  for (let ref = 1; ref <= 32; ref++) lane.push(ref, 0, Infinity);
  assertEquals(memoryBytes, 32 * 8);
  for (let ref = 33; ref <= 40; ref++) lane.push(ref, 0, ref === 40 ? 5 : Infinity);
  assertEquals(memoryBytes, 32 * 8 + 1024 * 16);
});
