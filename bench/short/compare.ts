// Judges ratios measured in one run beside those of a committed baseline. Called by
// guard.ts; pure, it is given the measuring. Absolute times say nothing of another machine, and
// even ratios wander with what else it does: only a clear loss counts, and only when it shows twice.

/** A ratio by the name of what it compares; higher is better. */
export type Ratios = Readonly<Record<string, number>>;

/** Something that was clearly better once. */
export interface Regression {
  readonly name: string;
  /** The ratio found, NaN when it was not measured. */
  readonly found: number;
  readonly baseline: number;
}

/** Below this share of the baseline is a regression. */
const shareMin = 0.5;

/** Pairs of times of the same moment, ours and another's, as one ratio: the median of theirs ÷ ours. */
export function ratioOf(ours: readonly number[], theirs: readonly number[]): number {
  const ratios = ours.map((time, round) => theirs[round]! / time).sort((a, b) => a - b);
  const middle = ratios.length >> 1;
  return ratios.length % 2 === 1 ? ratios[middle]! : (ratios[middle - 1]! + ratios[middle]!) / 2;
}

/** What of the baseline was not reached again. */
export function regressions(found: Ratios, baseline: Ratios, share = shareMin): Regression[] {
  return Object.entries(baseline)
    .map(([name, before]) => ({ name, found: found[name] ?? NaN, baseline: before }))
    .filter((one) => !(one.found >= one.baseline * share));
}

/** Of two runs the better ratio of each name: what disturbs a measurement seldom helps it. */
export function better(first: Ratios, second: Ratios): Ratios {
  const merged: Record<string, number> = { ...first };
  for (const [name, ratio] of Object.entries(second)) {
    merged[name] = Math.max(ratio, merged[name] ?? -Infinity);
  }
  return merged;
}

/** What a run found, and what of it fails. */
export interface Judgement {
  readonly ratios: Ratios;
  readonly regressions: readonly Regression[];
}

/** Measures, and measures what looks like a regression once more before it says so. */
export async function judge(
  measure: (names: readonly string[]) => Promise<Ratios>,
  baseline: Ratios,
): Promise<Judgement> {
  let ratios = await measure(Object.keys(baseline));
  let found = regressions(ratios, baseline);
  if (found.length > 0) {
    ratios = better(ratios, await measure(found.map((one) => one.name)));
    found = regressions(ratios, baseline);
  }
  return { ratios, regressions: found };
}
