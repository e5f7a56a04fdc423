// Long work of the HTTP API in bounded steps beside the turns: of all requests together one slice runs,
// then the event loop has its round with the sockets, then the next slice. Lists and the samples of rates
// are made so. How long a slice is, is counted in units of work and not measured: a clock would make
// every run different.

/** Units of work in one slice, each about a microsecond: short beside the 50 ms that nobody may wait. */
export const SLICE_UNITS = 4_000;

/** Hands out slices, one for each round of the event loop. */
export class Slices {
  readonly #pause: (delayMs: number) => Promise<void>;
  #waiting: (() => void)[] = [];
  #isRunning = false;

  /** `pause` resolves after at least so many milliseconds, with a round of the event loop before. */
  constructor(pause: (delayMs: number) => Promise<void>) {
    this.#pause = pause;
  }

  /**
   * Resolves when a slice begins. What follows synchronously is the slice; whoever has more to do
   * asks again.
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
      // What is resolved runs before the pause is over.
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

  /** The job has no slice yet. */
  constructor(slices: Slices) {
    this.#slices = slices;
  }

  /** Counts work; whether the slice is over and the job is to wait for the next one. */
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
