// One run of the crash simulation: lives of a node that end in crashes, on a disk that may lose, tear and
// refuse, with the checks after each restart and a last life in which everything is consumed. Called by
// the tests and by main.ts with a seed.

import { DiskError } from "../../../src/store/file_system.ts";
import type { FileStore } from "../../../src/store/file_store.ts";
import { CrashSignal, MemoryDisk } from "../../support/memory_disk.ts";
import { drain } from "./drain.ts";
import { type LifeDice, live } from "./live.ts";
import { type Death, Ledger, Violation } from "./ledger.ts";
import { Messages } from "./messages.ts";
import { openStore, SimNode, type World } from "./node.ts";
import { readRows } from "./rows.ts";
import { Dice, type Plan, planOf } from "./plan.ts";

/** How a run is started. */
export interface RunOptions {
  trace?: (line: string) => void;
  /** Plants a bug in each store that is opened. */
  tamper?: (store: FileStore) => void;
  plan?: Plan;
  /** Gets the disk as it was when something was found to be wrong. */
  onFailure?: (disk: MemoryDisk) => void;
}

/** What a run did. */
export interface RunResult {
  readonly seed: number;
  readonly lives: number;
  readonly published: number;
  readonly confirmed: number;
  readonly operations: number;
  readonly snapshots: number;
  readonly moves: number;
  readonly delayedReads: number;
}

/** Runs a seed. @throws whatever is wrong, with the seed in its message */
export async function run(seed: number, options: RunOptions = {}): Promise<RunResult> {
  const simulation = new Simulation(options.plan ?? planOf(seed), options);
  try {
    await simulation.run();
  } catch (error) {
    options.onFailure?.(simulation.disk);
    if (error instanceof Error) error.message = `seed ${seed}: ${error.message}`;
    throw error;
  }
  return simulation.result;
}

/** Nothing has happened yet. */
export function newWorld(plan: Plan, options: RunOptions = {}): World {
  return {
    plan,
    ledger: new Ledger(),
    messages: new Messages(),
    trace: options.trace ?? (() => {}),
    disk: new MemoryDisk({ blockBytes: plan.blockBytes }),
    life: 0,
    nowMs: 1_000_000,
    tamper: options.tamper ?? (() => {}),
  };
}

/** The chances of a plan's lives. */
export function lifeDice({ seed }: Plan): LifeDice {
  return {
    work: new Dice(seed * 8 + 2),
    io: new Dice(seed * 8 + 3),
    troubles: new Dice(seed * 8 + 4),
  };
}

class Simulation {
  readonly #plan: Plan;
  readonly #world: World;
  readonly #deaths: Dice;
  readonly #dice: LifeDice;
  #operations = 0;
  #snapshots = 0;
  #moves = 0;
  #delayedReads = 0;

  constructor(plan: Plan, options: RunOptions) {
    this.#plan = plan;
    this.#world = newWorld(plan, options);
    this.#deaths = new Dice(plan.seed * 8 + 1);
    this.#dice = lifeDice(plan);
  }

  get disk(): MemoryDisk {
    return this.#world.disk;
  }

  get result(): RunResult {
    const { messages, life } = this.#world;
    return {
      seed: this.#plan.seed,
      lives: life,
      published: messages.count,
      confirmed: messages.confirmedCount,
      operations: this.#operations,
      snapshots: this.#snapshots,
      moves: this.#moves,
      delayedReads: this.#delayedReads,
    };
  }

  async run(): Promise<void> {
    this.#world.trace(JSON.stringify(this.#plan));
    for (let life = 0; life < this.#plan.lives; life++) {
      const node = this.#start();
      if (node === null) continue;
      try {
        live(this.#world, node, this.#dice);
        this.#end(node);
      } catch (error) {
        if (!(error instanceof CrashSignal)) throw error;
        this.#world.trace(`  ${error.message}`);
        this.#die(node);
      }
    }
    this.#world.disk.clearFaults();
    this.#world.disk.quotaBytes = Infinity;
    const last = this.#start()!;
    this.#operations += await drain(this.#world, last, this.#dice.io);
    this.#delayedReads += last.delayedReads;
  }

  #start(): SimNode | null {
    const { disk, trace } = this.#world;
    this.#world.life++;
    const isLast = this.#world.life > this.#plan.lives;
    if (!isLast && this.#deaths.percent(this.#plan.interruptedPercent)) {
      const passes = this.#deaths.below(this.#deaths.pick([30, 200, 1_000]));
      disk.crashAfter(passes, this.#deaths.percent(50) ? this.#deaths.prng : null);
    }
    try {
      return new SimNode(this.#world, this.#world.nowMs);
    } catch (error) {
      if (error instanceof DiskError && isLast) {
        throw new Violation(`cannot start: ${error.message}`);
      }
      if (error instanceof DiskError) {
        // It refuses to start; somebody repairs the disk.
        trace(`  cannot start: ${error.message}`);
        disk.clearFaults();
        disk.quotaBytes = Infinity;
      } else if (!(error instanceof CrashSignal)) throw error;
      this.#die(null);
      return null;
    }
  }

  // A life ends between two turns, after some rest or in the middle of things.
  #end(node: SimNode): void {
    this.#world.disk.clearFaults();
    if (this.#deaths.percent(20)) node.rest();
    this.#die(node);
  }

  #die(node: SimNode | null): void {
    const { disk, ledger, trace } = this.#world;
    const death: Death = this.#deaths.percent(this.#plan.powerPercent) ? "power" : "process";
    trace(`dies: ${death}`);
    this.#operations += disk.operationCount;
    for (const name of disk.paths()) {
      if (name.startsWith("snapshot")) this.#snapshots++;
      else if (name.startsWith("segment")) this.#moves++;
    }
    this.#delayedReads += node?.delayedReads ?? 0;
    ledger.died(death, node?.store ?? null);
    const outcome = (): MemoryDisk =>
      disk.crash(
        death === "power" ? { kind: "power", prng: this.#deaths.prng } : { kind: "process" },
      );
    if (death === "power" && this.#deaths.percent(50)) this.#tryOutcome(outcome());
    this.#world.disk = outcome();
    this.#world.nowMs += this.#deaths.pick([0, 10, 3_000]);
  }

  // Another state that the same crash could have left must do as well.
  #tryOutcome(disk: MemoryDisk): void {
    const { ledger, trace } = this.#world;
    disk.quotaBytes = Infinity;
    const store = openStore(this.#plan, disk, trace);
    trace("  another outcome of the same crash");
    ledger.match(store.recovered, readRows(disk, store));
    if (store.recovered.queues.size > 10_000) throw new Violation("too many queues");
  }
}
