// The messages of a retry queue that was purged: rows of the node's table that no queue uses any more
// and whose records must still be released. RetryQueue makes one; the store releases the records piece
// by piece, so that millions of delayed messages do not make one long turn.

import type { TakenMessages } from "../../store/port.ts";
import type { DelayedTable } from "./delayed_table.ts";

// Rows looked at per message to release: looking at a row of another owner costs little.
const LOOKS_PER_MESSAGE = 8;

/** The former messages of a retry queue. */
export class TakenDelays implements TakenMessages {
  readonly messageCount: number;
  readonly #table: DelayedTable;
  readonly #owner: number;
  readonly #end: number;
  #left: number;
  #next = 0;

  /**
   * Takes all rows of `owner`, which adds no more. Messages in pages have no row and are only counted.
   */
  constructor(
    table: DelayedTable,
    owner: number,
    { count, pagedCount }: { count: number; pagedCount: number },
  ) {
    const heldCount = count - pagedCount;
    this.#table = table;
    this.#owner = owner;
    this.#end = heldCount === 0 ? 0 : table.rowEnd;
    this.#left = heldCount;
    this.messageCount = count;
  }

  releaseSome(max: number, release: (ref: number) => void): boolean {
    const table = this.#table;
    const stop = Math.min(this.#end, this.#next + max * LOOKS_PER_MESSAGE);
    let released = 0;
    for (; this.#next < stop && released < max; this.#next++) {
      if (table.ownerAt(this.#next) !== this.#owner) continue;
      const ref = table.refAt(this.#next);
      table.remove(this.#next);
      release(ref);
      released++;
    }
    this.#left -= released;
    return this.#left > 0 && this.#next < this.#end;
  }
}
