// Being called again soon, with sockets let in on the way. Deno looks at sockets only in every 61st
// round while callbacks of setImmediate follow each other; a timer fires only when it has looked. So a
// timer is always under way beside the callbacks, and when it is overdue they wait for it. On Bun and
// Node it never is. Used by the loops of this folder.

/** Callbacks may follow each other this long without a sign that sockets were looked at. */
const UNSEEN_MS_MAX = 8;

/** Calls back soon, after input and output that is ready has had its turn. */
export class Soon {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #askedAtMs = 0;
  #waiting: (() => void)[] = [];

  /** Calls back in a later round of the event loop. */
  ask(callback: () => void): void {
    const nowMs = performance.now();
    if (this.#timer === undefined) {
      this.#askedAtMs = nowMs;
      this.#timer = setTimeout(this.#onLooked, 0);
    } else if (nowMs - this.#askedAtMs >= UNSEEN_MS_MAX) {
      this.#waiting.push(callback);
      return;
    }
    setImmediate(callback);
  }

  readonly #onLooked = (): void => {
    this.#timer = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
  };

  /** Leaves no timer behind; what has been asked for is still called. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const callback of this.#waiting.splice(0)) setImmediate(callback);
  }
}
