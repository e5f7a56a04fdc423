// Finds the name that was probably meant: the existing name that differs in the fewest letters.
// Refusals of unknown settings and arguments ask for it. It never decides what is accepted.

const LENGTH_MAX = 64;

/**
 * Returns how far two texts are apart: letters inserted, left out, replaced or swapped with their
 * neighbour.
 */
export function distanceOf(a: string, b: string): number {
  const left = a.slice(0, LENGTH_MAX).toLowerCase();
  const right = b.slice(0, LENGTH_MAX).toLowerCase();
  let before: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, j) => j);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const replaced = last[j - 1]! + (left[i - 1] === right[j - 1] ? 0 : 1);
      let least = Math.min(replaced, last[j]! + 1, row[j - 1]! + 1);
      const isSwap = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      if (isSwap) least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    before = last;
    last = row;
  }
  return last[right.length]!;
}

/**
 * Returns the nearest of `names`, the first of several that are equally near; undefined without
 * names.
 */
export function nearestOf(given: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = Infinity;
  for (const name of names) {
    const distance = distanceOf(given, name);
    if (distance >= least) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

/** Letters that the beginnings of two names must share at least. */
const BEGINNING_MIN = 3;

/**
 * Returns the name that was probably meant. This is the nearest name if at most a third of its
 * letters differ, else a name that begins like `given` or is the beginning of it.
 */
export function slipOf(given: string, names: readonly string[]): string | undefined {
  const nearest = nearestOf(given, names);
  if (nearest === undefined) return undefined;
  if (distanceOf(given, nearest) <= Math.max(1, nearest.length / 3)) return nearest;
  const wanted = given.toLowerCase();
  return names.find((name) => {
    const shorter = Math.min(name.length, given.length);
    const other = name.toLowerCase();
    return shorter >= BEGINNING_MIN && (other.startsWith(wanted) || wanted.startsWith(other));
  });
}
