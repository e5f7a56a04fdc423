// The pauses of the API: after refused logins, so that guessing passwords takes time, and between
// two steps of a long list, so that sockets are looked at. All pauses end at once when the node
// stops. server.ts makes one.

/** The pauses of one node. */
export class Pauses {
  readonly #ends = new Set<() => void>();
  #isEnded = false;

  /** Resolves after `ms` milliseconds, or when all pauses end. */
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

  /** Ends all pauses, also later ones. */
  end(): void {
    this.#isEnded = true;
    for (const end of [...this.#ends]) end();
  }
}
