// RequeuedHeap: what it says stands first is what sorting says.

import { assertEquals } from "@std/assert";
import { Prng } from "../../../../src/lib/prng.ts";
import { RequeuedHeap } from "../../../../src/store/memory/requeued_heap.ts";

Deno.test("RequeuedHeap.ordered() names the first few in order of position", () => {
  const prng = new Prng(3);
  for (const count of [0, 1, 2, 7, 100, 2000]) {
    const heap = new RequeuedHeap();
    const positions = Array.from({ length: count }, (_, index) => index * 3);
    for (let left = count; left > 0; left--) {
      const [position] = positions.splice(prng.nextBelow(left), 1);
      heap.push(position!, position! + 1, 0, Infinity);
    }
    for (const max of [0, 1, 5, 99, 600, 5000]) {
      const found = heap.ordered(max).map((index) => heap.positionAt(index));
      const wanted = Array.from({ length: Math.min(max, count) }, (_, index) => index * 3);
      assertEquals(found, wanted, `the first ${max} of ${count}`);
    }
  }
});

Deno.test("RequeuedHeap.expire() takes out all that has expired in pieces, however many there are", () => {
  for (const count of [500, 20_000]) {
    const heap = new RequeuedHeap();
    for (let position = 0; position < count; position++) {
      heap.push(position, position + 1, 0, position % 3 === 0 ? 50 : 10);
    }
    const seen = new Set<number>();
    const expected = count - Math.ceil(count / 3);
    while (seen.size < expected) {
      let last = -1;
      const expired = heap.expire(10, 4096, (index) => {
        assertEquals(heap.positionAt(index) > last, true);
        last = heap.positionAt(index);
        seen.add(last);
      });
      assertEquals(expired, Math.min(4096, expected - seen.size + expired));
    }
    assertEquals(heap.expire(10, 4096, () => {}), 0);
    assertEquals([heap.count, heap.expiryMinMs], [count - expected, 50]);
  }
});

Deno.test("RequeuedHeap.expire() keeps the order over all pieces, whatever the order of return", () => {
  const prng = new Prng(5);
  const count = 20_000;
  const positions = Array.from({ length: count }, (_, index) => index);
  const heap = new RequeuedHeap();
  for (let left = count; left > 0; left--) {
    const at = prng.nextBelow(left);
    heap.push(positions[at]!, positions[at]! + 1, 0, 10);
    positions[at] = positions[left - 1]!;
  }
  const seen: number[] = [];
  while (heap.expire(10, 3000, (index) => seen.push(heap.positionAt(index))) > 0);
  assertEquals(seen.every((position, index) => position === index), true);
  assertEquals([seen.length, heap.count, heap.expiryMinMs], [count, 0, Infinity]);
});

Deno.test("RequeuedHeap.expire() takes no more than it may, some from the front and some from behind", () => {
  const heap = new RequeuedHeap();
  // The first two have expired, the third has not, and each second one behind it has.
  for (let position = 0; position < 40; position++) {
    heap.push(position, position + 1, 0, position < 2 || position % 2 === 1 ? 10 : 50);
  }
  const seen: number[] = [];
  assertEquals(heap.expire(10, 5, (index) => seen.push(heap.positionAt(index))), 5);
  assertEquals([seen, heap.count], [[0, 1, 3, 5, 7], 35]);
});

/** What the heap must hold, as a sorted list. */
class SortedList {
  messages: { position: number; ref: number; entry: number; expiryMs: number }[] = [];
  expiryMinMs = Infinity;

  push(position: number, expiryMs: number): void {
    const message = { position, ref: position + 1, entry: position % 7, expiryMs };
    this.messages.push(message);
    this.messages.sort((a, b) => a.position - b.position);
    this.expiryMinMs = Math.min(this.expiryMinMs, expiryMs);
  }

  shift(): void {
    this.messages.shift();
    if (this.messages.length === 0) this.expiryMinMs = Infinity;
  }

  expire(nowMs: number, max: number): number[] {
    const due = this.messages.filter(({ expiryMs }) => expiryMs <= nowMs).slice(0, max);
    this.messages = this.messages.filter((message) => !due.includes(message));
    return due.map(({ position }) => position);
  }

  /** The messages of the heap. */
  static of(heap: RequeuedHeap): SortedList["messages"] {
    return heap.ordered().map((index) => ({
      position: heap.positionAt(index),
      ref: heap.refAt(index),
      entry: heap.entryAt(index),
      expiryMs: heap.expiryAt(index),
    }));
  }
}

Deno.test("RequeuedHeap does what a sorted list does, at every size around a growth", () => {
  const prng = new Prng(11);
  for (let round = 0; round < 200; round++) {
    const heap = new RequeuedHeap();
    const list = new SortedList();
    const positions = Array.from({ length: 70 }, (_, index) => index);
    for (let steps = 0; steps < 60; steps++) {
      const kind = prng.nextBelow(8);
      if (kind < 5 && positions.length > 0) {
        const [position] = positions.splice(prng.nextBelow(positions.length), 1);
        const expiryMs = kind === 0 ? Infinity : prng.nextBelow(100);
        heap.push(position!, position! + 1, position! % 7, expiryMs);
        list.push(position!, expiryMs);
      } else if (kind < 7 && list.messages.length > 0) {
        heap.shift();
        list.shift();
      } else {
        const nowMs = prng.nextBelow(60);
        const max = 1 + prng.nextBelow(4);
        const seen: number[] = [];
        const expired = heap.expire(nowMs, max, (index) => seen.push(heap.positionAt(index)));
        assertEquals(seen, list.expire(nowMs, max));
        assertEquals(expired, seen.length);
      }
      assertEquals(SortedList.of(heap), list.messages);
      const earliestMs = Math.min(Infinity, ...list.messages.map(({ expiryMs }) => expiryMs));
      assertEquals(heap.expiryMinMs <= earliestMs, true);
      if (heap.count === 0) assertEquals(heap.expiryMinMs, Infinity);
    }
  }
});

Deno.test("RequeuedHeap doubles when it is full, and is small again when it is empty", () => {
  const heap = new RequeuedHeap();
  const sizes = new Map<number, number>();
  for (let count = 1; count <= 33; count++) {
    heap.push(count, count, 0, Infinity);
    sizes.set(count, heap.memoryBytes);
  }
  assertEquals([1, 16, 17, 32, 33].map((count) => sizes.get(count)! / 24), [16, 16, 32, 32, 64]);
  while (heap.count > 1) heap.shift();
  assertEquals([heap.positionAt(0), heap.memoryBytes], [33, 64 * 24]);
  heap.shift();
  assertEquals([heap.count, heap.memoryBytes], [0, 16 * 24]);
  for (let count = 1; count <= 3; count++) heap.push(count, count + 10, 0, Infinity);
  const taken = [heap.takeLast(), heap.takeLast(), heap.takeLast()];
  assertEquals([taken.sort(), heap.count], [[11, 12, 13], 0]);
});
