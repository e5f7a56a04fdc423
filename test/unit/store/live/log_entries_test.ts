// LogEntries: the holdings, from which snapshots are written, say after each entry what the log says.

import { assertEquals, assertGreater } from "@std/assert";
import { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { DEFAULT_SIZES } from "../../../../src/store/folder/sizes.ts";
import {
  BATCH_HEADER_BYTES,
  dyingState,
  STATE_DELAYED,
  STATE_OUT,
  STATE_READY,
} from "../../../../src/store/format/format.ts";
import { Definitions } from "../../../../src/store/live/definitions.ts";
import { Holdings } from "../../../../src/store/live/holdings.ts";
import { LogEntries } from "../../../../src/store/live/log_entries.ts";
import { CommitLog } from "../../../../src/store/log/commit_log.ts";
import { Arena } from "../../../../src/store/memory/arena.ts";
import { emptySource } from "../../../../src/store/views.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

function start() {
  const disk = new MemoryDisk();
  const files = new DataFiles(disk);
  const nothing = () => {};
  const told = { wake: nothing, relocated: nothing, failed: nothing, broken: nothing };
  const log = new CommitLog({
    files,
    listener: { ...told, repaired: nothing },
    seed: 1,
    isSynced: true,
    openBatch: 1,
    lastBatch: 0,
    sizes: DEFAULT_SIZES,
  });
  const arena = new Arena();
  const holdings = new Holdings();
  const none = { exchange: new Map(), queue: new Map(), binding: new Map(), deleted: new Map() };
  const definitions = new Definitions({ definitions: none, queueIdMax: 4 });
  const entries = new LogEntries({ arena, holdings, log, definitions });
  const body = new Uint8Array(50);
  const record = () => arena.append({ ...emptySource(), body, bodyEnd: 50, flags: 1 }, 1);
  const commit = () => {
    log.commit(0);
    entries.committed();
  };
  const rowOf = (ref: number, queueId: number) => {
    const holding = holdings.find(ref, queueId);
    return {
      position: holdings.positionOf(holding),
      state: holdings.stateOf(holding),
      entry: holdings.entryOf(holding),
    };
  };
  return { disk, log, holdings, definitions, entries, record, commit, rowOf };
}

Deno.test("LogEntries set state and deliveries of the message that an entry is about", () => {
  const { entries, record, rowOf, holdings } = start();
  const [ref, other] = [record(), record()];
  for (const queueId of [1, 2]) entries.enqueued(queueId, 10, ref);
  entries.enqueued(1, 11, other);
  assertEquals(rowOf(ref, 1), { position: 10, state: STATE_READY, entry: 0 });
  entries.delivered(1, 10, ref, 3);
  assertEquals(rowOf(ref, 1), { position: 10, state: STATE_OUT, entry: 3 });
  entries.requeued(1, 10, ref, 4);
  assertEquals(rowOf(ref, 1), { position: 10, state: STATE_READY, entry: 4 });
  entries.delayed(1, 10, ref, { dueMs: 700, entry: 5, number: 8 });
  assertEquals(rowOf(ref, 1), { position: 10, state: STATE_DELAYED, entry: 5 });
  const holding = holdings.find(ref, 1);
  assertEquals([holdings.dueMsOf(holding), holdings.delayNumberOf(holding)], [700, 8]);
  entries.returned(1, 10, ref, 20);
  assertEquals(rowOf(ref, 1), { position: 20, state: STATE_READY, entry: 5 });
  for (const reason of ["rejected", "expired", "maxlen", "delivery_limit"] as const) {
    entries.dying(1, 20, ref, { reason, entry: 6 });
    assertEquals(rowOf(ref, 1), { position: 20, state: dyingState(reason), entry: 6 });
  }
  assertEquals(rowOf(ref, 2), { position: 10, state: STATE_READY, entry: 0 });
  assertEquals(rowOf(other, 1), { position: 11, state: STATE_READY, entry: 0 });
});

Deno.test("LogEntries write a record once for all queues of a turn, and know its place", () => {
  const { disk, log, holdings, entries, record, commit } = start();
  entries.enqueued(1, 5, record());
  commit();
  const before = log.file.byteLength;
  const ref = record();
  entries.enqueued(1, 10, ref);
  const { byteCount } = log.batch.out;
  const [offset, bytes] = [holdings.offsetOf(ref), holdings.recordBytesOf(ref)];
  assertEquals([offset, holdings.fileOf(ref)], [before + BATCH_HEADER_BYTES, log.file.number]);
  for (const queueId of [2, 3]) entries.enqueued(queueId, 10, ref);
  assertEquals([holdings.offsetOf(ref), holdings.recordBytesOf(ref)], [offset, bytes]);
  assertGreater(bytes, log.batch.out.byteCount - byteCount);
  assertEquals([log.file.liveRecords, holdings.count], [2, 4]);
  // Somebody waits for a message that was published.
  commit();
  assertEquals(disk.pendingCount > 0, true);
});

Deno.test("LogEntries call a batch moot only if all of it concerns messages that came and went in it", () => {
  const come = ({ entries, record }: ReturnType<typeof start>) => {
    const ref = record();
    entries.enqueued(1, 10, ref);
    return ref;
  };
  const go = ({ entries }: ReturnType<typeof start>, ref: number) => {
    entries.removed(1, 10, ref, "acked");
    entries.freed(ref);
  };
  const empty = start();
  assertEquals(empty.entries.isMoot, false);
  const one = start();
  const ref = come(one);
  assertEquals(one.entries.isMoot, false);
  go(one, ref);
  assertEquals(one.entries.isMoot, true);
  const second = come(one);
  assertEquals(one.entries.isMoot, false);
  go(one, second);
  assertEquals(one.entries.isMoot, true);
  one.entries.defined("exchange", "e", {});
  assertEquals(one.entries.isMoot, false);
  // A message of an earlier batch is needed on the disk.
  const two = start();
  const old = come(two);
  two.commit();
  go(two, old);
  assertEquals(two.entries.isMoot, false);
  go(two, come(two));
  assertEquals(two.entries.isMoot, false);
  const three = start();
  const delivered = come(three);
  three.entries.delivered(1, 10, delivered, 1);
  go(three, delivered);
  assertEquals(three.entries.isMoot, false);
});

Deno.test("LogEntries know the last batches that changed definitions, and ask for a sync of them", () => {
  const { disk, definitions, entries, log, commit } = start();
  const keys = () => [...{ [Symbol.iterator]: () => definitions.all() }].map(({ key }) => key);
  log.commit(0);
  assertEquals([entries.definitionBatch, log.batch.isEmpty, keys()], [0, true, []]);
  entries.defined("queue", "q", { id: 7 });
  entries.defined("exchange", "e", { id: 99 });
  assertEquals([entries.definitionBatch, entries.undefinitionBatch], [2, 0]);
  assertEquals([definitions.lastQueueId, keys()], [7, ["e", "q"]]);
  commit();
  assertEquals(disk.pendingCount > 0, true);
  disk.finishAll();
  entries.undefined("queue", "q");
  entries.undefined("exchange", "unknown");
  assertEquals([entries.definitionBatch, entries.undefinitionBatch], [3, 3]);
  assertEquals([definitions.lastQueueId, keys()], [7, ["e"]]);
  entries.defined("queue", "q", { id: 5 });
  assertEquals(definitions.lastQueueId, 7);
  commit();
  assertEquals(disk.pendingCount > 0, true);
  disk.finishAll();
  entries.purged(7);
  assertEquals(log.batch.isEmpty, false);
});
