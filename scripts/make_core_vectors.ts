// Writes core-wasm/vectors/delay.json from the rules in spelled-out big integer arithmetic: an oracle that shares no
// code with the core. Run by hand when cases are added: `deno run -A scripts/make_core_vectors.ts`.

import { writeFile } from "node:fs/promises";

const delayMsMax = 2n ** 32n - 1n;
const safeMax = Number.MAX_SAFE_INTEGER;

/** `min·n`, or `min·m^(n-1)`, clamped to `max` unless 0 and then to 2^32 - 1. */
function expectedDelay(min: number, multiplier: number, max: number, attempt: number): number {
  let delay = BigInt(min);
  if (multiplier === 0) delay *= BigInt(attempt);
  // Beyond 64 doublings the cap has long been reached, and the power would not fit the machine.
  else delay *= BigInt(multiplier) ** BigInt(multiplier === 1 ? 0 : Math.min(attempt - 1, 64));
  if (max !== 0 && delay > BigInt(max)) delay = BigInt(max);
  return Number(delay < delayMsMax ? delay : delayMsMax);
}

/** `d` less a share of `d·percent/100`, in whole milliseconds, at least 1. */
function expectedJitter(delay: number, percent: number, random: number): number {
  const span = Number((BigInt(delay) * BigInt(percent)) / 100n);
  return Math.max(1, delay - Math.floor(random * (span + 1)));
}

/** Minimum, multiplier (0 is linear), maximum (0 is none). */
const policies: [number, number, number][] = [
  [500, 0, 0], // linear
  [500, 0, 1_800], // linear, clamped
  [750, 1, 0], // constant
  [500, 2, 30_000], // doubling
  [1, 2, 0], // doubling, unclamped
  [7, 3, 0], // tripling
  [500, 2, 100], // max below min
  [500, 0, 1], // max of 1
  [500, 2, 2 ** 40], // max above the cap
  [safeMax, 2, 0], // largest min
  [safeMax, 0, 1_000], // largest min, linear, clamped
  [2 ** 32 - 1, 0, 0], // min at the cap
  [2 ** 32 - 2, 1, 0], // min just below the cap
  [2 ** 32, 1, 0], // min above the cap, constant
  [1, 2 ** 31 - 1, 0], // largest multiplier
  [3, 2 ** 31 - 1, 60_000], // largest multiplier, clamped
];
const attempts = [
  1,
  2,
  3,
  4,
  5,
  6,
  7,
  20,
  31,
  32,
  33,
  34,
  64,
  65,
  1_000,
  1_000_000,
  2 ** 31,
  safeMax,
];

const delays = policies.flatMap(([min, multiplier, max]) =>
  attempts.map((attempt) => [
    min,
    multiplier,
    max,
    attempt,
    expectedDelay(min, multiplier, max, attempt),
  ])
);

const jitters = [1, 2, 3, 99, 100, 1_000, 30_000, 2 ** 31, 2 ** 32 - 1].flatMap((delay) =>
  [0, 1, 10, 33, 50, 99, 100].flatMap((percent) =>
    [0, 2 ** -53, 0.25, 0.5, 0.75, 0.999, 1 - 2 ** -53].map((random) => [
      delay,
      percent,
      random,
      expectedJitter(delay, percent, random),
    ])
  )
);

/** One case a line, spaced as the formatter does: short to read and to compare. */
function lines(cases: readonly number[][]): string {
  return cases.map((one) => `    [${one.join(", ")}]`).join(",\n");
}

const text = `{
  "abi_version": 1,
  "delay_fields": ["min", "multiplier", "max", "attempt", "expected"],
  "delay": [
${lines(delays)}
  ],
  "jitter_fields": ["delay", "percent", "random", "expected"],
  "jitter": [
${lines(jitters)}
  ]
}
`;
await writeFile(new URL("../core-wasm/vectors/delay.json", import.meta.url), text);
