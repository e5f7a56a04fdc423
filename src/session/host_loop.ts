// The event loop as the engine sees it: one timer, and a way to be called again soon. runtime/
// implements it, and tests drive it by hand. It never calls back from within its own methods.

/** The functions that the engine needs of its host. */
export interface HostLoop {
  /** Calls back once after `delayMs`. Arming again replaces the earlier timer. */
  arm(delayMs: number, callback: () => void): void;
  /** Cancels the armed timer and the callback of `later`. */
  disarm(): void;
  /** Calls back after input and output that is ready now has been handled. */
  soon(callback: () => void): void;
  /**
   * Calls back when all input that has arrived by now has been reported, even after the whole process
   * has stood still. Only one call may wait at a time.
   */
  afterInput(callback: () => void): void;
  /**
   * Calls back once after about `delayMs` of real time, with a virtual clock too. A later call replaces
   * an earlier one. It gives other work of the machine a chance and is never used for due times.
   */
  later(delayMs: number, callback: () => void): void;
}
