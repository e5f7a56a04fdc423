// What goes wrong with the disk of a simulated node besides crashes: errors of single operations and a
// disk that fills up. Planned a little at a time, so that nodes live on between them.

import type { OperationKind } from "../../support/memory_disk.ts";
import type { World } from "./node.ts";
import type { Dice, FaultKind } from "./plan.ts";

const PREFIXES = ["log-", "log-", "segment-", "snapshot-", "MANIFEST", ""];
const KINDS: Record<Exclude<FaultKind, "none" | "space">, readonly OperationKind[]> = {
  writes: ["write"],
  syncs: ["sync"],
  reads: ["read"],
  any: ["write", "sync", "read", "open", "rename", "remove", "syncFolder"],
};

/** Plans what goes wrong in the next turns. */
export function planFaults(world: World, dice: Dice): void {
  const { plan, disk, trace } = world;
  if (plan.faults === "none") return;
  if (plan.faults === "space") return changeQuota(world, dice);
  if (!dice.percent(8)) return;
  const kind = dice.pick(KINDS[plan.faults]);
  const prefix = kind === "read" ? "" : dice.pick(PREFIXES);
  const code = kind === "write" && dice.percent(50) ? "ENOSPC" : "EIO";
  const times = dice.pick([1, 1, 2, 5]);
  trace(`  the next ${times} ${kind} of '${prefix}' fail with ${code}`);
  for (let i = 0; i < times; i++) disk.failNext(kind, code, prefix);
}

function changeQuota(world: World, dice: Dice): void {
  const { disk, trace } = world;
  if (!dice.percent(10)) return;
  disk.quotaBytes = dice.percent(40)
    ? Infinity
    : disk.usedBytes + dice.below(dice.pick([100, 3_000, 30_000]));
  trace(`  quota ${disk.quotaBytes}, used ${disk.usedBytes}`);
}
