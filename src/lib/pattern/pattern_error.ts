// A regular expression that cannot be used. Thrown while a pattern is compiled, and shown to the
// person who wrote it. Matching never throws.

/** A refused pattern; `message` says why. */
export class PatternError extends Error {
  /** Creates the error. */
  constructor(message: string) {
    super(message);
    this.name = "PatternError";
  }
}
