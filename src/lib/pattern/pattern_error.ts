// A regular expression that cannot be used. Thrown while a pattern is compiled, and shown to the
// person who wrote it. Matching never throws.

/** A refused pattern; `message` says why, in PCRE's words where PCRE refuses the pattern too. */
export class PatternError extends Error {
  /** The place in the pattern, in characters, as PCRE reports it. */
  readonly position: number;

  /** Creates the error. */
  constructor(message: string, position: number) {
    super(message);
    this.name = "PatternError";
    this.position = position;
  }
}
