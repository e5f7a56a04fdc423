// The event loop as the engine sees it: one timer and a way to be called again soon. runtime/
// implements it, tests drive it by hand. Never calls back from within its own methods.

/** What the engine asks of its host. */
export interface HostLoop {
  /** Calls back once after `delayMs`; arming again replaces what was armed. */
  arm(delayMs: number, callback: () => void): void;
  /** Forgets what was armed and what was to come later. */
  disarm(): void;
  /** Calls back after input and output that is ready now has had its turn. */
  soon(callback: () => void): void;
  /**
   * Calls back when everything that has arrived by now has been told, also after the whole process
   * has stood still. Asked for once at a time.
   */
  afterInput(callback: () => void): void;
  /**
   * Calls back once after about `delayMs` of real time, also where broker time stands still; asking
   * again replaces what was asked. For giving the machine's other work a chance, never for anything
   * that is due.
   */
  later(delayMs: number, callback: () => void): void;
}
