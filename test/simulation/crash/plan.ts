// What one run of the crash simulation does, drawn from its seed: how nodes die, what goes wrong with
// the disk, how small the files are and which queues there are. Everything random in a run comes from
// here or from generators that it hands out, so that a seed replays exactly.

import { Prng } from "../../../src/lib/prng.ts";
import type { StoreSizes } from "../../../src/store/folder/sizes.ts";
import type { Plain } from "../../support/test_broker.ts";

/** Seed of the checksums of every folder. */
export const STORE_SEED = 12345;

/** What goes wrong with a disk besides crashes. */
export type FaultKind = "none" | "writes" | "syncs" | "space" | "reads" | "any";

/** A queue that clients declare, delete and declare again. */
export interface QueuePlan {
  readonly name: string;
  readonly durable: boolean;
  readonly args: Plain;
}

/** A run. */
export interface Plan {
  readonly seed: number;
  readonly lives: number;
  readonly turnsPerLife: number;
  readonly operationsPerTurn: number;
  /** Chance in percent that a death takes the power with it. */
  readonly powerPercent: number;
  /** Chance in percent that a life ends in the middle of a disk operation. */
  readonly interruptedPercent: number;
  readonly faults: FaultKind;
  readonly isSynced: boolean;
  readonly sizes: StoreSizes;
  readonly residentBytesMax: number;
  readonly freeBytesMin: number;
  readonly bodyBytesMax: number;
  readonly queues: readonly QueuePlan[];
  /** How much clients settle against how much they publish: below 100, backlogs grow. */
  readonly settlePercent: number;
  /** How much of what clients settle is to be delivered again beyond what chance gives, in percent. */
  readonly retryPercent: number;
  readonly stepMsMax: number;
  /** The disk gives room in units of so many bytes. */
  readonly blockBytes: number;
}

/** A generator with the shorthands of a simulation. */
export class Dice {
  readonly prng: Prng;

  constructor(seed: number) {
    this.prng = new Prng(seed);
  }

  below(bound: number): number {
    return this.prng.nextBelow(bound);
  }

