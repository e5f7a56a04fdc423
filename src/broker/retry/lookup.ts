// Finds one delayed message by its name, in steps of bounded work, and brings it to memory if it is in a
// page. In the turn in which it has been found, Retries can take it out. Management calls it within
// turns.

import type { RetryQueue } from "./retry_queue.ts";
import type { RetryName } from "./name.ts";
import { type FoundRetry, RetryScan, SCAN_DONE, SCAN_READING } from "./scan.ts";

/** One look for one message. The caller must `end` it. */
export class RetryLookup {
  readonly #delayed: RetryQueue;
  readonly #scan: RetryScan;
  #isScanned = false;
  #isReading = false;
  #hasRead = false;

  constructor(delayed: RetryQueue, name: RetryName) {
    this.#delayed = delayed;
    const after = { dueMs: name.dueMs, number: name.number - 1 };
    this.#scan = new RetryScan(delayed, {
      countMax: 1,
      after,
      until: name,
      holdsArrived: true,
    });
  }

  /** Ends the look. */
  end(): void {
    this.#scan.end();
  }

  /**
   * Does a step: see RetryScan. After the last step, `found` has the message if it is still delayed and
   * can be read.
   */
  step(rowsMax: number, resume: () => void): number {
    if (!this.#isScanned) {
      const result = this.#scan.step(rowsMax, resume);
      if (result !== SCAN_DONE) return result;
      this.#isScanned = true;
    }
    if (this.#isReading) return SCAN_READING;
    const [found] = this.#scan.found;
    const page = found === undefined ? null : found.page;
    if (page === null || this.#hasRead) return SCAN_DONE;
    this.#hasRead = true;
    this.#isReading = this.#delayed.hurry(page, () => {
      this.#isReading = false;
      resume();
    });
    return this.#isReading ? SCAN_READING : SCAN_DONE;
  }

  /** The message, in memory; null when it is not delayed any more. */
  get found(): FoundRetry | null {
    const [found] = this.#scan.found;
    return found !== undefined && this.#delayed.isHeld(found) ? found : null;
  }
}
