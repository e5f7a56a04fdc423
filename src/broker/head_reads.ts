// A queue whose head is not in memory: who waits for it, and that it cannot be read. One per queue; the
// store tells the queue, the queue tells this.

import { ChannelError } from "../amqp/errors.ts";
import { RESOURCE_ERROR } from "../amqp/reply_code.ts";
import { describe } from "./names.ts";
import type { Queue } from "./queue.ts";

/** Waits for the head of one queue. */
export class HeadReads {
  readonly #queue: Queue;
  #waiting: (() => void)[] = [];
  #failure: Error | null = null;

  constructor(queue: Queue) {
    this.#queue = queue;
  }

  /** Calls `resume` once, in a turn that begins after the head has been read or could not be. */
  wait(resume: () => void): void {
    this.#waiting.push(resume);
  }

  /** The head is there. */
  arrived(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) this.#queue.broker.resumeInTurn(resume);
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
