// One way from what a runtime throws when a file operation fails to the DiskError the store knows.
// Called by everything in runtime/ that touches the data folder; it decides about no failure itself.

import { DiskError } from "../store/file_system.ts";

/** Does `operation`, and throws what it throws as a {@linkcode DiskError} about `path`. */
export function attempt<T>(path: string, operation: () => T): T {
  try {
    return operation();
  } catch (error) {
    throw diskError(path, error);
  }
}

/** Does `operation` unless the system refuses it with `code`; whether it was done. */
export function ignoring(code: string, operation: () => void): boolean {
  try {
    operation();
    return true;
  } catch (error) {
    if (failureCode(error) !== code) throw error;
    return false;
  }
}

/** What a runtime threw about `path`, as the store knows it. */
export function diskError(path: string, cause: unknown): DiskError {
  return cause instanceof DiskError ? cause : new DiskError(failureCode(cause), path, { cause });
}

/** The system's name of a failure, or the runtime's where a permission of its own refuses. */
export function failureCode(cause: unknown): string {
  if (typeof cause !== "object" || cause === null) return "EIO";
  const { code, name } = cause as { code?: unknown; name?: unknown };
  if (typeof code === "string" && code !== "") return code;
  return typeof name === "string" ? name : "EIO";
}
