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
  /** Messages can be taken out of it again. */
  readArrived(): void;
}

/** Sweeps of one node. */
export class ExpirySweeps {
  /** Messages that may still expire in this turn. */
  left = EXPIRED_PER_TURN_MAX;
  readonly #deadLetters: DeadLetters;
  #waiting = new Set<ExpirySweeper>();
  /** Those of them that give nothing out because their head has expired. */
  readonly #stopped = new Set<ExpirySweeper>();

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
    const queues = [...this.#waiting];
    this.#waiting = new Set();
    let served = 0;
    for (; this.left > 0 && served < queues.length; served++) this.#serve(queues[served]!);
    // Whoever has had nothing comes before those that have had some and want more.
    this.#waiting = new Set([...queues.slice(served), ...this.#waiting]);
  }

  #serve(queue: ExpirySweeper): void {
    queue.sweepExpired();
    if (this.#stopped.delete(queue)) queue.readArrived();
  }

  /** Whether an expired head may be given up now; if not, the queue is told when to go on. */
  takesHead(queue: ExpirySweeper): boolean {
    if (this.left > 0) {
      this.left--;
      return true;
    }
    this.#waiting.add(queue);
    this.#stopped.add(queue);
    return false;
  }

  /** The share of this turn is used up; the queue is called in a later one. */
  wait(queue: ExpirySweeper): void {
    this.#waiting.add(queue);
  }
}
