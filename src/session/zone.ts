// Whether session code or broker code is running. An unexpected exception ends one connection in the
// first case and the whole node in the second, because half-applied broker state must never be written
// (ARCHITECTURE.md "When something is wrong"). The flag is set around every call into the broker and
// costs two stores.

/** A flag that keeps its value when an exception is thrown, so that it explains the exception. */
export class Zone {
  /** True while broker code runs on behalf of the session. */
  isBroker = false;

  /** Runs a rare call into the broker. Hot calls set the flag themselves. */
  run<T>(call: () => T): T {
    this.isBroker = true;
    const result = call();
    this.isBroker = false;
    return result;
  }
}
