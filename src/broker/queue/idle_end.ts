// Ends a queue with `x-expires` that nobody uses: one timer, which a use moves only when it fires. Queue
// makes it; a queue without that argument has none.

import type { Queue } from "./queue.ts";
import type { Timer } from "../timers.ts";

/** The end of one queue that is unused. */
export class IdleEnd {
  readonly #queue: Queue;
  readonly #timer: Timer;
  #lastUseMs: number;

  constructor(queue: Queue) {
    this.#queue = queue;
    this.#lastUseMs = queue.broker.nowMs;
    this.#timer = queue.broker.timers.make(() => this.#fired());
    this.#timer.set(this.#lastUseMs + queue.args.expiresMs);
  }

  /** Counts as use of the queue. */
  touch(): void {
    this.#lastUseMs = this.#queue.broker.nowMs;
  }

  stop(): void {
    this.#timer.stop();
  }

  // A use only moves the end, so the timer is set again when it fires and not at every use. Delayed
  // messages count as use, because they would be lost with the queue.
  #fired(): void {
    const queue = this.#queue;
    const { nowMs } = queue.broker;
    if (queue.consumerCount > 0 || queue.delayedCount > 0) this.#lastUseMs = nowMs;
    const endMs = this.#lastUseMs + queue.args.expiresMs;
    if (endMs <= nowMs) queue.vhost.removeQueue(queue);
    else this.#timer.set(endMs);
  }
}
