// Remembers which batches of the commit log have failed, so that whoever waits for one is told in the
// next turn. Only so many are kept: nobody waits for those long past.

const RANGES_MAX = 64;

/** Numbers of failed batches. */
export class FailedBatches {
  readonly #ranges: { first: number; last: number }[] = [];

  /** Batch `number` has failed; numbers come mostly in rising order. */
  add(number: number): void {
    const range = this.#ranges.at(-1);
    if (range !== undefined && range.last === number - 1) range.last = number;
    else this.#ranges.push({ first: number, last: number });
    if (this.#ranges.length > RANGES_MAX) this.#ranges.shift();
  }

  /** Whether a batch has failed. */
  has(number: number): boolean {
    return this.#ranges.some(({ first, last }) => number >= first && number <= last);
  }
}
