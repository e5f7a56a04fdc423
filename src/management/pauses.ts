// Answers that wait, so that guessing passwords takes time: each is a timer of real time, and all of them
// end at once when the node stops. server.ts makes it and gives its `sleep` to the API.

/** The waiting answers of one node. */
export class Pauses {
  readonly #ends = new Set<() => void>();
  #isEnded = false;

  /** Resolves after so many milliseconds, or when everything ends. */
  sleep(ms: number): Promise<void> {
    if (this.#isEnded) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#ends.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#ends.add(end);
    });
  }

  /** Ends them all, and those that come. */
  end(): void {
    this.#isEnded = true;
    for (const end of [...this.#ends]) end();
  }
}
