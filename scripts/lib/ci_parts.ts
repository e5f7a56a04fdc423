// The parts of CI, those that take longest first: what each does and what must have ended before it.
// scripts/ci.ts runs them in processes of their own. Nothing here knows how they are shared out.

import { guardSpeed } from "../../bench/short/guard.ts";
import { checkReadme } from "../check_readme.ts";
import { startFromBareClone, testFromBareClone } from "./bare_clone.ts";
import { runBesideRabbitMq } from "./beside_rabbitmq.ts";
import { runCoreHosts } from "./core_hosts.ts";
import { runDistTests } from "./dist_tests.ts";
import { GATES, runGates, SIMULATIONS } from "./gates.ts";
import type { Piece } from "./lanes.ts";
import { bringTypes } from "./oldest_engine.ts";
import { runPika } from "./pika.ts";
import {
  bunCommand,
  DIST_ENGINES,
  NODE_DIST,
  NODE_MIN,
  nodeCommand,
  RUNTIMES,
  VERSIONS,
} from "./runtimes.ts";
import { BEHAVIOUR, runTests } from "./suites.ts";
import { addCheck, emptyTally, type Tally } from "./tally.ts";
import { pythonWithPika } from "./tools.ts";

/** A part of CI. */
export interface Part extends Piece {
  /** Does it and counts; a rejection is one failure. */
  readonly run: () => Promise<Tally>;
}

/** Parts that count into a tally given to them. */
function counted(work: (tally: Tally) => Promise<void>): () => Promise<Tally> {
  return async () => {
    const tally = emptyTally();
    await work(tally);
    return tally;
  };
}

/** Every part in the order in which they begin. */
export const PARTS: readonly Part[] = [
  { name: "gates", run: counted((tally) => runGates(tally, GATES)) },
  { name: "simulations", run: counted((tally) => runGates(tally, SIMULATIONS)) },
  ...[VERSIONS.node, NODE_MIN].map((nodeVersion) => ({
    name: `tests under Node ${nodeVersion}`,
    run: () => runTests({ runtime: "node", nodeVersion, quiet: true }),
  })),
  { name: "tests under Deno, from a bare clone", run: testFromBareClone },
  { name: "tests under Bun", run: () => runTests({ runtime: "bun", quiet: true }) },
  { name: "hosts of the timing core", run: () => runCoreHosts() },
  {
    name: "dist under each runtime",
    // The gates build it.
    after: "gates",
    run: () => runDistTests(DIST_ENGINES, true),
  },
  { name: "sequences beside RabbitMQ", run: runBesideRabbitMq },
  { name: "starts in one clone, in any order", run: counted(startFromBareClone) },
  { name: "examples of README and docs", run: () => checkReadme() },
  {
    name: "behaviour on the file store",
    run: () => runTests({ runtime: "deno", only: BEHAVIOUR, isOnDisk: true, quiet: true }),
  },
  ...RUNTIMES.map((runtime) => ({
    name: `Python client against ${runtime}`,
    run: () => runPika(runtime, true),
  })),
  { name: "speed beside the baseline", isAlone: true, run: compareSpeed },
];

async function compareSpeed(): Promise<Tally> {
  const tally = emptyTally();
  const { ratios, regressions } = await guardSpeed();
  for (const name of Object.keys(ratios)) {
    addCheck(tally, `speed of ${name}`, regressions.every((one) => one.name !== name));
  }
  return tally;
}

/** Brings what several parts need, so that no two of them fetch the same thing at the same time. */
export function bringEverything(): void {
  const versions: readonly string[] = [VERSIONS.node, NODE_MIN, ...NODE_DIST];
  const steps: readonly (() => unknown)[] = [
    bunCommand,
    ...versions.map((version) => () => nodeCommand(version)),
    bringTypes,
    pythonWithPika,
  ];
  for (const step of steps) {
    try {
      step();
    } catch (error) {
      // The parts that need it fail and say so.
      console.log(error instanceof Error ? error.message : error);
    }
  }
}
