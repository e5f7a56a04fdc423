// Messages that were purged and whose records are still to be released: a bounded piece a turn. Queues
// hand them over through the store; nobody sees them any more. While there are some, the store knows of
// more messages than there are, so no snapshot is written.

import type { TakenMessages } from "./port.ts";

const QUEUES_PER_STEP_MAX = 64;

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
    const { messageCount } = taken;
    if (messageCount > 0) this.#waiting.push({ taken, queueId });
    // There may be empty chunks.
    else while (taken.releaseSome(this.#perStep, () => {}));
    return messageCount;
  }

  /** Releases some; true when more are left. */
  step(): boolean {
    let left = this.#perStep;
    for (let done = 0; left > 0 && done < QUEUES_PER_STEP_MAX; done++) {
      const first = this.#waiting[0];
      if (first === undefined) break;
      const { taken, queueId } = first;
      const hasMore = taken.releaseSome(left, (ref) => {
        this.#release(ref, queueId);
        left--;
      });
      if (hasMore) break;
      this.#waiting.shift();
    }
    return this.#waiting.length > 0;
  }
}
