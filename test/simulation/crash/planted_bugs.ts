// Bugs to plant in a store, to see that the crash simulation finds them. Each takes a store that has just
// been opened, as `tamper` of a run; nothing of them outlives it.

import type { FileStore } from "../../../src/store/file_store.ts";
import { BatchWriter } from "../../../src/store/log/batch_writer.ts";
import { CommitLog } from "../../../src/store/log/commit_log.ts";

/** Says that a batch is safe as soon as it is written. */
export function saysSafeTooEarly(store: FileStore): void {
  Object.defineProperty(store, "safeBatch", { get: () => store.openBatch - 1 });
}

/** Removes one in twenty messages that queues have given up from memory only. */
export function forgetsRemovals(store: FileStore): void {
  const { entries } = store;
  const removed = entries.removed.bind(entries);
  let count = 0;
  entries.removed = (...args) => {
    if (++count % 20 !== 0) removed(...args);
  };
}

/** Enters one delivery too few for what is requeued at once. */
export function losesCounts(store: FileStore): void {
  const { entries } = store;
  const requeued = entries.requeued.bind(entries);
  entries.requeued = (queueId, position, ref, entry) => requeued(queueId, position, ref, entry - 1);
}

/** Dead-letters in two batches: the target's first, the removal from the source with the next. */
export function movesInTwoBatches(store: FileStore): void {
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

/** Runs `run` while copies of survivors are made but not entered in the log. */
export async function withoutMoved(run: () => Promise<void>): Promise<void> {
  const { moved } = BatchWriter.prototype;
  BatchWriter.prototype.moved = () => {};
  try {
    await run();
  } finally {
    BatchWriter.prototype.moved = moved;
  }
}

/** Runs `run` while files go when what emptied them is decided, whether or not it is on disk. */
export async function withEarlyRemoval(run: () => Promise<void>): Promise<void> {
  const stored = Object.getOwnPropertyDescriptor(CommitLog.prototype, "storedBatch")!;
  const get = function (this: CommitLog): number {
    return this.openBatch - 1;
  };
  Object.defineProperty(CommitLog.prototype, "storedBatch", { ...stored, get });
  try {
    await run();
  } finally {
    Object.defineProperty(CommitLog.prototype, "storedBatch", stored);
  }
}
