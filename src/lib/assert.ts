// Assertions about our own code. Called wherever an invariant must hold; a failure is a bug of ours,
// never a mistake of a client (those are ConnectionError and ChannelError in src/amqp/errors.ts).
// Who catches it decides what dies: the session closes its connection, the broker stops the node.

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

/** Marks a branch that cannot be reached; `message` says why it should not have been. */
export function unreachable(message: string): never {
  throw new AssertionError(`unreachable: ${message}`);
}
