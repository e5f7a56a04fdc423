// Time that is moved by hand.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { VirtualLoop } from "../../../src/runtime/virtual_loop.ts";
import { VirtualClock } from "../../../src/schedule/virtual_clock.ts";

Deno.test("advance() stops at every due time on the way and ends at the target", async () => {
  const clock = new VirtualClock(1000);
  const loop = new VirtualLoop(clock);
  const firedAt: number[] = [];
  const fire = () => {
    firedAt.push(clock.wallMs());
    if (firedAt.length < 4) loop.arm(10, fire);
  };
  loop.arm(5, fire);
  await loop.advance(4);
  assertEquals(firedAt, []);
  await loop.advance(21);
  assertEquals(firedAt, [1005, 1015, 1025]);
  assertEquals(clock.wallMs(), 1025);
  await loop.advance(100);
  assertEquals(firedAt.length, 4);
  assertEquals(clock.wallMs(), 1125);
});

Deno.test("advance() lets work that was put off be done at its own time", async () => {
  const clock = new VirtualClock(0);
  const loop = new VirtualLoop(clock);
  const doneAt: number[] = [];
  loop.arm(10, () => {
    loop.soon(() => {
      doneAt.push(clock.wallMs());
      loop.soon(() => doneAt.push(clock.wallMs()));
    });
    loop.arm(10, () => doneAt.push(clock.wallMs()));
  });
  await loop.advance(50);
  assertEquals(doneAt, [10, 10, 20]);
});

Deno.test("advance() calls wait for each other", async () => {
  const clock = new VirtualClock(0);
  const loop = new VirtualLoop(clock);
  const order: string[] = [];
  loop.arm(10, () => {
    loop.soon(() => order.push("soon"));
    loop.arm(1, () => order.push("second"));
  });
  await Promise.all([loop.advance(10), loop.advance(10)]);
  assertEquals(order, ["soon", "second"]);
  assertEquals(clock.wallMs(), 20);
  loop.disarm();
});

Deno.test("arm() replaces what was armed and disarm() forgets it", async () => {
  const loop = new VirtualLoop(new VirtualClock(0));
  const fired: string[] = [];
  loop.arm(5, () => fired.push("a"));
  loop.arm(7, () => fired.push("b"));
  await loop.advance(10);
  loop.arm(5, () => fired.push("c"));
  loop.disarm();
  await loop.advance(10);
  assertEquals(fired, ["b"]);
});

Deno.test("advance() refuses to go back", async () => {
  const loop = new VirtualLoop(new VirtualClock(0));
  assertThrows(() => loop.advance(-1), RangeError);
  assertThrows(() => loop.advance(NaN), RangeError);
  loop.arm(1, () => {
    throw new Error("broken");
  });
  await assertRejects(() => loop.advance(1), Error, "broken");
});
