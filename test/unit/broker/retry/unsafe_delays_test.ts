// Delays whose batch is not decided, against a list that does the same naively.

import { assertEquals } from "@std/assert";
import { type BatchDecisions, UnsafeDelays } from "../../../../src/broker/retry/unsafe_delays.ts";
import { Prng } from "../../../../src/lib/prng.ts";

/** Decides what the test says. */
class TestDecisions implements BatchDecisions {
  safeBatch = 0;
  isReadOnly = false;
  readonly failed = new Set<number>();

  isFailed(batch: number): boolean {
    return this.failed.has(batch);
  }
}

Deno.test("UnsafeDelays.look() gives back what failed, once and in order, and forgets what is safe", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const prng = new Prng(seed);
    const store = new TestDecisions();
    const delays = new UnsafeDelays();
    const undelayed: number[] = [];
    const owner = {
      undelay(handle: number, index: number): void {
        undelayed.push(index === handle % 1000 ? handle : -1);
      },
    };
    const expected: number[] = [];
    let pending: { batch: number; handle: number }[] = [];
    let handle = 0;
    for (let batch = 1; batch <= 300; batch++) {
      for (let count = prng.nextBelow(seed * 3); count > 0; count--) {
        delays.add(batch, owner, ++handle, handle % 1000);
        pending.push({ batch, handle });
      }
      // The disk refuses what is open, or everything that is not safe yet; or decides some more.
      const dice = prng.nextBelow(10);
      store.isReadOnly = dice < 2;
      if (dice < 2) store.failed.add(batch);
      if (dice === 0) {
        for (let at = store.safeBatch + 1; at <= batch; at++) store.failed.add(at);
      }
      if (dice > 3) store.safeBatch = Math.max(store.safeBatch, batch - prng.nextBelow(20));
      delays.look(store);
      pending = pending.filter((one) => {
        const isSeen = one.batch <= store.safeBatch || store.isReadOnly;
        if (isSeen && store.failed.has(one.batch)) {
          expected.push(one.handle);
          return false;
        }
        return one.batch > store.safeBatch;
      });
      assertEquals(undelayed.length, expected.length);
      if (pending.length === 0) assertEquals(delays.count, 0);
    }
    assertEquals(undelayed, expected);
    store.safeBatch = 1000;
    delays.look(store);
    assertEquals(delays.count, 0);
  }
});

Deno.test("UnsafeDelays stays as large as what is not decided", () => {
  const store = new TestDecisions();
  const delays = new UnsafeDelays();
  const owner = { undelay(): void {} };
  for (let batch = 1; batch <= 10_000; batch++) {
    for (let index = 0; index < 7; index++) delays.add(batch, owner, batch, index);
    store.safeBatch = batch - 3;
    delays.look(store);
    assertEquals(delays.count, 7 * Math.min(3, batch));
  }
});
