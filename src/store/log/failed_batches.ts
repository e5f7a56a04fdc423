// Remembers which batches of the commit log have failed, so that whoever waits for one is told in the
// next turn. Only so many stretches of them are kept: nobody waits for those long past. The commit log
// enters them; it also knows which of them have got to the disk since.

const RANGES_MAX = 64;

/** Numbers of failed batches. */
export class FailedBatches {
  readonly #ranges: { first: number; last: number }[] = [];

  /**
   * Batch `number` has failed; `previous` is the one that was written before it. Turns that write
   * nothing leave gaps between the two, for whose numbers nobody asks.
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
