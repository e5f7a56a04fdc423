// Assertions about our own code. Code calls them wherever an invariant must hold. A failure is a
// bug of ours, never a mistake of a client (those are ConnectionError and ChannelError in
// src/amqp/errors.ts). The layer that catches the error decides what ends: the session closes its
// connection, the broker stops the node.

/** A broken invariant of the program itself. */
export class AssertionError extends Error {
  /** Creates the error; `message` says which invariant broke. */
  constructor(message: string) {
    super(message);
    this.name = "AssertionError";
  }
}

/** Throws an {@linkcode AssertionError} with `message` unless `condition` holds. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Marks a branch that cannot be reached. `message` says why. */
export function unreachable(message: string): never {
  throw new AssertionError(`unreachable: ${message}`);
}
