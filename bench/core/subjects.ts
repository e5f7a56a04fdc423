// What is compared: the core and the priority queues that a JavaScript user would take instead, each
// used as its documentation shows. None of the others cancels by handle, keeps insertion order among
// equals or pops a batch; they are given the least they need to hold and return timers.

import { PriorityQueue } from "@datastructures-js/priority-queue";
import FlatQueue from "flatqueue";
import { Heap } from "heap-js";
import TinyQueue from "tinyqueue";
import { DueBatch, TimingHeap } from "../../core-wasm/mod.ts";

/** A structure under test. */
export interface Subject {
  /** The handle to cancel it by, 0 where there are no handles. */
  insert(dueMs: number, payload: number): number;
  /** Takes up to `max` timers due by `nowMs`, payloads into `into`; says how many. */
  popDue(nowMs: number, max: number, into: Uint32Array): number;
  nextDueMs(): number;
  /** Absent where there are no handles. */
  cancel?(handle: number): void;
  /** Bytes in use and bytes held, as far as the structure knows itself; else 0. */
  liveBytes(): number;
  memoryBytes(): number;
}

export type SubjectName =
  | "core"
  | "flatqueue"
  | "flatqueue-fixed"
  | "tinyqueue"
  | "heap-js"
  | "datastructures-js";

export const subjectNames: readonly SubjectName[] = [
  "core",
  "flatqueue",
  "flatqueue-fixed",
  "tinyqueue",
  "heap-js",
  "datastructures-js",
];

function core(): Subject {
  const heap = new TimingHeap();
  const group = heap.openGroup();
  const batch = new DueBatch(512);
  return {
    insert: (dueMs, payload) => heap.insert(group, dueMs, payload),
    cancel: (handle) => void heap.cancel(handle),
    popDue(nowMs, max, into) {
      const count = heap.popDue(nowMs, batch, max);
      for (let index = 0; index < count; index++) {
        into[index] = batch.payloads[index]!;
      }
      return count;
    },
    nextDueMs: () => heap.nextDueMs(),
    liveBytes: () => heap.liveMemoryBytes,
    memoryBytes: () => heap.memoryBytes,
  };
}

/** `capacity` chooses its storage in typed arrays of fixed size. */
function flatQueue(capacity?: number): Subject {
  const queue = capacity === undefined ? new FlatQueue<number>() : new FlatQueue<number>(capacity);
  return {
    insert(dueMs, payload) {
      queue.push(payload, dueMs);
      return 0;
    },
    popDue(nowMs, max, into) {
      let count = 0;
      while (count < max && queue.length > 0 && queue.peekValue()! <= nowMs) {
        into[count++] = queue.pop()!;
      }
      return count;
    },
    nextDueMs: () => queue.peekValue() ?? Infinity,
    liveBytes: () => (capacity === undefined ? 0 : capacity * 12),
    memoryBytes: () => (capacity === undefined ? 0 : capacity * 12),
  };
}

interface Timer {
  readonly dueMs: number;
  readonly payload: number;
}

function tinyQueue(): Subject {
  const queue = new TinyQueue<Timer>([], (a, b) => a.dueMs - b.dueMs);
  return {
    insert(dueMs, payload) {
      queue.push({ dueMs, payload });
      return 0;
    },
    popDue(nowMs, max, into) {
      let count = 0;
      while (count < max && queue.length > 0 && queue.peek()!.dueMs <= nowMs) {
        into[count++] = queue.pop()!.payload;
      }
      return count;
    },
    nextDueMs: () => queue.peek()?.dueMs ?? Infinity,
    liveBytes: () => 0,
    memoryBytes: () => 0,
  };
}

function heapJs(): Subject {
  const heap = new Heap<Timer>((a, b) => a.dueMs - b.dueMs);
  return {
    insert(dueMs, payload) {
      heap.push({ dueMs, payload });
      return 0;
    },
    popDue(nowMs, max, into) {
      let count = 0;
      while (count < max && heap.length > 0 && heap.peek()!.dueMs <= nowMs) {
        into[count++] = heap.pop()!.payload;
      }
      return count;
    },
    nextDueMs: () => heap.peek()?.dueMs ?? Infinity,
    liveBytes: () => 0,
    memoryBytes: () => 0,
  };
}

function dataStructuresJs(): Subject {
  const queue = new PriorityQueue<Timer>((a, b) => a.dueMs - b.dueMs);
  return {
    insert(dueMs, payload) {
      queue.enqueue({ dueMs, payload });
      return 0;
    },
    popDue(nowMs, max, into) {
      let count = 0;
      while (count < max && !queue.isEmpty() && queue.front()!.dueMs <= nowMs) {
        into[count++] = queue.dequeue()!.payload;
      }
      return count;
    },
    nextDueMs: () => queue.front()?.dueMs ?? Infinity,
    liveBytes: () => 0,
    memoryBytes: () => 0,
  };
}

/** A fresh, empty structure that will hold at most `capacity` timers. */
export function subjectOf(name: SubjectName, capacity: number): Subject {
  switch (name) {
    case "core":
      return core();
    case "flatqueue":
      return flatQueue();
    case "flatqueue-fixed":
      return flatQueue(capacity);
    case "tinyqueue":
      return tinyQueue();
    case "heap-js":
      return heapJs();
    case "datastructures-js":
      return dataStructuresJs();
  }
}
