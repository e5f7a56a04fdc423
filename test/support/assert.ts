/** Assertions used by the tests (placeholder until completed). */
export function assert(ok: unknown, message = "assertion failed"): asserts ok {
  if (!ok) throw new Error(message);
}
