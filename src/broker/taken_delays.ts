// What a retry queue held when it was purged: rows of the node's table that nobody asks for any more and
// whose records are still to be released. RetryQueue makes one, the store works it off piece by piece, so
// that millions of delayed messages do not make one long turn.

import type { TakenMessages } from "../store/port.ts";
import type { DelayedTable } from "./delayed_table.ts";

// A look at a row that is another's costs little beside the release of a message.
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
   * Everything in the table that is `owner`'s, who enters nothing more: all messages but those in pages,
   * for which nobody looks here.
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
