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
