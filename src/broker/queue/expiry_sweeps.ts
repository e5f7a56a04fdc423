// Limits how many messages may expire in a turn over all queues, so that a million expiries, in one
// queue or in many, do not make one long turn. A queue with expired messages takes from the budget of
// the turn. When the budget is used up, the queue waits for the next turn. While many of its dead
// letters wait, the queue waits until there are fewer. Broker begins the turns; Queue removes the
// messages.

import type { EntryVisitor, ReadWaiter, ReadyLane } from "../../store/port.ts";

// Four times the dead letters of a turn, so that these never wait for expiries.
const EXPIRED_PER_TURN_MAX = 256;
// A queue with this many dead letters waiting expires no further messages.
const LETTERS_MAX = 8192;

/** A queue that removes its expired messages. */
export interface ExpirySweeper extends ReadWaiter {
  readonly lane: ReadyLane;
  /** Number of messages that it has given up and that wait to be published. */
  readonly dyingCount: number;
  sweepExpired(): void;
}

/** The expiry sweeps of one node. */
export class ExpirySweeps {
  /** Messages that may still expire in this turn. */
  left = EXPIRED_PER_TURN_MAX;
  #waiting = new Set<ExpirySweeper>();
  /** The waiting queues that deliver nothing because their head has expired. */
  readonly #stopped = new Set<ExpirySweeper>();

  // How many messages of a queue may expire now.
  #shareOf(queue: ExpirySweeper): number {
    return queue.dyingCount < LETTERS_MAX ? this.left : 0;
  }

  /** Whether a queue that waits could continue in another turn. */
  get hasWork(): boolean {
    for (const { dyingCount } of this.#waiting) if (dyingCount < LETTERS_MAX) return true;
    return false;
  }

  /** Begins a turn: queues that had to wait continue, those that have waited longest first. */
  begin(): void {
    this.left = EXPIRED_PER_TURN_MAX;
    if (this.#waiting.size === 0) return;
    const queues = [...this.#waiting];
    this.#waiting = new Set();
    let served = 0;
    for (; this.left > 0 && served < queues.length; served++) this.#serve(queues[served]!);
    // Queues that had no share in this turn come before those that had one and need more.
    this.#waiting = new Set([...queues.slice(served), ...this.#waiting]);
  }

  #serve(queue: ExpirySweeper): void {
    if (this.#shareOf(queue) === 0) {
      this.#waiting.add(queue);
      return;
    }
    queue.sweepExpired();
    if (this.#stopped.delete(queue)) queue.readArrived();
  }

  /** Whether an expired head may be removed now. If not, the queue is called when it may continue. */
  takesHead(queue: ExpirySweeper): boolean {
    if (this.#shareOf(queue) > 0) {
      this.left--;
      return true;
    }
    this.#waiting.add(queue);
    this.#stopped.add(queue);
    return false;
  }

  /**
   * Removes the expired messages of a queue, as far as the budget of this turn allows. Returns when the
   * queue must sweep again, ms. The result is Infinity if the budget was too small, because a later
   * turn then calls the queue.
   */
  sweep(queue: ExpirySweeper, nowMs: number, visit: EntryVisitor): number {
    const share = this.#shareOf(queue);
    if (share > 0) this.left -= queue.lane.expire(nowMs, share, visit, queue);
    const nextMs = queue.lane.nextExpiryMs();
    if (nextMs > nowMs || this.#shareOf(queue) > 0) return nextMs;
    this.#waiting.add(queue);
    return Infinity;
  }
}
