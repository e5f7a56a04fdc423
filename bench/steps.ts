// How long the single pieces of work take that a store does in a turn: wraps the methods that do them
// and keeps, by kind, the longest and the time that all but one in a thousand stay below. Of the longest
// it says what it was made of: the processor's time in this thread, waiting for calls of the system, and
// collecting garbage. What counts is the time of the processor or of the system, where that is less than
// the time of the clock: other programs on the machine are no pauses of ours. backlog.ts, boot.ts and pauses.ts print it.

import { PerformanceObserver } from "node:perf_hooks";
import process from "node:process";
import { Broker } from "../src/broker/broker.ts";
import { FolderFileSystem } from "../src/runtime/file_system.ts";
import { Arena } from "../src/store/memory/arena.ts";
import { CommitLog } from "../src/store/log/commit_log.ts";
import { DataFiles } from "../src/store/folder/data_files.ts";
import { Evictor } from "../src/store/residency/evictor.ts";
import { Keeper } from "../src/store/upkeep/keeper.ts";
import { FileMover } from "../src/store/upkeep/file_mover.ts";
import { PageSet } from "../src/store/pages/page_set.ts";
import { PageWriter } from "../src/store/pages/page_writer.ts";
import { Pager } from "../src/store/pages/pager.ts";
import { SnapshotWriter } from "../src/store/upkeep/snapshot_writer.ts";

type Method = (this: object, ...args: unknown[]) => unknown;
type Owner = { prototype: object };

/** What happened while a piece of work was done, by which its kind is told. */
const seen = { pagesAdded: 0, pagesRemoved: 0, pagesWritten: 0, systemMs: 0 };

const STEPS: readonly (readonly [string | ((self: object) => string), Owner, string])[] = [
  [(self) => `snapshot ${(self as SnapshotWriter).phase}`, SnapshotWriter, "step"],
  ["move", FileMover, "step"],
  ["pager", Pager, "step"],
  ["evict", Evictor, "step"],
  ["compact", Arena, "compact"],
  ["log commit", CommitLog, "commit"],
  ["housekeeping", Keeper, "step"],
  ["new file", DataFiles, "create"],
  ["file removal", DataFiles, "remove"],
  ["timers", Broker, "beginTurn"],
  ["dispatch", Broker, "dispatch"],
];

// What is called often and takes no time is only counted.
const COUNTED: readonly (readonly [keyof typeof seen, Owner, string])[] = [
  ["pagesAdded", PageSet, "add"],
  ["pagesRemoved", PageSet, "remove"],
  ["pagesWritten", PageWriter, "finish"],
];

/** One piece of work. */
export interface Step {
  ms: number;
  /** Of the processor in this thread, where the runtime tells. */
  cpuMs: number;
  /** In calls of the system that came back when they were done. */
  systemMs: number;
  /** In the collection of garbage, where the runtime tells. */
  gcMs: number;
  startMs: number;
}

/** All pieces of one kind. */
export interface StepSummary {
  count: number;
  /** 999 of 1000 take no longer, ms. */
  mostMs: number;
  longest: Step;
}

const BUCKETS_PER_OCTAVE = 8;
// Below a 1024th of a millisecond nothing is told apart.
const OCTAVE_MIN = -10;
const BUCKET_COUNT = 256;

/** Times of one kind, in buckets. */
class Times {
  readonly #buckets = new Uint32Array(BUCKET_COUNT);
  #count = 0;
  #longest: Step = { ms: 0, cpuMs: 0, systemMs: 0, gcMs: 0, startMs: 0 };

