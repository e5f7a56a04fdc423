// RequeuedHeap: what it says stands first is what sorting says.

import { assertEquals } from "@std/assert";
import { Prng } from "../../../src/lib/prng.ts";
import { RequeuedHeap } from "../../../src/store/requeued_heap.ts";

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
