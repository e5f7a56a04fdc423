// Broker time and the clocks and timer port around it.

import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { BrokerTime } from "../../../src/schedule/broker_time.ts";
import { hostDelayMs } from "../../../src/schedule/host_timer.ts";
import { VirtualClock } from "../../../src/schedule/virtual_clock.ts";

const bootMs = 1_790_000_000_000;

Deno.test("BrokerTime.nowMs() runs with the monotonic clock when the wall clock agrees", () => {
  const clock = new VirtualClock(bootMs);
  const time = new BrokerTime(clock);
  assertEquals(time.nowMs(), bootMs);
  clock.advance(12_345);
  assertEquals(time.nowMs(), bootMs + 12_345);
});

Deno.test("BrokerTime starts no earlier than the last persisted broker time", () => {
  const time = new BrokerTime(new VirtualClock(bootMs), bootMs + 60_000);
  assertEquals(time.nowMs(), bootMs + 60_000);
});

Deno.test("BrokerTime.nowMs() follows a wall clock set forward by 1 ms per second", () => {
  const clock = new VirtualClock(bootMs);
  const time = new BrokerTime(clock);
  clock.setWall(bootMs + 3_600_000);
  assertEquals(time.nowMs(), bootMs);
  clock.advance(1_000);
  assertAlmostEquals(time.nowMs(), bootMs + 1_001, 1e-3);
  clock.advance(1_000_000);
  assertAlmostEquals(time.nowMs(), bootMs + 1_001_000 + 1_001, 1e-3);
});

Deno.test("BrokerTime.nowMs() never goes back when the wall clock does", () => {
  const clock = new VirtualClock(bootMs);
  const time = new BrokerTime(clock);
  clock.setWall(bootMs - 3_600_000);
  let lastMs = time.nowMs();
  for (let step = 0; step < 1_000; step++) {
    clock.advance(0.25);
    const nowMs = time.nowMs();
    assert(nowMs >= lastMs);
    lastMs = nowMs;
  }
  assertAlmostEquals(lastMs, bootMs + 250 * 0.999, 1e-3);
});

Deno.test("BrokerTime.nowMs() settles on the wall clock and stays", () => {
  const clock = new VirtualClock(bootMs);
  const time = new BrokerTime(clock);
  clock.setWall(bootMs + 5);
  for (let second = 0; second < 10; second++) {
    clock.advance(1_000);
    time.nowMs();
  }
  assertAlmostEquals(time.nowMs(), clock.wallMs(), 1e-3);
});

Deno.test("hostDelayMs() rounds up, never below 0 or above 2^31 - 1", () => {
  assertEquals(hostDelayMs(10, 9.5), 1);
  assertEquals(hostDelayMs(10, 20), 0);
  assertEquals(hostDelayMs(Infinity, 0), 2 ** 31 - 1);
  assertEquals(hostDelayMs(1e15, 0), 2 ** 31 - 1);
});

Deno.test("VirtualClock.advance() refuses to run backward", () => {
  assertThrows(() => new VirtualClock().advance(-1), RangeError);
});
