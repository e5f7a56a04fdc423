// Who waits for bytes that a store reads. Both halves of the port use it: records and pages.
// A store calls a waiter between turns, once for each request.

/** Is told, in a later turn, about the bytes that it asked for. */
export interface ReadWaiter {
  /** The bytes are resident now. */
  readArrived(): void;
  /** The bytes cannot be read. */
  readFailed(error: Error): void;
}
