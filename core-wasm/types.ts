// What a timing structure is to its users: the contract that the core's bindings and the reference
// model both keep, so that either can stand in for the other in a test.

/** Why a timing structure refused; the numbers are the failure codes of the core's ABI. */
export const failure = {
  outOfMemory: -1,
  unknownGroup: -2,
  badDueTime: -3,
  staleHandle: -4,
  limitReached: -5,
  badArgument: -6,
  changed: -7,
  scanNeeded: -8,
} as const;

/** A refusal by a timing structure, which is as it was before the call. */
export class TimingHeapError extends Error {
  /** One of {@linkcode failure}. */
  readonly code: number;

  constructor(code: number) {
    const name = Object.entries(failure).find(([, value]) => value === code)?.[0] ??
      "unknown";
    super(`timing heap: ${name} (${code})`);
    this.name = "TimingHeapError";
    this.code = code;
  }
}

/** Open groups have distinct indexes, reused after a close: an index into the owner's own tables. */
export function groupIndexOf(group: number): number {
  return group & 0x3_ffff;
}

/** Timers taken out by one `popDue`, in due order; arrays that are filled again and again. */
export class DueBatch {
  readonly capacity: number;
  /** How many leading places of the arrays are filled. */
  count = 0;
  readonly payloads: Uint32Array;
  readonly groups: Uint32Array;
  readonly dueMs: Float64Array;
  readonly handles: Float64Array;

  constructor(capacity = 256) {
    this.capacity = capacity;
    this.payloads = new Uint32Array(capacity);
    this.groups = new Uint32Array(capacity);
    this.dueMs = new Float64Array(capacity);
    this.handles = new Float64Array(capacity);
  }
}

/** One pending timer, as a listing shows it. */
export interface TimerEntry {
  readonly group: number;
  readonly payload: number;
  readonly dueMs: number;
  readonly handle: number;
}

/**
 * Timers of several groups ordered together by due time, equal ones by insertion. It has no clock:
 * `popDue` is told the time.
 */
export interface TimingStructure {
  /** Pending timers of all groups. */
  readonly count: number;
  openGroup(): number;
  /** Cancels what the group holds; the id is refused from then on. */
  closeGroup(group: number): void;
  /** Cancels what the group holds and says how many that were. */
  clearGroup(group: number): number;
  groupCount(group: number): number;
  /** Returns a handle greater than 0; a fraction of a millisecond is rounded up. */
  insert(group: number, dueMs: number, payload: number): number;
  /** {@linkcode insert} that answers with a failure code instead of throwing. */
  tryInsert(group: number, dueMs: number, payload: number): number;
  /** The payload, or a failure code when the handle's timer fired, was cancelled or never was. */
  cancel(handle: number): number;
  /**
   * Takes timers due at or before `nowMs` into `batch`, at most `max` and at most its capacity.
   * May take fewer than are due: while `nextDueMs() <= nowMs`, another call brings more.
   */
  popDue(nowMs: number, batch: DueBatch, max?: number): number;
  /** No timer is due before this; Infinity when there is none. */
  nextDueMs(): number;
  /** Timers of one group (or of all, 0) by due time, from the `offset`-th on. */
  list(group: number, offset: number, limit: number): TimerEntry[];
  /** Infinity when the group is empty. */
  firstDueMs(group: number): number;
  /** -Infinity when the group is empty. */
  lastDueMs(group: number): number;
}
