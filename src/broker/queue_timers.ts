// The two timers a queue may have: the next expiry of a ready message and, with `x-expires`, the end
// of the queue itself when nobody uses it. Made by Queue; a queue without either costs nothing.

import type { Queue } from "./queue.ts";
import type { Timer } from "./timers.ts";

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

  /** When ready messages are looked at for expiry, Infinity when never. */
  get expiryDueMs(): number {
    return this.#expiry === null ? Infinity : this.#expiry.dueMs;
  }

  /** A ready message expires at `expiryMs`. */
  watchExpiry(expiryMs: number): void {
    if (this.#expiry === null) {
      const { broker } = this.#queue;
      this.#expiry = broker.timers.make(() => this.#queue.sweepExpired());
    }
    this.#expiry.setEarlier(expiryMs);
  }

  /** The next ready message expires at `expiryMs`; Infinity: none will. */
  expireNext(expiryMs: number): void {
    if (this.#expiry !== null) this.#expiry.set(expiryMs);
  }

  /** The queue is being used. */
  touch(): void {
    this.#lastUseMs = this.#queue.broker.nowMs;
  }

  stop(): void {
    this.#expiry?.stop();
    this.#idle?.stop();
  }

  // Use only moves the end, so the timer is set anew when it fires and not at every get. Delayed
  // messages count as use: an end would take them with it.
  #idleEnded(): void {
    const queue = this.#queue;
    const { nowMs } = queue.broker;
    if (queue.consumerCount > 0 || queue.delayedCount > 0) this.#lastUseMs = nowMs;
    const endMs = this.#lastUseMs + queue.args.expiresMs;
    if (endMs <= nowMs) queue.vhost.removeQueue(queue);
    else this.#idle!.set(endMs);
  }
}
