// What channels had not settled when they closed, on its way back to the queues: a bounded number of
// messages a turn, those that were delivered first go first. A channel without a prefetch limit, or a
// connection with many channels, may leave a million of them behind. Broker begins the turns.

import { CAUSE_CLOSE } from "./retry.ts";
import type { Unacked } from "./unacked.ts";

const RETURNED_PER_TURN_MAX = 8192;

/** Tables of closed channels of one node. */
export class ClosedChannels {
  /** The node is about to end: everything goes back at once. */
  isLastCall = false;
  readonly #waiting: Unacked[] = [];
  #left = RETURNED_PER_TURN_MAX;

  /** Whether something is still to go back. */
  get hasWork(): boolean {
    return this.#waiting.length > 0;
  }

  /** A turn begins. */
  begin(): void {
    this.#left = RETURNED_PER_TURN_MAX;
    while (this.#waiting.length > 0 && this.#isDone(this.#waiting[0]!)) this.#waiting.shift();
  }

  /** The channel that had the table is closed: nothing is entered or settled any more. */
  add(unacked: Unacked): void {
    // Who comes later waits behind those that wait.
    if (this.#waiting.length > 0 && !this.isLastCall || !this.#isDone(unacked)) {
      this.#waiting.push(unacked);
    }
  }

  #isDone(unacked: Unacked): boolean {
    const max = this.isLastCall ? Infinity : this.#left;
    this.#left -= unacked.requeueSome(max, CAUSE_CLOSE);
    return unacked.count === 0;
  }
}
