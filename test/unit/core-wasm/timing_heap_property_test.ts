// The core against the plain reference heap, over random operations on the whole range of due
// times, with time that creeps, jumps and goes back.

import fc from "fast-check";
import { type Step, TwinHeaps } from "./twin_heaps.ts";

const groupCount = 4;
const timeMax = Number.MAX_SAFE_INTEGER;

/** Distances of all magnitudes alike: a uniform draw would nearly always be near 2^53. */
const distanceMs = fc.tuple(
  fc.integer({ min: 0, max: 52 }),
  fc.double({ min: 0, max: 1, noNaN: true }),
)
  .map(([exponent, share]) => Math.floor(share * 2 ** exponent));

interface Draw {
  readonly kind: number;
  readonly distanceMs: number;
  readonly small: number;
  readonly large: number;
}

const draw: fc.Arbitrary<Draw> = fc.record({
  kind: fc.integer({ min: 0, max: 99 }),
  distanceMs,
  small: fc.integer({ min: 0, max: 70 }),
  large: fc.nat(),
});

/** Turns draws into steps around a moving `nowMs`; `shortMs` keeps distances in a narrow range. */
function steps(draws: readonly Draw[], shortMs: number): Step[] {
  let nowMs = 0;
  return draws.map((one): Step => {
    const distance = shortMs === 0 ? one.distanceMs : one.distanceMs % shortMs;
    const group = one.large;
    if (one.kind < 50) return { do: "insert", group, dueMs: Math.min(timeMax, nowMs + distance) };
    if (one.kind < 55) return { do: "insert", group, dueMs: Math.max(0, nowMs - distance) };
    if (one.kind < 70) return { do: "cancel", which: one.large };
    if (one.kind < 85) {
      nowMs = Math.min(timeMax, nowMs + distance);
      return { do: "pop", nowMs, max: one.small };
    }
    if (one.kind < 90) return { do: "pop", nowMs: Math.max(0, nowMs - distance), max: one.small };
    if (one.kind < 92) return { do: "clear", group };
    if (one.kind < 94) return { do: "reopen", group };
    return { do: "list", group, offset: one.small % 7, limit: one.small };
  });
}

function holds(shortMs: number, runs: number, length: number): void {
  fc.assert(
    fc.property(fc.array(draw, { maxLength: length, size: "max" }), (draws) => {
      const twins = new TwinHeaps(groupCount);
      for (const step of steps(draws, shortMs)) {
        twins.take(step);
        if (step.do !== "insert") twins.compareTotals();
      }
      twins.compareTotals();
      twins.drain();
    }),
    { numRuns: runs },
  );
}

Deno.test("TimingHeap agrees with the reference heap over all magnitudes of time", () => {
  holds(0, 500, 300);
});

Deno.test("TimingHeap agrees with the reference heap when many due times are equal", () => {
  holds(5, 300, 300);
});

Deno.test("TimingHeap agrees with the reference heap around bucket borders", () => {
  holds(70_000, 500, 300);
});
