// Kills a broker again and again under load, starts it on the same folder, and in the end compares what
// is there with what its clients were told. In real time: what is tested is a real process and a real
// disk. The short test and the long task call it.

import { checkFolder } from "../../../src/check.ts";
import { Prng } from "../../../src/lib/prng.ts";
import type { ReadyBroker } from "../../e2e/support/program.ts";
import { Ledger } from "./ledger.ts";
import { Load, type LoadState } from "./load.ts";

/** What a run is told. */
export interface KillRun {
  readonly rounds: number;
  readonly seed: number;
  readonly folder: string;
  /** Starts a broker on the folder. */
  start(): Promise<ReadyBroker>;
  /** Told about each round. */
  report?(line: string): void;
}

const LIFE_MS_MIN = 200;
const LIFE_MS_MAX = 1500;
const DRAIN_LIMIT_MS = 60_000;

/** Runs the rounds; what is not as it must be. */
export async function runKills(run: KillRun): Promise<string[]> {
  const prng = new Prng(run.seed);
  const ledger = new Ledger();
  const state: LoadState = { prng, ledger, events: [], declared: [], nextId: 1 };
  for (let round = 1; round <= run.rounds; round++) {
    await killOnce(run, state, round);
    if (ledger.problems.length > 0) break;
  }
  await comeBack(run, state);
  return ledger.problems;
}

async function killOnce(run: KillRun, state: LoadState, round: number): Promise<void> {
  const { prng, ledger } = state;
  const startMs = Date.now();
  const { program, url } = await run.start();
  const readyMs = Date.now() - startMs;
  try {
    const load = await Load.open(url, state);
    const running = load.run(round);
    const lifeMs = LIFE_MS_MIN + prng.nextBelow(LIFE_MS_MAX - LIFE_MS_MIN);
    await new Promise((resolve) => setTimeout(resolve, lifeMs));
    program.signal("SIGKILL");
    await running;
    run.report?.(
      `round ${round}: ready after ${readyMs} ms, killed after ${lifeMs} ms, ${ledger.summary}`,
    );
  } finally {
    program.signal("SIGKILL");
    const { stderr } = await program.ended;
    const said = complaints(stderr);
    if (said !== "") ledger.problem(`the broker said: ${said.slice(0, 2000)}`);
  }
  const { lines, isWhole } = checkFolder(run.folder);
  if (!isWhole) ledger.problem(lines.join("\n"));
}

async function comeBack(run: KillRun, state: LoadState): Promise<void> {
  const { ledger } = state;
  const { program, url } = await run.start();
  try {
    const load = await Load.open(url, state);
    await load.drain(DRAIN_LIMIT_MS);
    await load.inspect();
    ledger.close();
    await load.close();
    const unseen = `${ledger.takenUnseen} unanswered gets have taken a message`;
    run.report?.(`the end: ${ledger.summary}; ${unseen}`);
  } finally {
    program.signal("SIGTERM");
    const { code, stderr } = await program.ended;
    const said = complaints(stderr);
    if (code !== 0 || said !== "") ledger.problem(`the broker ended with ${code}: ${said}`);
  }
}

// A write that SIGKILL cut short leaves a torn end, which the next start says it does not use. That is as
// it should be: nothing in it was confirmed. Anything else the broker says is a problem.
function complaints(stderr: string): string {
  const lines = stderr.split("\n").filter((line) => line !== "");
  return lines.filter((line) => !line.includes("the log ends with what a crash has torn")).join(
    "\n",
  );
}
