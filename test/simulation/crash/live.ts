// The life of a simulated node from its first turn on: clients at work, syncs and reads that end when
// they like, troubles with the disk. Ends by itself after some turns, or in a crash.

import type { SimNode, World } from "./node.ts";
import type { Dice } from "./plan.ts";
import { planFaults } from "./trouble.ts";
import { Workload } from "./workload.ts";

/** Where a life gets its chances from. */
export interface LifeDice {
  readonly work: Dice;
  readonly io: Dice;
  readonly troubles: Dice;
}

/** Runs the turns of a plan. @throws CrashSignal when the disk ends, Violation */
export function live(world: World, node: SimNode, { work, io, troubles }: LifeDice): void {
  const { turnsPerLife, operationsPerTurn, stepMsMax } = world.plan;
  const workload = new Workload(world, node, work);
  node.turn(() => workload.declareAll());
  const ioPercent = io.pick([20, 60, 90]);
  for (let turn = 0; turn < turnsPerLife; turn++) {
    planFaults(world, troubles);
    const byMs = work.percent(50) ? 0 : work.below(stepMsMax * 4) / 4;
    world.trace(`turn ${turn} at ${node.nowMs + byMs}, batch ${node.store.openBatch}`);
    node.turn(() => {
      const operations = work.below(operationsPerTurn + 1);
      for (let i = 0; i < operations; i++) workload.step();
    }, byMs);
    world.nowMs = node.nowMs;
    node.audit();
    node.io(io, ioPercent);
  }
}
