// A regular expression that cannot be used. Thrown while compiling, shown to the person who wrote it;
// matching never throws.

/** A refused pattern; `message` says why. */
export class PatternError extends Error {
  /** Creates the error. */
  constructor(message: string) {
    super(message);
    this.name = "PatternError";
  }
}