  /** From `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + this.prng.nextBelow(max - min + 1);
  }

  percent(chance: number): boolean {
    return this.prng.nextBelow(100) < chance;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.prng.nextBelow(items.length)]!;
  }
}

/** The run of a seed. */
export function planOf(seed: number): Plan {
  const dice = new Dice(seed);
  const faults = dice.percent(55)
    ? "none"
    : dice.pick<FaultKind>(["writes", "syncs", "space", "reads", "any"]);
  const isSynced = !dice.percent(8);
  return {
    seed,
    lives: dice.between(2, 6),
    turnsPerLife: dice.pick([10, 30, 60, 120]),
    operationsPerTurn: dice.pick([1, 3, 8]),
    powerPercent: isSynced ? dice.pick([0, 50, 100]) : 0,
    interruptedPercent: dice.pick([0, 50, 100]),
    faults,
    isSynced,
    sizes: sizesOf(dice),
    residentBytesMax: dice.pick([0, 2_000, 20_000, Infinity, Infinity]),
    freeBytesMin: faults === "space" ? dice.pick([0, 4_000, 16_000]) : 0,
    bodyBytesMax: dice.pick([30, 200, 3_000, 40_000]),
    queues: queuesOf(dice),
    settlePercent: dice.pick([30, 80, 120]),
    retryPercent: 0,
    stepMsMax: dice.pick([5, 100, 1_000]),
    blockBytes: dice.pick([1, 512, 4_096]),
  };
}

/** The same run with hardly any memory and a backlog in many small files: much goes to pages and is moved. */
export function crowded(plan: Plan): Plan {
  const sizes: StoreSizes = {
    ...plan.sizes,
    logFileBytes: 2_000,
    snapshotLogBytes: 1_000,
    segmentFileBytes: 2_000,
    moveSlackBytes: 0,
    laneFirstSlots: 2,
    laneSlots: 4,
    pageBytes: 300,
    sparePageMessagesMin: 1,
  };
  // Half of them have much ready, half of them much that is delayed.
  const isDelayed = plan.seed % 2 === 0;
  const settling = isDelayed ? { settlePercent: 150, retryPercent: 75 } : { settlePercent: 30 };
  const load = { turnsPerLife: 120, bodyBytesMax: 200, ...settling };
  const queues = plan.queues.map((queue, index) =>
    queue.durable && isDelayed
      ? { ...queue, args: { ...queue.args, "x-delayed-retry-min": 200 * (index + 1) } }
      : queue
  );
  return { ...plan, ...load, sizes, queues, residentBytesMax: 500 };
}

function sizesOf(dice: Dice): StoreSizes {
  const logFileBytes = dice.pick([500, 2_000, 10_000, 60_000]);
  return {
    logFileBytes,
    snapshotLogBytes: dice.pick([1_000, 4_000, 20_000, 200_000]),
    snapshotBatchBytes: dice.pick([60, 512]),
    snapshotPieceBytes: dice.pick([100, 1_000, 100_000]),
    snapshotPieceRefs: dice.pick([50, 300, 5_000]),
    segmentFileBytes: dice.pick([500, 4_000, 50_000]),
    moveGroupBytes: dice.pick([200, 2_000, 50_000]),
    moveGroupRecords: dice.pick([1, 5, 100]),
    heldBackBytesMax: dice.pick([0, 4_000, 1_000_000]),
    moveSlackBytes: dice.pick([0, 1_000, 10_000, 1_000_000]),
    evictRecordBytesMin: dice.pick([0, 64]),
    evictUnpagedBytesMin: dice.pick([0, 64, 2_000]),
    laneFirstSlots: dice.pick([2, 4, 32]),
    laneSlots: dice.pick([2, 4, 16, 1024]),
    pageBytes: dice.pick([100, 1_000, 100_000]),
    pagedChunkBytesMax: dice.pick([2_000, 100_000, 4_000_000]),
    pageGroupBytes: dice.pick([100, 3_000, 1_000_000]),
    pageGroupMessages: 4096,
    discardedPerStep: 3,
    pagesInFlightBytes: dice.pick([500, 10_000, 1_000_000]),
    sparePageMessagesMin: dice.pick([1, 3, 64]),
    delayedLeadMs: 5,
    lazySyncBytes: dice.pick([200, 5_000, 100_000]),
    roomCheckBytes: dice.pick([500, 10_000]),
    reserveBytes: dice.pick([0, 2_000, 20_000]),
  };
}

// Queue i gives up to queue i + 1, so chains have an end and no message meets a queue twice.
function queuesOf(dice: Dice): QueuePlan[] {
  const queues: QueuePlan[] = [];
  const count = dice.between(2, 6);
  for (let index = 0; index < count; index++) {
    const durable = !dice.percent(15);
    queues.push({ name: `q${index}`, durable, args: durable ? argsOf(dice, index + 1) : {} });
  }
  return queues;
}

function argsOf(dice: Dice, next: number): Plain {
  const args: Plain = {};
  if (dice.percent(60)) {
    args["x-dead-letter-exchange"] = "";
    args["x-dead-letter-routing-key"] = `q${next}`;
  }
  if (dice.percent(45)) {
    args["x-delayed-retry-min"] = dice.pick([1, 50, 700]);
    if (dice.percent(50)) args["x-delayed-retry-multiplier"] = dice.between(1, 3);
    if (dice.percent(30)) args["x-delayed-retry-max"] = 2_000;
  }
  if (dice.percent(50)) args["x-delivery-limit"] = dice.between(0, 4);
  if (dice.percent(20)) args["x-message-ttl"] = dice.pick([0, 200, 5_000]);
  if (dice.percent(20)) {
    args["x-max-length"] = dice.between(1, 12);
    if (dice.percent(40)) {
      args["x-overflow"] = dice.pick(["drop-head", "reject-publish", "reject-publish-dlx"]);
    }
  }
  return args;
}
