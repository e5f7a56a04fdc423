// The error every failed assertion throws, and the one place where its text is put together.
// Used by the functions of test/support/assert.ts; it never looks at the values themselves.

/** Thrown by every assertion that does not hold. */
export class AssertionError extends Error {
  /** Makes the error with the finished text. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AssertionError";
  }
}

/** Appends the caller's own words to the text of a failure: `"what failed: why it matters"`. */
export function withReason(text: string, reason: string | undefined): string {
  return reason === undefined || reason === "" ? `${text}.` : `${text}: ${reason}`;
}
