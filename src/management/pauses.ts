// What the API waits for: refused logins, so that guessing passwords takes time, and long lists, so that
// sockets are looked at between two steps. All pauses end at once when the node stops. server.ts makes one.

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
