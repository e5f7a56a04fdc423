// The plain timing heap: one binary heap of objects ordered by (due, sequence), cancelled entries
// skipped when they surface. Slow and obvious, it is the model that tests hold the core against;
// nothing at run time uses it.

import {
  type DueBatch,
  failure,
  type TimerEntry,
  TimingHeapError,
  type TimingStructure,
} from "./types.ts";

const integerMax = Number.MAX_SAFE_INTEGER;

interface Timer {
  readonly group: number;
  readonly payload: number;
  readonly dueMs: number;
  readonly handle: number;
  live: boolean;
}

function before(a: Timer, b: Timer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.handle < b.handle);
}

/** Same contract as `TimingHeap`, in JavaScript objects; handles are the insertion sequence. */
export class ReferenceHeap implements TimingStructure {
  #heap: Timer[] = [];
  #byHandle = new Map<number, Timer>();
  #groupCounts = new Map<number, number>();
  #lastHandle = 0;
  #lastGroup = 0;

  constructor(_options: object = {}) {}

  get count(): number {
    return this.#byHandle.size;
  }

  openGroup(): number {
    this.#groupCounts.set(++this.#lastGroup, 0);
    return this.#lastGroup;
  }

  closeGroup(group: number): void {
    this.clearGroup(group);
    this.#groupCounts.delete(group);
  }

  clearGroup(group: number): number {
    const count = this.groupCount(group);
    for (const timer of this.#heap) {
      if (timer.group === group && timer.live) this.#take(timer);
    }
    return count;
  }

  groupCount(group: number): number {
    const count = this.#groupCounts.get(group);
    if (count === undefined) throw new TimingHeapError(failure.unknownGroup);
    return count;
  }

  insert(group: number, dueMs: number, payload: number): number {
    const handle = this.tryInsert(group, dueMs, payload);
    if (handle < 0) throw new TimingHeapError(handle);
    return handle;
  }

  tryInsert(group: number, dueMs: number, payload: number): number {
    const count = this.#groupCounts.get(group);
    if (count === undefined) return failure.unknownGroup;
    const whole = Math.ceil(dueMs);
    if (!(whole >= 0 && whole <= integerMax)) return failure.badDueTime;
    const handle = ++this.#lastHandle;
    const timer: Timer = {
      group,
      payload: payload >>> 0,
      dueMs: whole + 0,
      handle,
      live: true,
    };
    this.#byHandle.set(handle, timer);
    this.#groupCounts.set(group, count + 1);
    this.#push(timer);
    return handle;
  }

  cancel(handle: number): number {
    const timer = this.#byHandle.get(handle);
    if (timer === undefined) return failure.staleHandle;
    this.#take(timer);
    return timer.payload;
  }

  popDue(nowMs: number, batch: DueBatch, max: number = batch.capacity): number {
    if (Number.isNaN(nowMs)) throw new TimingHeapError(failure.badArgument);
    batch.count = 0;
    while (batch.count < max && batch.count < batch.capacity) {
      const timer = this.#first();
      if (timer === undefined || timer.dueMs > nowMs) break;
      this.#take(timer);
      const index = batch.count++;
      batch.payloads[index] = timer.payload;
      batch.groups[index] = timer.group;
      batch.dueMs[index] = timer.dueMs;
      batch.handles[index] = timer.handle;
    }
    return batch.count;
  }

  nextDueMs(): number {
    return this.#first()?.dueMs ?? Infinity;
  }

  list(group: number, offset: number, limit: number): TimerEntry[] {
    return this.#sorted(group).slice(offset, offset + limit).map((timer) => ({
      group: timer.group,
      payload: timer.payload,
      dueMs: timer.dueMs,
      handle: timer.handle,
    }));
  }

  firstDueMs(group: number): number {
    return this.#sorted(group)[0]?.dueMs ?? Infinity;
  }

  lastDueMs(group: number): number {
    return this.#sorted(group).at(-1)?.dueMs ?? -Infinity;
  }

  #sorted(group: number): Timer[] {
    if (group !== 0) this.groupCount(group);
    return [...this.#byHandle.values()]
      .filter((timer) => group === 0 || timer.group === group)
      .sort((a, b) => (before(a, b) ? -1 : 1));
  }

  #take(timer: Timer): void {
    timer.live = false;
    this.#byHandle.delete(timer.handle);
    this.#groupCounts.set(timer.group, this.groupCount(timer.group) - 1);
  }

  #first(): Timer | undefined {
    while (this.#heap.length > 0 && !this.#heap[0]!.live) this.#removeFirst();
    return this.#heap[0];
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let hole = heap.length;
    heap.push(timer);
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (!before(timer, heap[parent]!)) break;
      heap[hole] = heap[parent]!;
      hole = parent;
    }
    heap[hole] = timer;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let hole = 0;
    while (true) {
      let child = 2 * hole + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) {
        child++;
      }
      if (!before(heap[child]!, last)) break;
      heap[hole] = heap[child]!;
      hole = child;
    }
    heap[hole] = last;
  }
}
