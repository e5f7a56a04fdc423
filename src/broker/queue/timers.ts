// The two timers of a queue: one for the next expiry of a ready message and, with `x-expires`, one for
// the end of an unused queue. Queue makes them; a queue that needs neither has no timer.

import type { Queue } from "./queue.ts";
import type { Timer } from "../timers.ts";

/** Timers of one queue. */
export class QueueTimers {
  readonly #queue: Queue;
  #expiry: Timer | null = null;
  #idle: Timer | null = null;
  #lastUseMs = 0;

  constructor(queue: Queue) {
    this.#queue = queue;
    this.#lastUseMs = queue.broker.nowMs;
    if (queue.args.expiresMs === Infinity) return;
    this.#idle = queue.broker.timers.make(() => this.#idleEnded());
    this.#idle.set(this.#lastUseMs + queue.args.expiresMs);
  }

  /** When the queue next sweeps expired messages, ms; Infinity when never. */
  get expiryDueMs(): number {
    return this.#expiry === null ? Infinity : this.#expiry.dueMs;
  }

  /** Has the queue swept by `expiryMs`, when a ready message expires. */
  watchExpiry(expiryMs: number): void {
    if (this.#expiry === null) {
      const { broker } = this.#queue;
      this.#expiry = broker.timers.make(() => this.#queue.sweepExpired());
    }
    this.#expiry.setEarlier(expiryMs);
  }

  /** Sets the next sweep to `expiryMs`; Infinity when no ready message expires. */
  expireNext(expiryMs: number): void {
    if (this.#expiry !== null) this.#expiry.set(expiryMs);
  }

  /** Counts as use of the queue. */
  touch(): void {
    this.#lastUseMs = this.#queue.broker.nowMs;
  }

  stop(): void {
    this.#expiry?.stop();
    this.#idle?.stop();
  }

  // A use only moves the end, so the timer is set again when it fires and not at every use. Delayed
  // messages count as use, because they would be lost with the queue.
  #idleEnded(): void {
    const queue = this.#queue;
    const { nowMs } = queue.broker;
    if (queue.consumerCount > 0 || queue.delayedCount > 0) this.#lastUseMs = nowMs;
    const endMs = this.#lastUseMs + queue.args.expiresMs;
    if (endMs <= nowMs) queue.vhost.removeQueue(queue);
    else this.#idle!.set(endMs);
  }
}
