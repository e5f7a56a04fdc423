// How many messages may expire in a turn, over all queues: a million at once, in one queue or in many,
// must not make one long turn. A queue whose time has come takes from the turn's share; when that is used
// up, it waits for the next turn. Broker begins the turns, Queue does the sweeping.

import type { DeadLetters } from "./dead_letters.ts";

const EXPIRED_PER_TURN_MAX = 2048;
// Dead letters that may wait to be published before more become some by expiry.
const LETTERS_MAX = 8192;

/** A queue that gives up what has expired. */
export interface ExpirySweeper {
  sweepExpired(): void;
}

/** Sweeps of one node. */
export class ExpirySweeps {
  /** Messages that may still expire in this turn. */
  left = EXPIRED_PER_TURN_MAX;
  readonly #deadLetters: DeadLetters;
  #waiting = new Set<ExpirySweeper>();

  constructor(deadLetters: DeadLetters) {
    this.#deadLetters = deadLetters;
  }

  get #hasRoom(): boolean {
    return this.#deadLetters.backlog < LETTERS_MAX;
  }

  /** Whether another turn would get on with it. */
  get hasWork(): boolean {
    return this.#waiting.size > 0 && this.#hasRoom;
  }

  /** A turn begins: queues that had to wait go on, those that wait longest first. */
  begin(): void {
    this.left = this.#hasRoom ? EXPIRED_PER_TURN_MAX : 0;
    if (this.#waiting.size === 0) return;
    const queues = this.#waiting;
    this.#waiting = new Set();
    for (const queue of queues) {
      if (this.left > 0) queue.sweepExpired();
      else this.#waiting.add(queue);
    }
  }

  /** The share of this turn is used up; the queue is called in a later one. */
  wait(queue: ExpirySweeper): void {
    this.#waiting.add(queue);
  }
}
