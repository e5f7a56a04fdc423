// Deep equality with the semantics of the published @std/assert: 0 equals -0, NaN equals NaN, a
// null-prototype object equals {}, Map and Set compare by content in any order, cycles end.
// Used by assertEquals and assertNotEquals; it never formats, throws only for what has no content
// to compare (WeakMap, WeakSet) and never calls user code except accessors.

/** Pairs already assumed equal on the way down: `seen.get(a)` holds each `b` met with that `a`. */
type Seen = Map<object, Set<object>>;

/**
 * Says whether two values are deeply equal.
 *
 * Errors are equal only to themselves: their stacks differ, so two `new Error("a")` are not equal.
 */
export function equal(actual: unknown, expected: unknown): boolean {
  return compare(actual, expected, new Map());
}

function compare(a: unknown, b: unknown, seen: Seen): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a === "number" && typeof b === "number") return a === b;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (!sameKind(a, b)) return false;
  const special = compareSpecial(a, b, seen);
  if (special !== undefined) return special;
  const partners = seen.get(a);
  if (partners?.has(b)) return true;
  if (partners) partners.add(b);
  else seen.set(a, new Set([b]));
  const same = compareContents(a, b, seen);
  // The assumption is good only while it stands: Map and Set try several pairs.
  if (!same) seen.get(a)?.delete(b);
  return same;
}

/** Same constructor; a missing one counts as Object, which makes null-prototype objects equal {}. */
function sameKind(a: object, b: object): boolean {
  const left: unknown = Object.getPrototypeOf(a)?.constructor ?? Object;
  const right: unknown = Object.getPrototypeOf(b)?.constructor ?? Object;
  return left === right;
}

/** Decides the types whose content is not in their properties; undefined means "not one of them". */
function compareSpecial(a: object, b: object, seen: Seen): boolean | undefined {
  if (a instanceof Error || b instanceof Error) return false;
  if (a instanceof Date && b instanceof Date) return Object.is(a.getTime(), b.getTime());
  if (a instanceof RegExp || a instanceof URL) return String(a) === String(b);
  if (a instanceof Number || a instanceof String || a instanceof Boolean) {
    return compare(a.valueOf(), b.valueOf(), seen);
  }
  if (a instanceof WeakRef && b instanceof WeakRef) return compare(a.deref(), b.deref(), seen);
  if (a instanceof WeakMap || a instanceof WeakSet) {
    throw new TypeError(`cannot compare ${a.constructor.name} instances`);
  }
  if (a instanceof Promise) return false;
  if (a instanceof ArrayBuffer && b instanceof ArrayBuffer) {
    return sameElements(new Uint8Array(a), new Uint8Array(b));
  }
  if (a instanceof DataView && b instanceof DataView) return sameElements(bytesOf(a), bytesOf(b));
  if (ArrayBuffer.isView(a) && ArrayBuffer.isView(b)) {
    return sameElements(a as unknown as ArrayLike<unknown>, b as unknown as ArrayLike<unknown>);
  }
  return undefined;
}

function bytesOf(view: DataView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

function sameElements(a: ArrayLike<unknown>, b: ArrayLike<unknown>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== b[i] && !(Number.isNaN(a[i]) && Number.isNaN(b[i]))) return false;
  }
  return true;
}

function compareContents(a: object, b: object, seen: Seen): boolean {
  if (a instanceof Map && b instanceof Map && !sameMap(a, b, seen)) return false;
  if (a instanceof Set && b instanceof Set && !sameSet(a, b, seen)) return false;
  return sameProperties(a, b, seen);
}

function sameProperties(a: object, b: object, seen: Seen): boolean {
  const keys = Reflect.ownKeys(a);
  if (keys.length !== Reflect.ownKeys(b).length) return false;
  return keys.every((key) =>
    Object.hasOwn(b, key) && compare(Reflect.get(a, key), Reflect.get(b, key), seen)
  );
}

function sameMap(a: Map<unknown, unknown>, b: Map<unknown, unknown>, seen: Seen): boolean {
  if (a.size !== b.size) return false;
  const unmatched = new Set(b.keys());
  for (const [key, value] of a) {
    const partner = findPartner(
      key,
      unmatched,
      seen,
      (other) => compare(value, b.get(other), seen),
    );
    if (!partner) return false;
    unmatched.delete(partner.key);
  }
  return true;
}

function sameSet(a: Set<unknown>, b: Set<unknown>, seen: Seen): boolean {
  if (a.size !== b.size) return false;
  const unmatched = new Set(b);
  for (const item of a) {
    const partner = findPartner(item, unmatched, seen, () => true);
    if (!partner) return false;
    unmatched.delete(partner.key);
  }
  return true;
}

/** Finds a key equal to `key` whose value fits too; the identical key first, as it nearly always is. */
function findPartner(
  key: unknown,
  candidates: Set<unknown>,
  seen: Seen,
  fits: (candidate: unknown) => boolean,
): { key: unknown } | undefined {
  if (candidates.has(key) && fits(key)) return { key };
  if (typeof key !== "object" || key === null) return undefined;
  for (const candidate of candidates) {
    if (compare(key, candidate, seen) && fits(candidate)) return { key: candidate };
  }
  return undefined;
}
