// The scheduler against a sorted list, with callbacks that insert, cancel and clear while timers
// that were popped together still wait for theirs.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Scheduler } from "../../../src/schedule/scheduler.ts";

interface Timer {
  readonly payload: number;
  readonly group: number;
  readonly dueMs: number;
  readonly handle: number;
  /** Whether a callback of the running `runDue` has inserted it. */
  isLate: boolean;
}

/** What a callback or the outside does; numbers are reduced to what exists. */
interface Act {
  readonly kind: number;
  readonly offsetMs: number;
  readonly which: number;
}

const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.integer({ min: 0, max: 9 }),
  offsetMs: fc.oneof(fc.integer({ min: -20, max: 20 }), fc.integer({ min: -300, max: 70_000 })),
  which: fc.nat(),
});

/** A scheduler and the list of what it must still fire, in insertion order. */
class Checked {
  readonly scheduler = new Scheduler();
  readonly groups: number[] = [];
  pending: Timer[] = [];
  fired = 0;
  nowMs = 1_000;
  #payload = 0;
  #acts: Act[];

  constructor(acts: Act[]) {
    this.#acts = acts;
    for (let group = 0; group < 3; group++) {
      this.groups.push(this.scheduler.openGroup((payload, dueMs) => this.#onDue(payload, dueMs)));
    }
  }

  /**
   * The next due timer, the oldest among equals, is the one that fires. Only what callbacks have
   * inserted meanwhile may come later than it is due.
   */
  #onDue(payload: number, dueMs: number): void {
    const known = this.pending.filter((timer) => !timer.isLate || timer.payload === payload);
    const next = known.reduce((a, b) => (b.dueMs < a.dueMs ? b : a));
    assertEquals([payload, dueMs], [next.payload, next.dueMs]);
    assert(dueMs <= this.nowMs);
    this.pending.splice(this.pending.indexOf(next), 1);
    this.fired++;
    const inner = this.#acts.pop();
    if (inner !== undefined && this.fired % 3 === 0) this.act(inner, true);
    this.#compare();
  }

  act({ kind, offsetMs, which }: Act, isLate = false): void {
    const group = this.groups[which % this.groups.length]!;
    if (kind < 6) {
      const dueMs = Math.max(0, this.nowMs + offsetMs);
      const payload = this.#payload++;
      const handle = this.scheduler.insert(group, dueMs, payload);
      this.pending.push({ payload, group, dueMs, handle, isLate });
    } else if (kind < 9 && this.pending.length > 0) {
      const [gone] = this.pending.splice(which % this.pending.length, 1);
      assert(this.scheduler.cancel(gone!.handle));
      assertEquals(this.scheduler.cancel(gone!.handle), false);
    } else if (kind === 9 && which % 5 === 0) {
      this.scheduler.clearGroup(group);
      this.pending = this.pending.filter((timer) => timer.group !== group);
    }
  }

  runDue(max: number): void {
    const before = this.fired;
    for (const timer of this.pending) timer.isLate = false;
    const due = this.pending.filter((timer) => timer.dueMs <= this.nowMs).length;
    assertEquals(this.scheduler.runDue(this.nowMs, max), this.fired - before);
    if (due === 0) return;
    assert(this.fired - before > 0 || max === 0 || this.scheduler.nextDueMs() <= this.nowMs);
  }

  #compare(): void {
    assertEquals(this.scheduler.pendingCount, this.pending.length);
    const group = this.groups[this.fired % this.groups.length]!;
    const expected = this.pending.filter((timer) => timer.group === group);
    assertEquals(this.scheduler.groupCount(group), expected.length);
  }
}

Deno.test("Scheduler.runDue() fires as a sorted list would, whatever callbacks do", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(act, fc.integer({ min: 0, max: 40 })), { maxLength: 120, size: "max" }),
      fc.array(act, { maxLength: 60, size: "max" }),
      (outer, inner) => {
        const checked = new Checked(inner);
        for (const [one, max] of outer) {
          checked.act(one);
          if (one.which % 4 !== 0) continue;
          checked.nowMs += Math.max(0, one.offsetMs);
          checked.runDue(max);
        }
        // Callbacks go on inserting for later until there are no acts left for them.
        while (checked.pending.length > 0) {
          checked.nowMs += 100_000;
          checked.runDue(1_000);
        }
        assertEquals(checked.scheduler.nextDueMs(), Infinity);
      },
    ),
    { numRuns: 300 },
  );
});
