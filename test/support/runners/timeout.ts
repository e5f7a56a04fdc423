// The longest time one test may take under any runner. Generous: it ends what hangs on a machine that
// is busy with other work, and judges nobody's speed.

/** After this many milliseconds a test has failed. */
export const TEST_TIMEOUT_MS = 180_000;
