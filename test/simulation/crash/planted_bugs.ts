// Stores with one bug each, to prove that the crash simulation is not blind: parts of a store that do
// almost what they should. Used by the simulation's own test and by main.ts only; nothing of a bug
// outlives its run.

import { Broker } from "../../../src/broker/broker.ts";
import { DeadLetters } from "../../../src/broker/dead_letters/dead_letters.ts";
import { RetryPages } from "../../../src/broker/retry/pages.ts";
import { RetryScan } from "../../../src/broker/retry/scan.ts";
import type { FileStore } from "../../../src/store/file_store.ts";
import type { DiskError } from "../../../src/store/file_system.ts";
import { BatchWriter } from "../../../src/store/format/batch_writer.ts";
import { CommitLog } from "../../../src/store/log/commit_log.ts";
import { MemoryDisk } from "../../support/memory_disk.ts";
import type { RunOptions } from "./simulation.ts";

/** Runs a simulation over stores with a bug. */
export type PlantedBug = (run: (options: RunOptions) => Promise<unknown>) => Promise<unknown>;

/** A bug that is planted in each store when it has been opened. */
function inStore(tamper: (store: FileStore) => void): PlantedBug {
  return (run) => run({ tamper });
}

/** A bug in a property of a class of which a store keeps its own to itself. */
function inClass(target: object, name: string, bug: PropertyDescriptor): PlantedBug {
  return async (run) => {
    const right = Object.getOwnPropertyDescriptor(target, name)!;
    Object.defineProperty(target, name, { ...right, ...bug });
    try {
      await run({});
    } finally {
      Object.defineProperty(target, name, right);
    }
  };
}

function safeTooEarly(store: FileStore): void {
  Object.defineProperty(store, "safeBatch", { get: () => store.openBatch - 1 });
}

function forgetful(store: FileStore): void {
  const { entries } = store;
  const removed = entries.removed.bind(entries);
  let count = 0;
  entries.removed = (...args) => {
    if (++count % 20 !== 0) removed(...args);
  };
}

function miscounting(store: FileStore): void {
  const { entries } = store;
  const requeued = entries.requeued.bind(entries);
  entries.requeued = (queueId, position, ref, entry) => requeued(queueId, position, ref, entry - 1);
}

function splitting(store: FileStore): void {
  const { entries } = store;
  const removed = entries.removed.bind(entries);
  const commit = store.commit.bind(store);
  let late: Parameters<typeof removed>[] = [];
  entries.removed = (...args) => {
    if (args[3] === "acked") removed(...args);
    else late.push(args);
  };
  store.commit = (nowMs) => {
    commit(nowMs);
    for (const args of late) removed(...args);
    late = [];
  };
}

const withoutMoved = inClass(BatchWriter.prototype, "moved", { value: () => {} });

const withoutPageMoved = inClass(BatchWriter.prototype, "pageMoved", { value: () => {} });

const withoutUnpaged = inClass(BatchWriter.prototype, "unpaged", { value: () => {} });

const overtaking = inClass(RetryPages.prototype, "expectedMs", { get: () => Infinity });

const withoutArrivals = inClass(RetryScan.prototype, "arrived", { value: () => {} });

const undecided = inClass(DeadLetters.prototype, "enter", { value: () => {} });

const withoutDying = inClass(BatchWriter.prototype, "dying", { value: () => {} });

const withoutRestoredLetters = inClass(DeadLetters.prototype, "restore", { value: () => {} });

// What has waited for a read goes on when everything else of the turn has been written.
const resumingTooLate: PlantedBug = async (run) => {
  const { resumeInTurn, writeRest } = Broker.prototype;
  const late: (() => void)[] = [];
  Broker.prototype.resumeInTurn = (resume) => void late.push(resume);
  Broker.prototype.writeRest = function () {
    writeRest.call(this);
    for (const resume of late.splice(0)) resume();
  };
  try {
    await run({});
  } finally {
    Object.assign(Broker.prototype, { resumeInTurn, writeRest });
  }
};

const removingTooEarly = inClass(CommitLog.prototype, "storedBatch", {
  get(this: CommitLog): number {
    return this.openBatch - 1;
  },
});

// Done after a while, but nothing has been synced.
const withoutNames = inClass(MemoryDisk.prototype, "syncFolderLater", {
  value(this: MemoryDisk, _folder: string, done: (error: DiskError | null) => void): void {
    this.removeLater("nothing", done);
  },
});

/** Bugs by what they are. */
export const PLANTED_BUGS: Readonly<Record<string, PlantedBug>> = {
  "a batch is called safe as soon as it is written": inStore(safeTooEarly),
  "one in twenty messages is removed from memory alone": inStore(forgetful),
  "what is requeued is counted one delivery too low": inStore(miscounting),
  "a dead letter leaves its queue one batch after it has got to the next": inStore(splitting),
  "copies of survivors are made, but not entered in the log": withoutMoved,
  "copies of pages are made, but not entered in the log": withoutPageMoved,
  "names of new files are not synced": withoutNames,
  "pages are read back, but the log does not say so": withoutUnpaged,
  "what is due does not wait for a page with what was due before it": overtaking,
  "a look for a delayed message does not see what is read meanwhile": withoutArrivals,
  "what was given up and waits is not in the log": undecided,
  "what was given up and waits is counted, but not written": withoutDying,
  "a start forgets what was on its way to the dead-letter exchange": withoutRestoredLetters,
  "a get that had to wait for a read is answered before its delivery is written": resumingTooLate,
  "files go before what emptied them is on disk": removingTooEarly,
};
