// Messages that were purged and whose records are still to be released, a bounded number a turn.
// Queues hand them over through the store and do not see them any more. While some are left, the
// store knows more messages than the queues have, so no snapshot is written.

import type { TakenMessages } from "../port.ts";

const QUEUES_PER_STEP_MAX = 64;

/** Releases the records of purged messages. */
export class Discards {
  readonly #perStep: number;
  readonly #release: (ref: number, queueId: number) => void;
  readonly #waiting: { taken: TakenMessages; queueId: number }[] = [];

  /** Calls `release` for about `perStep` messages a turn. */
  constructor(release: (ref: number, queueId: number) => void, perStep: number) {
    this.#release = release;
    this.#perStep = perStep;
  }

  get isBusy(): boolean {
    return this.#waiting.length > 0;
  }

  /** Takes messages whose records the queue is to release, and returns how many they are. */
  add(taken: TakenMessages, queueId: number): number {
    const { messageCount } = taken;
    // Without messages there may still be empty chunks to give back.
    this.#waiting.push({ taken, queueId });
    return messageCount;
  }

  /** Releases some records; true when more are left. */
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
