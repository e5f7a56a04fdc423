// Whose code is running: the session's or the broker's. An unexpected exception ends one connection in
// the first case and the whole node in the second, because half-applied broker state must never be
// written (ARCHITECTURE.md "When something is wrong"). Set around every call into the broker; costs two
// stores.

/** A flag that survives the exception it is to explain. */
export class Zone {
  /** True while broker code runs on behalf of the session. */
  isBroker = false;

  /** Runs rare calls into the broker; hot ones set the flag themselves. */
  run<T>(call: () => T): T {
    this.isBroker = true;
    const result = call();
    this.isBroker = false;
    return result;
  }
}
