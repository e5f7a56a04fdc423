// Long work of the HTTP API in bounded steps beside the turns: one slice for all requests together,
// then a round of the event loop with the sockets, then the next slice. Lists and the samples of
// rates run in slices. The length of a slice is counted in units of work and not measured, because
// with a clock every run would be different.

/**
 * Units of work in one slice, each about a microsecond: 4 ms, where 50 ms would be too long to
 * wait.
 */
export const SLICE_UNITS = 4_000;

/** Hands out slices, one for each round of the event loop. */
export class Slices {
  readonly #pause: (delayMs: number) => Promise<void>;
  #waiting: (() => void)[] = [];
  #isRunning = false;

  /** `pause` resolves after at least `delayMs`, with a round of the event loop before. */
  constructor(pause: (delayMs: number) => Promise<void>) {
    this.#pause = pause;
  }

  /**
   * Resolves when a slice begins. The code that runs synchronously after that is the slice. A job
   * that has more to do asks again.
   */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isRunning) this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      // The resolved job runs before the pause is over.
      this.#waiting.shift()!();
      await this.#pause(0);
    }
    this.#isRunning = false;
  }
}

/** Counts the work of one job. */
export class Pace {
  readonly #slices: Slices;
  #left = 0;

  /** Makes a job without a slice. */
  constructor(slices: Slices) {
    this.#slices = slices;
  }

  /** Counts work, and returns whether the slice is over and the job must wait for the next one. */
  spend(units: number): boolean {
    this.#left -= units;
    return this.#left <= 0;
  }

  /** Resolves when the next slice of the job begins. */
  async next(): Promise<void> {
    await this.#slices.next();
    this.#left = SLICE_UNITS;
  }
}
