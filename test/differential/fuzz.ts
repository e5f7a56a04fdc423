// Many programs against both brokers, one after the other; each difference is shrunk and reported. Used
// by the task and by the short form that CI runs.

import { Broker } from "../../src/mod.ts";
import { makeProgram, type Program } from "./program.ts";
import { RabbitMq } from "./rabbitmq.ts";
import { runProgram, type Target } from "./run.ts";
import { shrink } from "./shrink.ts";

/** What to run. */
export interface FuzzOptions {
  /** Where Reprise keeps its data. */
  folder: string;
  count: number;
  seed: number;
  /** No further program is begun after this time. */
  secondsMax: number;
  /** Goes on after a difference. */
  keepsGoing: boolean;
  report: (line: string) => void;
}

/** How it went. */
export interface FuzzResult {
  programCount: number;
  methodCount: number;
  differenceCount: number;
  /** Differences that the same program did not show again: a race within a broker, or in the machine. */
  unstableCount: number;
  stepCount: number;
  /** How often a program started over, because a step left something open. */
  startedOverCount: number;
  /** What Reprise said, by kind, and how often: shows what the programs have reached. */
  said: Map<string, number>;
}

const REPORT_EVERY = 250;
// A difference counts when it comes back as often.
const REPEATS = 3;

/** Runs programs of rising seeds. */
export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const { report, count, seed } = options;
  const result: FuzzResult = {
    programCount: 0,
    methodCount: 0,
    differenceCount: 0,
    unstableCount: 0,
    stepCount: 0,
    startedOverCount: 0,
    said: new Map(),
  };
  const rabbitMq = await RabbitMq.start();
  const reprise = await Broker.start({ amqp: { port: 0 }, dataDir: options.folder });
  const targets: Target[] = [
    { name: "Reprise", port: Number(new URL(reprise.url).port), rest: () => Promise.resolve() },
    { name: "RabbitMQ", port: rabbitMq.port, rest: () => rabbitMq.rest() },
  ];
  const endMs = performance.now() + options.secondsMax * 1000;
  try {
    for (let index = 0; index < count && performance.now() < endMs; index++) {
      const program = makeProgram(seed + index);
      const outcome = await runProgram(program, targets);
      result.programCount++;
      result.methodCount += outcome.methodCount;
      result.stepCount += outcome.stepCount;
      result.startedOverCount += outcome.startedOverCount;
      for (const [kind, count] of outcome.said) {
        result.said.set(kind, (result.said.get(kind) ?? 0) + count);
      }
      if (result.programCount % REPORT_EVERY === 0) report(`${result.programCount} sequences`);
      if (outcome.difference === null) continue;
      report(`seed ${seed + index}: ${outcome.difference}`);
      if (!await isStable(program, targets)) {
        report("not seen again\n");
        result.unstableCount++;
        continue;
      }
      result.differenceCount++;
      const shrunk = await shrink(program, (one) => runProgram(one, targets));
      report(`shrunk: ${JSON.stringify(shrunk.program)}\n${shrunk.difference}\n`);
      if (!options.keepsGoing) break;
    }
  } finally {
    await reprise.close();
    await rabbitMq.stop();
  }
  return result;
}

async function isStable(program: Program, targets: readonly Target[]): Promise<boolean> {
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    if ((await runProgram(program, targets)).difference === null) return false;
  }
  return true;
}
