// How many messages may expire in a turn, over all queues: a million at once, in one queue or in many,
// must not make one long turn. A queue whose time has come takes from the turn's share; when that is used
// up, it waits for the next turn, and when many of its own dead letters wait, until there are fewer. Broker
// begins the turns, Queue does the sweeping.

import type { EntryVisitor, ReadWaiter, ReadyLane } from "../store/port.ts";

const EXPIRED_PER_TURN_MAX = 2048;
// Dead letters of a queue that may wait to be published before more become some by expiry.
const LETTERS_MAX = 8192;

/** A queue that gives up what has expired. */
export interface ExpirySweeper extends ReadWaiter {
  readonly lane: ReadyLane;
  /** Messages that it has given up and that wait to be published. */
  readonly dyingCount: number;
  sweepExpired(): void;
}

/** Sweeps of one node. */
export class ExpirySweeps {
  /** Messages that may still expire in this turn. */
  left = EXPIRED_PER_TURN_MAX;
  #waiting = new Set<ExpirySweeper>();
  /** Those of them that give nothing out because their head has expired. */
  readonly #stopped = new Set<ExpirySweeper>();

  // How many messages of a queue may expire now.
  #shareOf(queue: ExpirySweeper): number {
    return queue.dyingCount < LETTERS_MAX ? this.left : 0;
  }

  /** Whether another turn would get on with it. */
  get hasWork(): boolean {
    for (const { dyingCount } of this.#waiting) if (dyingCount < LETTERS_MAX) return true;
    return false;
  }

  /** A turn begins: queues that had to wait go on, those that wait longest first. */
  begin(): void {
    this.left = EXPIRED_PER_TURN_MAX;
    if (this.#waiting.size === 0) return;
    const queues = [...this.#waiting];
    this.#waiting = new Set();
    let served = 0;
    for (; this.left > 0 && served < queues.length; served++) this.#serve(queues[served]!);
    // Whoever has had nothing comes before those that have had some and want more.
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

  /** Whether an expired head may be given up now; if not, the queue is told when to go on. */
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
   * Gives up what has expired in a queue, as far as this turn allows, and says when to look again: never
   * by the queue itself if its share is used up, for then it is called in a later turn.
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
