// Messages that were purged and whose records are still to be released: a bounded piece a turn. Queues
// hand them over through the store; nobody sees them any more. While there are some, the store knows of
// more messages than there are, so no snapshot is written.

import type { TakenMessages } from "./port.ts";

/** Lets go of purged messages. */
export class Discards {
  readonly #perStep: number;
  readonly #release: (ref: number, queueId: number) => void;
  readonly #waiting: { taken: TakenMessages; queueId: number }[] = [];

  /** `release` is called for about `perStep` messages a turn. */
  constructor(release: (ref: number, queueId: number) => void, perStep: number) {
    this.#release = release;
    this.#perStep = perStep;
  }

  get isBusy(): boolean {
    return this.#waiting.length > 0;
  }

  /** The records of `taken` are to be released by the queue; says how many messages that is. */
  add(taken: TakenMessages, queueId: number): number {
    if (taken.messageCount > 0) this.#waiting.push({ taken, queueId });
    return taken.messageCount;
  }

  /** Releases some; true when more are left. */
  step(): boolean {
    const first = this.#waiting[0];
    if (first === undefined) return false;
    const { taken, queueId } = first;
    const release = (ref: number) => this.#release(ref, queueId);
    if (!taken.releaseSome(this.#perStep, release)) this.#waiting.shift();
    return this.#waiting.length > 0;
  }
}
