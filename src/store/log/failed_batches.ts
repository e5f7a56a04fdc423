// Remembers which batches of the commit log have failed, so that clients that wait for one are told
// in the next turn. It keeps a bounded number of ranges, because no client waits for batches that
// are long past. The commit log enters them, and also knows which of them have reached the disk
// since.

const RANGES_MAX = 64;

/** Numbers of failed batches. */
export class FailedBatches {
  readonly #ranges: { first: number; last: number }[] = [];

  /**
   * Enters the failed batch `number`; `previous` is the batch that was written before it. Turns
   * that write nothing leave gaps between the two, and no client asks for their numbers.
   */
  add(number: number, previous: number): void {
    const range = this.#ranges.at(-1);
    if (range !== undefined && range.last === previous) range.last = number;
    else this.#ranges.push({ first: number, last: number });
    if (this.#ranges.length > RANGES_MAX) this.#ranges.shift();
  }

  /** Whether a batch has failed. */
  has(number: number): boolean {
    return this.#ranges.some(({ first, last }) => number >= first && number <= last);
  }
}
