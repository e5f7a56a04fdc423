// The longest single piece of work of each kind that a store does in a turn: wraps the methods that do
// them and keeps the worst. backlog.ts and boot.ts print it. What counts is the time of the processor,
// where that is less than the time of the clock: other programs on the machine are no pauses of ours.

import process from "node:process";
import { Arena } from "../src/store/arena.ts";
import { CommitLog } from "../src/store/log/commit_log.ts";
import { DataFiles } from "../src/store/log/data_files.ts";
import { Evictor } from "../src/store/log/evictor.ts";
import { Keeper } from "../src/store/log/keeper.ts";
import { Mover } from "../src/store/log/mover.ts";
import { PageLoader } from "../src/store/log/page_loader.ts";
import { PageMover } from "../src/store/log/page_mover.ts";
import { Pager } from "../src/store/log/pager.ts";
import { SnapshotWriter } from "../src/store/log/snapshot_writer.ts";

type Method = (this: object, ...args: unknown[]) => unknown;

const STEPS: readonly (readonly [string, { prototype: object }, string])[] = [
  ["snapshot", SnapshotWriter, "step"],
  ["mover", Mover, "step"],
  ["pageMover", PageMover, "step"],
  ["pager", Pager, "step"],
  ["pageLoader", PageLoader, "step"],
  ["evictor", Evictor, "step"],
  ["compaction", Arena, "compact"],
  ["commit", CommitLog, "commit"],
  ["housekeeping", Keeper, "step"],
  // Waits for the disk: a new name has to be safe before anything is written under it.
  ["newFile", DataFiles, "create"],
];

/** Measures one piece of work after the other; they may lie in each other. */
export class PauseClock {
  #startMs = 0;
  #cpu: NodeJS.CpuUsage = { user: 0, system: 0 };

  start(): this {
    this.#cpu = process.cpuUsage();
    this.#startMs = performance.now();
    return this;
  }

  /** How long it has taken, ms. */
  get elapsedMs(): number {
    const clockMs = performance.now() - this.#startMs;
    // Most pieces are so short that there is nothing to be corrected.
    if (clockMs < 2) return clockMs;
    const { user, system } = process.cpuUsage(this.#cpu);
    return Math.min(clockMs, (user + system) / 1000);
  }
}

/** The longest steps since the last look, ms, by kind. */
export class LongestSteps {
  #worst: Record<string, number> = {};

  /** Begins to watch every store of the process. */
  constructor() {
    for (const [kind, owner, name] of STEPS) {
      const prototype = owner.prototype as Record<string, Method>;
      const step = prototype[name]!;
      const note = (ms: number) => {
        if (ms > (this.#worst[kind] ?? 0)) this.#worst[kind] = ms;
      };
      prototype[name] = function (...args): unknown {
        const clock = new PauseClock().start();
        const result = step.apply(this, args);
        note(clock.elapsedMs);
        return result;
      };
    }
  }

  /** What there was, and begins anew. */
  take(): Record<string, number> {
    const worst = this.#worst;
    this.#worst = {};
    const rounded = Object.entries(worst).map(([kind, ms]) => [kind, Number(ms.toFixed(1))]);
    return Object.fromEntries(rounded);
  }
}
