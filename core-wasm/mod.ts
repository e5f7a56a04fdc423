// The door of the package: retry delays and timing heaps for Deno, Bun, Node and browsers. It
// imports nothing outside this folder.

export { backoff } from "./backoff.ts";
export type { Backoff } from "./backoff.ts";
export { ReferenceHeap } from "./reference_heap.ts";
export { DueBatch, failure, groupIndexOf, TimingHeapError } from "./types.ts";
export type { TimerEntry, TimingStructure } from "./types.ts";
export { TimingHeap } from "./timing_heap.ts";
export type { TimingHeapOptions } from "./timing_heap.ts";
