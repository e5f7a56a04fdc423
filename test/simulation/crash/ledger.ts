// The ledger: what every batch of the broker says, batch by batch. After a crash the store must come
// back with the state after one of them, whole: not before the last batch that it called safe, and
// after the death of a process alone not before the last one it had written. Knows no files.

import type { Recovered } from "../../../src/store/recovery/recovery.ts";
import { type Change, difference, type FoundRows, State } from "./state.ts";

/** What the ledger asks of a store. */
export interface Decisions {
  readonly safeBatch: number;
  isFailed(batch: number): boolean;
}

interface Batch {
  readonly number: number;
  readonly changes: readonly Change[];
  /** The commit came back. */
  isClosed: boolean;
}

/** How a node ended. */
export type Death = "process" | "power";

/** Something that must not be. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/** Follows one node through its lives. */
export class Ledger {
  /** The state as the broker has it in memory. */
  live: State = new State();
  /** Certainly on disk. */
  #base: State = new State();
  #baseBatch = 0;
  /** Batches behind the base, oldest first. */
  #pending: Batch[] = [];
  /** How many of them a restart must find. */
  #floor = 0;
  #open: Change[] = [];

  /** A change goes into the open batch. */
  enter(change: Change): void {
    this.live.apply(change);
    this.#open.push(change);
  }

  /** Changes entered since the last batch was closed. */
  get openChanges(): readonly Change[] {
    return this.#open;
  }

  /** The commit of the open batch begins. */
  closing(number: number): void {
    // What came and went in one batch need not be written: that it is safe says nothing of those before.
    if (this.#open.length > 0 && !isMoot(this.#open)) {
      this.#pending.push({ number, changes: this.#open, isClosed: false });
    }
    this.#open = [];
  }

  /** It came back. */
  closed(): void {
    const last = this.#pending.at(-1);
    if (last !== undefined) last.isClosed = true;
  }

  /** What the store says is safe joins the base. */
  settle(store: Decisions): void {
    const count = 1 +
      this.#pending.findLastIndex(({ number, isClosed }) =>
        isClosed && number <= store.safeBatch && !store.isFailed(number)
      );
    for (const batch of this.#pending.splice(0, count)) {
      for (const change of batch.changes) this.#base.apply(change);
      this.#baseBatch = batch.number;
    }
  }

  /** The node has died; `store` is what it had, null when it died while it was starting. */
  died(death: Death, store: Decisions | null): void {
    this.#open = [];
    if (death === "power") {
      this.#floor = 0;
    } else if (store !== null) {
      this.#floor = 1 +
        this.#pending.findLastIndex(({ number, isClosed }) => isClosed && !store.isFailed(number));
    }
  }

  /**
   * Checks what the next life has found and goes on from there. Returns the last batch that is true.
   * @throws Violation when it is not a state that the node had
   */
  recovered(recovered: Recovered, rows: FoundRows): number {
    const found = this.match(recovered, rows);
    this.#base = found.state;
    this.#baseBatch = recovered.lastBatch;
    this.#pending = [];
    this.#floor = 0;
    this.live = this.#base.clone();
    return found.number;
  }

  /** The state that was found, and the last batch of those that lead to it. @throws Violation */
  match(recovered: Recovered, rows: FoundRows): { state: State; number: number } {
    const state = this.#base.clone();
    let number = this.#baseBatch;
    const reasons: string[] = [];
    let found: { state: State; number: number } | null = null;
    for (let index = 0; index <= this.#pending.length; index++) {
      const isEnough = index >= this.#floor;
      const reason = isEnough ? difference(state, recovered, rows) : "too old";
      if (reason === null && (found === null || number <= recovered.lastBatch)) {
        found = { state: state.clone(), number };
      } else reasons.push(`  after batch ${number}: ${reason}`);
      const next = this.#pending[index];
      if (next === undefined) break;
      for (const change of next.changes) state.apply(change);
      number = next.number;
    }
    if (found !== null) return found;
    const last = recovered.lastBatch;
    throw new Violation(`no state is the one found (last batch ${last}):\n${reasons.join("\n")}`);
  }
}

// Whether messages came and went, and nothing else happened.
function isMoot(changes: readonly Change[]): boolean {
  const held = new Set<string>();
  for (const change of changes) {
    if (change.kind !== "enqueued" && change.kind !== "removed") return false;
    const place = `${change.queueId}/${change.position}`;
    if (change.kind === "enqueued") held.add(place);
    else if (!held.delete(place)) return false;
  }
  return held.size === 0;
}
