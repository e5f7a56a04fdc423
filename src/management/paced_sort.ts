// Sorts a long list in bounded steps: short stretches at once, then merges that may pause anywhere.
// Equal items keep their order. The HTTP API sorts its lists with it and passes the order.

import type { Pace } from "./slices.ts";

/** Items that are sorted at once. */
const STRETCH = 256;
const STRETCH_UNITS = 100;
/** Items merged between two checks whether the slice is over. */
const LOOK_ITEMS = 64;
const LOOK_UNITS = 8;

/** Returns the items in order. `items` itself is used as scratch space. */
export async function pacedSort<T>(
  items: T[],
  compare: (a: T, b: T) => number,
  pace: Pace,
): Promise<T[]> {
  for (let start = 0; start < items.length; start += STRETCH) {
    const stretch = items.slice(start, start + STRETCH).sort(compare);
    for (let i = 0; i < stretch.length; i++) items[start + i] = stretch[i]!;
    if (pace.spend(STRETCH_UNITS)) await pace.next();
  }
  let from = items;
  let to: T[] = new Array(items.length);
  for (let width = STRETCH; width < items.length; width *= 2) {
    for (let start = 0; start < items.length; start += 2 * width) {
      const merge = { start, middle: start + width, end: start + 2 * width };
      await mergeInto(to, from, { ...clamped(merge, items.length), compare, pace });
    }
    [from, to] = [to, from];
  }
  return from;
}

interface Stretches {
  readonly start: number;
  readonly middle: number;
  readonly end: number;
}

function clamped({ start, middle, end }: Stretches, length: number): Stretches {
  return { start, middle: Math.min(middle, length), end: Math.min(end, length) };
}

async function mergeInto<T>(
  to: T[],
  from: readonly T[],
  merge: Stretches & { compare: (a: T, b: T) => number; pace: Pace },
): Promise<void> {
  const { start, middle, end, compare, pace } = merge;
  let left = start;
  let right = middle;
  for (let at = start; at < end; at++) {
    const takesLeft = right === end || (left < middle && compare(from[left]!, from[right]!) <= 0);
    to[at] = takesLeft ? from[left++]! : from[right++]!;
    if ((at - start) % LOOK_ITEMS === 0 && pace.spend(LOOK_UNITS)) await pace.next();
  }
}
