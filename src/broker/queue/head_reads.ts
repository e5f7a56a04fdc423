// The callers that wait for the head of a queue that is not in memory, and the error when the head
// cannot be read. Each queue has one; the store tells the queue about reads, and the queue calls it.

import { ChannelError } from "../../amqp/errors.ts";
import { RESOURCE_ERROR } from "../../amqp/reply_code.ts";
import { describe } from "../names.ts";
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

  /** Resumes all callers that wait: the head is in memory. */
  arrived(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) this.#queue.broker.resumeInTurn(resume);
  }

  /** Closes the queue: its head cannot be read, so no message can be taken out until a purge. */
  failed(error: Error): void {
    const { name, vhost, broker } = this.#queue;
    this.#failure = error;
    const fields = { queue: name, vhost: vhost.name, error: error.message };
    broker.logger.log("error", "queue is closed: its head cannot be read", fields);
  }

  /** Whether the head could not be read. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  /** Opens the queue again: a purge has removed the head that could not be read. */
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
