// A queue whose head is not in memory: who waits for it, and that it cannot be read. One per queue; the
// store tells the queue, the queue tells this.

import { ChannelError } from "../amqp/errors.ts";
import { RESOURCE_ERROR } from "../amqp/reply_code.ts";
import type { ReadWaiter } from "../store/port.ts";
import { describe } from "./names.ts";
import type { Queue } from "./queue.ts";

/** Waits for the head of one queue. */
export class HeadReads {
  readonly #queue: Queue;
  #waiters: ReadWaiter[] = [];
  #failure: Error | null = null;

  constructor(queue: Queue) {
    this.#queue = queue;
  }

  /** Tells `waiter` once when the head has been read, or cannot be. */
  wait(waiter: ReadWaiter): void {
    this.#waiters.push(waiter);
  }

  /** The head is there. */
  arrived(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.readArrived();
  }

  /** The head cannot be read: nothing can be taken out of the queue until it is purged. */
  failed(error: Error): void {
    const { name, vhost, broker } = this.#queue;
    this.#failure = error;
    const fields = { queue: name, vhost: vhost.name, error: error.message };
    broker.logger.log("error", "queue is closed: its head cannot be read", fields);
  }

  /** Whether the head cannot be read. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  /** What could not be read is gone. */
  forget(): void {
    this.#failure = null;
  }

  /** Refuses to take messages out of a queue whose head cannot be read: channel error 506. */
  assertReadable(): void {
    if (this.#failure === null) return;
    const name = describe("queue", this.#queue.name, this.#queue.vhost.name);
    throw new ChannelError(RESOURCE_ERROR, `${name} cannot be read: ${this.#failure.message}`);
  }
}
