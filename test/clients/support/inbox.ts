// Things that come when they come, waited for one after the other. Handlers of client libraries put
// them in, tests take them out.

/** A queue that can be waited for. */
export class Inbox<T> {
  readonly #items: T[] = [];
  readonly #waiting: ((item: T) => void)[] = [];

  /** How many are there to be taken at once. */
  get count(): number {
    return this.#items.length;
  }

  /** Puts one in. */
  readonly put = (item: T): void => {
    const taker = this.#waiting.shift();
    if (taker === undefined) this.#items.push(item);
    else taker(item);
  };

  /** Takes the oldest one, waiting for it. */
  take(): Promise<T> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Takes several, in order. */
  async takeMany(count: number): Promise<T[]> {
    const items: T[] = [];
    while (items.length < count) items.push(await this.take());
    return items;
  }
}
