// What a durable node must remember, written as plainly as possible: rows by queue and position, and
// definitions by name. Ledger keeps one that follows the broker's entries, and compares others with
// what the store under test recovers.

import type { Recovered } from "../../../src/store/recovery/recovery.ts";
import type { DeathCause } from "../../../src/store/port.ts";

export const READY = 0;
export const OUT = 1;
export const DELAYED = 2;
/** On its way to the dead-letter exchange, by cause. */
export const DYING: Readonly<Record<DeathCause, number>> = {
  rejected: 3,
  expired: 4,
  maxlen: 5,
  delivery_limit: 6,
};

/** Whether a message in this state is on its way to the dead-letter exchange. */
export function isDying(state: number): boolean {
  return state > DELAYED;
}

/** A message in a queue. */
export interface Row {
  /** Names the message and the queue it was published to; see messages.ts. */
  readonly key: string;
  state: number;
  entry: number;
  dueMs: number;
  delayNumber: number;
  readonly flags: number;
  readonly priority: number;
  readonly bodyBytes: number;
  readonly arrivalMs: number;
  readonly expiryMs: number;
}

/** One change, as an entry of the broker says it. */
export type Change =
  | { kind: "enqueued"; queueId: number; position: number; row: Row }
  | {
    kind: "state";
    queueId: number;
    position: number;
    state: number;
    entry: number;
    dueMs: number;
    delayNumber: number;
  }
  | { kind: "returned"; queueId: number; position: number; newPosition: number }
  | { kind: "removed"; queueId: number; position: number }
  | { kind: "purged"; queueId: number }
  | { kind: "defined"; name: string; value: string; queueId: number }
  | { kind: "undefined"; name: string };

/** Everything that survives. */
export class State {
  readonly queues: Map<number, Map<number, Row>> = new Map();
  /** JSON by kind and key. */
  readonly definitions: Map<string, { value: string; queueId: number }> = new Map();
  queueIdMax = 0;

  clone(): State {
    const copy = new State();
    for (const [queueId, rows] of this.queues) {
      copy.queues.set(queueId, new Map([...rows].map(([at, row]) => [at, { ...row }])));
    }
    for (const [name, definition] of this.definitions) copy.definitions.set(name, definition);
    copy.queueIdMax = this.queueIdMax;
    return copy;
  }

  row(queueId: number, position: number): Row | undefined {
    return this.queues.get(queueId)?.get(position);
  }

  /** Every row with its place. */
  *rows(): Iterable<{ queueId: number; position: number; row: Row }> {
    for (const [queueId, rows] of this.queues) {
      for (const [position, row] of rows) yield { queueId, position, row };
    }
  }

  apply(change: Change): void {
    switch (change.kind) {
      case "defined":
        this.definitions.set(change.name, change);
        this.queueIdMax = Math.max(this.queueIdMax, change.queueId);
        if (change.name.startsWith("queue ")) this.queues.set(change.queueId, new Map());
        return;
      case "undefined":
        return this.#undefine(change.name);
      default:
        return this.#applyToQueue(change, this.queues.get(change.queueId)!);
    }
  }

  // Dead letters of a deleted queue that is said to have some stay.
  #undefine(name: string): void {
    const { queueId } = this.definitions.get(name) ?? { queueId: 0 };
    this.definitions.delete(name);
    if (queueId === 0) return;
    const isKept = [...this.definitions.values()].some((other) => other.queueId === queueId);
    if (!isKept) this.queues.delete(queueId);
    for (const [position, row] of this.queues.get(queueId) ?? []) {
      if (!isDying(row.state)) this.queues.get(queueId)!.delete(position);
    }
  }

  #applyToQueue(
    change: Exclude<Change, { kind: "defined" | "undefined" }>,
    rows: Map<number, Row>,
  ): void {
    switch (change.kind) {
      case "enqueued":
        rows.set(change.position, { ...change.row });
        return;
      case "state": {
        const { state, entry, dueMs, delayNumber } = change;
        Object.assign(rows.get(change.position)!, { state, entry, dueMs, delayNumber });
        return;
      }
      case "returned":
        rows.set(change.newPosition, {
          ...rows.get(change.position)!,
          state: READY,
          dueMs: 0,
          delayNumber: 0,
        });
        rows.delete(change.position);
        return;
      case "removed":
        rows.delete(change.position);
        return;
      case "purged":
        for (const [position, row] of rows) {
          if (row.state !== OUT && !isDying(row.state)) rows.delete(position);
        }
    }
  }
}

/** The messages of a folder, by queue and position, as read from its files. */
export type FoundRows = ReadonlyMap<number, ReadonlyMap<number, Row>>;

/** Says in what a folder differs from what must be in it; null when it does not. */
export function difference(state: State, recovered: Recovered, rows: FoundRows): string | null {
  return definitionDifference(state, recovered) ?? rowDifference(state, recovered, rows);
}

function definitionDifference(state: State, recovered: Recovered): string | null {
  const there = new Set<string>();
  for (const [kind, values] of Object.entries(recovered.definitions)) {
    for (const [key, value] of values) {
      const name = `${kind} ${key}`;
      there.add(name);
      const expected = state.definitions.get(name)?.value;
      if (expected === undefined) return `${name} should not be there`;
      if (JSON.stringify(value) !== expected) return `${name} is another one`;
    }
  }
  const missing = [...state.definitions.keys()].filter((name) => !there.has(name));
  if (missing.length > 0) return `missing: ${missing}`;
  if (recovered.queueIdMax < state.queueIdMax) return "a queue id may be used again";
  return null;
}

function rowDifference(state: State, recovered: Recovered, found: FoundRows): string | null {
  for (const [queueId, rows] of found) {
    const { lastPosition } = recovered.queues.get(queueId)!;
    for (const [position, row] of rows) {
      const at = `queue ${queueId} position ${position}`;
      const expected = state.row(queueId, position);
      if (expected === undefined) return `${at}: ${row.key} should not be there`;
      if (position > lastPosition) return `${at}: beyond the last position`;
      for (const column of COLUMNS) {
        const isOfDelays = column === "dueMs" || column === "delayNumber";
        if (isOfDelays && expected.state !== DELAYED) continue;
        if (row[column] === expected[column]) continue;
        return `${at} (${expected.key}): ${column} is ${row[column]} and not ${expected[column]}`;
      }
    }
  }
  for (const { queueId, position, row } of state.rows()) {
    if (found.get(queueId)?.has(position) === true) continue;
    return `queue ${queueId} position ${position}: ${row.key} is missing`;
  }
  return null;
}

const COLUMNS = [
  "key",
  "state",
  "entry",
  "dueMs",
  "delayNumber",
  "flags",
  "priority",
  "bodyBytes",
  "arrivalMs",
  "expiryMs",
] as const;
