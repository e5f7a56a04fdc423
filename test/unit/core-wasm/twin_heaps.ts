// The core and the plain reference heap driven side by side: every operation goes to both and the
// answers must agree. Used by the property tests and the long random runs.

import { assert, assertEquals } from "@std/assert";
import { DueBatch, failure, ReferenceHeap, TimingHeap } from "../../../core-wasm/mod.ts";
import type { TimingHeapOptions } from "../../../core-wasm/mod.ts";

/** One step of a random run; numbers are reduced to what exists when it is taken. */
export type Step =
  | { do: "insert"; group: number; dueMs: number }
  | { do: "cancel"; which: number }
  | { do: "pop"; nowMs: number; max: number }
  | { do: "clear"; group: number }
  | { do: "reopen"; group: number }
  | { do: "list"; group: number; offset: number; limit: number };

/** Both heaps with the same groups and timers. */
export class TwinHeaps {
  readonly core: TimingHeap;
  readonly model = new ReferenceHeap();
  readonly #coreBatch = new DueBatch(64);
  readonly #modelBatch = new DueBatch(64);
  readonly #coreGroups: number[] = [];
  readonly #modelGroups: number[] = [];
  readonly #coreHandles: number[] = [];
  /** Insertions that the core refused for want of memory; the model was spared them. */
  refusals = 0;
  readonly #modelHandles: number[] = [];

  constructor(groupCount: number, options: TimingHeapOptions = {}) {
    this.core = new TimingHeap(options);
    for (let group = 0; group < groupCount; group++) {
      this.#coreGroups.push(this.core.openGroup());
      this.#modelGroups.push(this.model.openGroup());
    }
  }

  take(step: Step): void {
    switch (step.do) {
      case "insert":
        return this.insert(step.group, step.dueMs);
      case "cancel":
        return this.cancel(step.which);
      case "pop":
        return this.pop(step.nowMs, step.max);
      case "clear":
        return this.clear(step.group);
      case "reopen":
        return this.reopen(step.group);
      case "list":
        return this.list(step.group, step.offset, step.limit);
    }
  }

  /** The payload is the number of the insertion, so that any mix-up shows. */
  insert(group: number, dueMs: number): void {
    const payload = this.#coreHandles.length;
    const at = group % this.#coreGroups.length;
    const handle = this.core.tryInsert(this.#coreGroups[at]!, dueMs, payload);
    if (handle === failure.outOfMemory) {
      this.refusals++;
      return;
    }
    assert(handle > 0);
    this.#coreHandles.push(handle);
    this.#modelHandles.push(this.model.insert(this.#modelGroups[at]!, dueMs, payload));
  }

  /** How many timers were ever inserted. */
  get insertions(): number {
    return this.#coreHandles.length;
  }

  /** Any handle ever given, so that most are stale in a long run. */
  cancel(which: number): void {
    if (this.#coreHandles.length === 0) return;
    const at = which % this.#coreHandles.length;
    assertEquals(
      this.core.cancel(this.#coreHandles[at]!),
      this.model.cancel(this.#modelHandles[at]!),
    );
  }

  clear(group: number): void {
    const at = group % this.#coreGroups.length;
    assertEquals(
      this.core.clearGroup(this.#coreGroups[at]!),
      this.model.clearGroup(this.#modelGroups[at]!),
    );
  }

  reopen(group: number): void {
    const at = group % this.#coreGroups.length;
    this.core.closeGroup(this.#coreGroups[at]!);
    this.model.closeGroup(this.#modelGroups[at]!);
    this.#coreGroups[at] = this.core.openGroup();
    this.#modelGroups[at] = this.model.openGroup();
  }

  /** The core may need several calls for what the model gives in one. */
  pop(nowMs: number, max: number): void {
    let wanted = Math.min(max, this.#modelBatch.capacity);
    this.model.popDue(nowMs, this.#modelBatch, wanted);
    let at = 0;
    while (wanted > 0) {
      const count = this.core.popDue(nowMs, this.#coreBatch, wanted);
      this.#compareBatch(at);
      at += count;
      wanted -= count;
      if (count === 0 && this.core.nextDueMs() > nowMs) break;
    }
    assertEquals(at, this.#modelBatch.count);
    assert(this.core.nextDueMs() <= this.model.nextDueMs());
  }

  #compareBatch(from: number): void {
    const core = this.#coreBatch;
    const model = this.#modelBatch;
    for (let index = 0; index < core.count; index++) {
      const at = from + index;
      assert(at < model.count, "the core fired more than is due");
      const payload = core.payloads[index]!;
      assertEquals(payload, model.payloads[at]!);
      assertEquals(core.dueMs[index]!, model.dueMs[at]!);
      assertEquals(core.handles[index]!, this.#coreHandles[payload]!);
      assertEquals(
        this.#coreGroups.indexOf(core.groups[index]!),
        this.#modelGroups.indexOf(model.groups[at]!),
      );
    }
  }

  list(group: number, offset: number, limit: number): void {
    const at = group % this.#coreGroups.length;
    const expected = this.model.list(this.#modelGroups[at]!, offset, limit);
    assertEquals(
      this.core.list(this.#coreGroups[at]!, offset, limit).map((timer) => [
        timer.payload,
        timer.dueMs,
      ]),
      expected.map((timer) => [timer.payload, timer.dueMs]),
    );
  }

  /** Counts, and the first and last due time of every group. */
  compareTotals(): void {
    assertEquals(this.core.count, this.model.count);
    for (let at = 0; at < this.#coreGroups.length; at++) {
      const group = this.#coreGroups[at]!;
      const modelGroup = this.#modelGroups[at]!;
      assertEquals(this.core.groupCount(group), this.model.groupCount(modelGroup));
      assertEquals(this.core.firstDueMs(group), this.model.firstDueMs(modelGroup));
      assertEquals(this.core.lastDueMs(group), this.model.lastDueMs(modelGroup));
    }
  }

  /** Empties both, in order. */
  drain(): void {
    while (this.model.count > 0) this.pop(Number.MAX_SAFE_INTEGER, 64);
    assertEquals(this.core.count, 0);
    assertEquals(this.core.nextDueMs(), Infinity);
  }
}
