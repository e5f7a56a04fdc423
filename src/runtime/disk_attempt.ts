// Turns errors that a runtime throws for a file operation into the store's DiskError. All code in
// runtime/ that touches the data folder uses it. It handles no failure itself.

import { DiskError } from "../store/file_system.ts";

/** Runs `operation` and rethrows its errors as {@linkcode DiskError} about `path`. */
export function attempt<T>(path: string, operation: () => T): T {
  try {
    return operation();
  } catch (error) {
    throw diskError(path, error);
  }
}

/** Runs `operation`. Returns false when the system refuses it with `code`; other errors are thrown. */
export function ignoring(code: string, operation: () => void): boolean {
  try {
    operation();
    return true;
  } catch (error) {
    if (failureCode(error) !== code) throw error;
    return false;
  }
}

/** Returns the DiskError for an error that a runtime threw about `path`. */
export function diskError(path: string, cause: unknown): DiskError {
  return cause instanceof DiskError ? cause : new DiskError(failureCode(cause), path, { cause });
}

/**
 * Returns the system's name of a failure, or the runtime's name when one of its permissions is missing.
 */
export function failureCode(cause: unknown): string {
  if (typeof cause !== "object" || cause === null) return "EIO";
  const { code, name } = cause as { code?: unknown; name?: unknown };
  if (typeof code === "string" && code !== "") return code;
  return typeof name === "string" ? name : "EIO";
}
