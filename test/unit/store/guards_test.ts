// Guards of the store that a random simulation needs some ten thousand seeds to miss. Each has the short
// sequence that once found the fault it prevents, and each sequence is run with the guard taken away, too:
// it has to find the fault again, whatever has changed around it.

import { assertThrows } from "@std/assert";
import { CommitLog } from "../../../src/store/log/commit_log.ts";
import { LogReplay } from "../../../src/store/recovery/log_replay.ts";
import { Rescue } from "../../../src/store/upkeep/rescue.ts";
import { RetainedBatches } from "../../../src/store/log/retained_batches.ts";
import { Victims } from "../../../src/store/upkeep/victims.ts";
import * as scenarios from "./support/guard_scenarios.ts";

interface Guard {
  /** What would go wrong without it. */
  readonly fault: string;
  readonly target: object;
  readonly name: string;
  /** What stands in its place when it is taken away. */
  readonly without: PropertyDescriptor;
  readonly scenario: () => void;
}

const GUARDS: readonly Guard[] = [
  {
    fault: "tiny messages are moved from file to file for ever",
    target: Victims.prototype,
    name: "copyBytesOf",
    without: { value: () => 0 },
    scenario: scenarios.tinyMessages,
  },
  {
    fault: "a move that the disk refuses is tried again for ever",
    target: Victims.prototype,
    name: "mayMove",
    without: { value: () => true },
    scenario: scenarios.refusedMoves,
  },
  {
    fault: "batches are given up behind one that no log file has taken",
    target: RetainedBatches.prototype,
    name: "firstToSync",
    without: {
      get(this: RetainedBatches) {
        return this.all.find(({ isWritten }) => isWritten);
      },
    },
    scenario: scenarios.refusedFirst,
  },
  {
    fault: "a batch that is not needed is taken for a sign that those before are safe",
    target: CommitLog.prototype,
    name: "isAllDecided",
    without: { get: () => true },
    scenario: scenarios.mootBatch,
  },
  {
    fault: "a snapshot in place of a log holds part of a batch",
    target: Rescue.prototype,
    name: "mayBegin",
    without: { value: () => true },
    scenario: scenarios.openBatchAtRescue,
  },
  {
    fault: "a snapshot is removed that the manifest names, though not for sure",
    target: Rescue.prototype,
    name: "mayBeNamed",
    without: { value: () => false },
    scenario: scenarios.unsureManifest,
  },
  {
    fault: "a start without room takes a file for safe whose name is not",
    target: LogReplay.prototype,
    name: "syncNames",
    without: { value: () => {} },
    scenario: scenarios.unsafeName,
  },
];

function withoutGuard({ target, name, without, scenario }: Guard): void {
  const right = Object.getOwnPropertyDescriptor(target, name)!;
  Object.defineProperty(target, name, { ...right, ...without });
  try {
    scenario();
  } finally {
    Object.defineProperty(target, name, right);
  }
}

for (const guard of GUARDS) {
  Deno.test(`the store does not let it happen that ${guard.fault}`, () => guard.scenario());
  Deno.test(`its sequence finds out when ${guard.fault}`, () => {
    assertThrows(() => withoutGuard(guard));
  });
}