  add(step: Step): void {
    const ms = pauseMs(step);
    const octave = Math.max(0, Math.log2(ms) - OCTAVE_MIN);
    this.#buckets[Math.min(BUCKET_COUNT - 1, Math.floor(octave * BUCKETS_PER_OCTAVE))]!++;
    this.#count++;
    if (ms > pauseMs(this.#longest)) this.#longest = step;
  }

  summary(): StepSummary {
    let left = this.#count * 0.001;
    let bucket = BUCKET_COUNT - 1;
    while (bucket > 0 && this.#buckets[bucket]! <= left) left -= this.#buckets[bucket--]!;
    const upToMs = 2 ** ((bucket + 1) / BUCKETS_PER_OCTAVE + OCTAVE_MIN);
    const mostMs = Math.min(pauseMs(this.#longest), upToMs);
    return { count: this.#count, mostMs, longest: this.#longest };
  }
}

const threadCpuUsage = (process as { threadCpuUsage?: typeof process.cpuUsage }).threadCpuUsage
  ?.bind(process) ?? process.cpuUsage.bind(process);

/** Measures one piece of work after the other; they may lie in each other. */
export class PauseClock {
  #startMs = 0;
  #systemMs = 0;
  #cpu: NodeJS.CpuUsage = { user: 0, system: 0 };

  start(): this {
    this.#systemMs = seen.systemMs;
    this.#cpu = threadCpuUsage();
    this.#startMs = performance.now();
    return this;
  }

  /** What it has been. */
  end(): Step {
    const ms = performance.now() - this.#startMs;
    const { user, system } = threadCpuUsage();
    return {
      ms,
      cpuMs: (user + system - this.#cpu.user - this.#cpu.system) / 1000,
      systemMs: seen.systemMs - this.#systemMs,
      gcMs: 0,
      startMs: this.#startMs,
    };
  }
}

/**
 * The time of the processor, where that is less than the time of the clock: other programs on the machine
 * are no pauses of ours. Calls of the system count as long as they last.
 */
export function pauseMs({ ms, cpuMs, systemMs }: Step): number {
  return Math.min(ms, Math.max(cpuMs, systemMs));
}

/** The steps since the last look, by kind. */
export class StepTimes {
  #times = new Map<string, Times>();
  readonly #collections: { startMs: number; endMs: number }[] = [];

  /** Begins to watch every store of the process. */
  constructor() {
    watchSystem((kind, step) => this.note(kind, step));
    for (const [kind, owner, name] of STEPS) this.#wrap(owner, name, kind);
    for (const [what, owner, name] of COUNTED) {
      const prototype = owner.prototype as Record<string, Method>;
      const method = prototype[name]!;
      prototype[name] = function (...args): unknown {
        seen[what]++;
        return method.apply(this, args);
      };
    }
    if (!(PerformanceObserver.supportedEntryTypes ?? []).includes("gc")) return;
    new PerformanceObserver((list) => {
      for (const { startTime, duration } of list.getEntries()) {
        this.#collections.push({ startMs: startTime, endMs: startTime + duration });
      }
    }).observe({ entryTypes: ["gc"] });
  }

  #wrap(owner: Owner, name: string, kind: string | ((self: object) => string)): void {
    const prototype = owner.prototype as Record<string, Method>;
    const step = prototype[name]!;
    const note = this.note.bind(this);
    prototype[name] = function (...args): unknown {
      const clock = new PauseClock().start();
      const { pagesAdded, pagesWritten } = seen;
      const began = typeof kind === "string" ? kind : kind(this);
      const result = step.apply(this, args);
      const isPager = began === "pager";
      const wrote = isPager && seen.pagesWritten > pagesWritten ? " write" : "";
      const committed = isPager && seen.pagesAdded > pagesAdded ? " commit" : "";
      note(began + wrote + committed, clock.end());
      return result;
    };
  }

  /** Enters a piece of work. */
  note(kind: string, step: Step): void {
    let times = this.#times.get(kind);
    if (times === undefined) this.#times.set(kind, times = new Times());
    times.add(step);
  }

  /** What there was, and begins anew. */
  take(): Map<string, StepSummary> {
    const summaries = new Map<string, StepSummary>();
    for (const [kind, times] of this.#times) {
      const summary = times.summary();
      summary.longest.gcMs = this.#collectedIn(summary.longest);
      summaries.set(kind, summary);
    }
    this.#times = new Map();
    this.#collections.length = 0;
    return summaries;
  }

  #collectedIn({ startMs, ms }: Step): number {
    let collectedMs = 0;
    for (const one of this.#collections) {
      const insideMs = Math.min(one.endMs, startMs + ms) - Math.max(one.startMs, startMs);
      if (insideMs > 0) collectedMs += insideMs;
    }
    return collectedMs;
  }

  /** The longest of each kind, ms, and begins anew. */
  takeLongest(): Record<string, number> {
    const longest = [...this.take()].map(([kind, summary]) => [
      kind,
      Number(pauseMs(summary.longest).toFixed(1)),
    ]);
    return Object.fromEntries(longest);
  }
}

type Note = (kind: string, step: Step) => void;

// Sums up how long calls of the system take that the thread waits for, and times what is done when reads
// and syncs have ended.
function watchSystem(note: Note): void {
  const prototype = FolderFileSystem.prototype as unknown as Record<string, Method>;
  for (const name of ["open", "remove", "rename", "syncFolder", "freeBytes", "list"]) {
    timeSystem(prototype, name);
  }
  const timed = prototype["open"]!;
  let isHandleWatched = false;
  prototype["open"] = function (...args): unknown {
    const handle = timed.apply(this, args) as object;
    if (!isHandleWatched) {
      isHandleWatched = true;
      watchHandle(Object.getPrototypeOf(handle) as Record<string, Method>, note);
    }
    return handle;
  };
}

function watchHandle(prototype: Record<string, Method>, note: Note): void {
  for (const name of ["write", "syncNow", "readNow", "close"]) timeSystem(prototype, name);
  const read = prototype["read"]!;
  const loaded = () => seen.pagesRemoved;
  prototype["read"] = function (offset, length, done): unknown {
    return read.call(this, offset, length, timedDone(done as Done, note, loaded));
  };
  const sync = prototype["sync"]!;
  prototype["sync"] = function (done): unknown {
    return sync.call(this, timedDone(done as Done, note, null));
  };
}

type Done = (result: unknown) => void;

function timedDone(done: Done, note: Note, loaded: (() => number) | null): Done {
  return (result) => {
    const before = loaded?.();
    const clock = new PauseClock().start();
    done(result);
    if (loaded === null) note("sync ended", clock.end());
    else note(loaded() === before ? "read ended" : "page load", clock.end());
  };
}

function timeSystem(prototype: Record<string, Method>, name: string): void {
  const call = prototype[name]!;
  prototype[name] = function (...args): unknown {
    const startMs = performance.now();
    try {
      return call.apply(this, args);
    } finally {
      seen.systemMs += performance.now() - startMs;
    }
  };
}
