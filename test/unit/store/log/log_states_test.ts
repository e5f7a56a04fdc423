// CommitLog alone on a disk: what it says after each step about batches, files and the disk.

import { assertEquals } from "@std/assert";
import { DiskError } from "../../../../src/store/file_system.ts";
import { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { DEFAULT_SIZES, type StoreSizes } from "../../../../src/store/folder/sizes.ts";
import { CommitLog } from "../../../../src/store/log/commit_log.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

function start(sizes: Partial<StoreSizes> = {}, isSynced = true) {
  const disk = new MemoryDisk();
  const files = new DataFiles(disk);
  const told: string[] = [];
  const log = new CommitLog({
    files,
    listener: {
      wake: () => told.push("wake"),
      relocated: (from, to) =>
        told.push(
          `relocated ${from.file} ${from.offset} ${from.byteCount} ${to.file} ${to.offset}`,
        ),
      failed: (what, { code }) => told.push(`failed ${what.split(":")[0]} ${code}`),
      broken: (what, { code }) => told.push(`broken ${what} ${code}`),
      repaired: () => told.push("repaired"),
    },
    seed: 1,
    isSynced,
    openBatch: 5,
    lastBatch: 3,
    sizes: { ...DEFAULT_SIZES, ...sizes },
  });
  /** Writes something into the open batch and ends it. */
  const write = (nowMs = 0) => {
    log.batch.lastQueueId(1);
    log.commit(nowMs);
  };
  /** What has been told since the last look. */
  const news = () => told.splice(0);
  const state = () => [log.openBatch, log.lastBatch, log.decidedBatch, log.storedBatch];
  const batchBytes = () => files.get(1)!.byteLength;
  return { disk, files, log, write, news, state, batchBytes };
}

Deno.test("CommitLog.commit() counts an empty batch, and writes nothing for it", () => {
  const { disk, log, write, state } = start();
  assertEquals([state(), log.isAllDecided], [[5, 3, 4, 4], true]);
  log.wantSync();
  log.commit(0);
  assertEquals([state(), disk.pendingCount, log.appendedBytes], [[6, 3, 5, 5], 0, 0]);
  write();
  log.commit(0);
  assertEquals([state(), log.isAllDecided], [[8, 6, 5, 5], false]);
  log.batch.lastQueueId(1);
  log.forget();
  log.commit(0);
  assertEquals(state(), [9, 6, 5, 5]);
});

Deno.test("CommitLog syncs once at a time, and again what somebody waits for", () => {
  const { disk, log, write, news, state, batchBytes } = start();
  log.wantSync();
  write();
  const bytes = batchBytes();
  assertEquals([disk.pendingCount, log.retainedBytes, log.appendedBytes], [2, bytes, bytes]);
  assertEquals([...log.unsafeRanges()], [[1, 0]]);
  log.wantSync();
  write();
  assertEquals([disk.pendingCount, log.retainedBytes], [2, 2 * bytes]);
  disk.finish(2);
  assertEquals([state(), news(), [...log.unsafeRanges()]], [[7, 6, 5, 5], ["wake"], [[1, bytes]]]);
  disk.finishAll();
  assertEquals([state(), news(), log.retainedBytes], [[7, 6, 6, 6], ["wake"], 0]);
  write();
  assertEquals([disk.pendingCount, log.isAllDecided], [0, false]);
});

Deno.test("CommitLog syncs what nobody waits for when it is more than the bound", () => {
  for (const more of [0, -1]) {
    const bytes = (() => {
      const one = start();
      one.write();
      return one.batchBytes();
    })();
    const { disk, write } = start({ lazySyncBytes: 2 * bytes + more });
    write();
    write();
    assertEquals(disk.pendingCount > 0, more < 0);
    write();
    assertEquals(disk.pendingCount > 0, true);
  }
});

Deno.test("CommitLog without syncs takes a batch for safe once it is written, and closes full files", () => {
  const { disk, files, log, write, news, state } = start({ logFileBytes: 1 }, false);
  log.wantSync();
  write();
  write();
  assertEquals([state(), log.retainedBytes, disk.pendingCount], [[7, 6, 6, 6], 0, 0]);
  assertEquals([files.ofKind("log").length, disk.openCount, news()], [3, 1, []]);
  assertEquals(files.ofKind("log").map(({ isPinned }) => isPinned), [false, false, true]);
});

Deno.test("CommitLog begins a file when the last one has its full size, and keeps it until it is safe", () => {
  const one = start();
  one.write();
  const bytes = one.batchBytes();
  const { disk, files, log, write, state } = start({ logFileBytes: 2 * bytes });
  write();
  assertEquals([files.ofKind("log").length, log.offsetOf(3)], [1, bytes + 3]);
  write();
  assertEquals([files.ofKind("log").length, disk.openCount, log.offsetOf(3)], [2, 2, 3]);
  log.wantSync();
  write();
  assertEquals([...log.unsafeRanges()], [[1, 0], [2, 0]]);
  disk.finish(2);
  assertEquals([state()[3], disk.openCount], [6, 1]);
  disk.finishAll();
  assertEquals([state()[3], disk.openCount], [7, 1]);
});

Deno.test("CommitLog tries a fresh file a quarter of a second after a refused write, and not before", () => {
  const { disk, files, log, write, news, state, batchBytes } = start();
  write(1000);
  const bytes = batchBytes();
  disk.failNext("write", "ENOSPC", "log-");
  write(1000);
  assertEquals(news(), ["broken write to the commit log ENOSPC"]);
  assertEquals([log.isBroken, log.isFailed(5), log.isFailed(6)], [true, false, true]);
  // Batch 5 may still become safe; batch 6 is decided.
  assertEquals([state(), disk.contentOf("log-00000001")!.length], [[7, 6, 4, 4], bytes]);
  write(1249);
  assertEquals([log.isBroken, log.isFailed(7), log.retainedBytes], [true, true, 3 * bytes]);
  log.isRepairHeld = true;
  log.commit(1250);
  assertEquals([log.isBroken, news()], [true, []]);
  log.isRepairHeld = false;
  log.commit(1250);
  assertEquals(news(), [`relocated 1 0 ${3 * bytes} 2 0`, "repaired"]);
  assertEquals([log.isBroken, log.file.number, log.isFailed(6)], [false, 2, true]);
  assertEquals(files.ofKind("log").map(({ isPinned }) => isPinned), [false, true]);
  disk.finishAll();
  assertEquals([state(), disk.openCount, log.retainedBytes], [[10, 7, 9, 9], 1, 0]);
});

Deno.test("CommitLog fails all that is not safe when no fresh file is to be had, and tries again", () => {
  const { disk, log, write, news, state } = start();
  log.wantSync();
  write(1000);
  disk.failNext("rename", "EIO", "log-");
  // The sync is under way, so the failure is known when it ends.
  disk.finish(1);
  disk.finishAll();
  news();
  disk.failNext("sync", "EIO", "log-");
  log.wantSync();
  write(1000);
  disk.finishAll();
  assertEquals(news(), [
    "failed sync the commit log EIO",
    "broken open a fresh log file EIO",
    "wake",
  ]);
  assertEquals([log.isBroken, log.isFailed(6), state()], [true, true, [7, 6, 6, 5]]);
  log.commit(1000);
  disk.finishAll();
  assertEquals([log.isBroken, log.storedBatch], [false, 7]);
});

Deno.test("CommitLog breaks when it cannot begin the next file, with all batches as they are", () => {
  const { disk, log, write, news, state } = start({ logFileBytes: 1 });
  disk.failNext("open", "EMFILE", "log-");
  log.wantSync();
  write(1000);
  assertEquals(news(), ["broken open a log file EMFILE"]);
  assertEquals([log.isBroken, log.isFailed(5), state()], [true, false, [6, 5, 4, 4]]);
  disk.finishAll();
  assertEquals([state(), log.isBroken], [[6, 5, 5, 5], true]);
  log.rotate(1000);
  assertEquals(log.file.number, 1);
  log.commit(1250);
  assertEquals([log.isBroken, news().at(-1)], [false, "repaired"]);
});

Deno.test("CommitLog.goOnBehind() drops what a snapshot has, and goes on with the rest", () => {
  const { disk, log, write, news, batchBytes } = start();
  write(0);
  const bytes = batchBytes();
  disk.failNext("write", "ENOSPC", "log-");
  write(0);
  write(0);
  news();
  log.isRepairHeld = true;
  log.goOnBehind(6, 0);
  assertEquals(news(), [`relocated 1 ${2 * bytes} ${bytes} 2 0`, "repaired"]);
  assertEquals([log.isBroken, log.retainedBytes, log.storedBatch], [false, bytes, 6]);
  disk.finishAll();
  assertEquals([log.retainedBytes, log.storedBatch], [0, 7]);
});

Deno.test("CommitLog.lose() fails all that is not safe, once, and syncs and repairs no more", () => {
  const { disk, log, write, news, state } = start();
  write(0);
  log.lose(new DiskError("ENOENT", "log"));
  log.lose(new DiskError("ENOENT", "log"));
  assertEquals([log.isLost, log.isBroken, log.isFailed(5), news().length], [true, true, true, 1]);
  log.wantSync();
  write(5000);
  assertEquals([log.isFailed(6), disk.pendingCount, news()], [true, 0, []]);
  assertEquals(state(), [7, 6, 6, 4]);
});

Deno.test("CommitLog is lost when its file is gone at a sync", () => {
  const { disk, log, write, news } = start();
  log.wantSync();
  disk.failNext("sync", "ENOENT", "log-");
  write(0);
  disk.finishAll();
  assertEquals([log.isLost, log.isFailed(5), news().at(-1)], [true, true, "wake"]);
});

Deno.test("CommitLog.close() writes and syncs all files, or fails when none takes what is left", () => {
  const { disk, log, write } = start({ logFileBytes: 1 });
  write(0);
  log.batch.lastQueueId(1);
  const ends: (string | null)[] = [];
  log.close(0, (error) => ends.push(error?.code ?? null));
  assertEquals([ends, disk.openCount], [[], 3]);
  disk.finishAll();
  assertEquals([ends, disk.openCount], [[null], 0]);
  const other = start();
  other.disk.failNext("write", "EIO", "log-");
  other.write(0);
  other.disk.failNext("rename", "EIO", "log-");
  other.log.close(0, (error) => ends.push(error?.code ?? null));
  assertEquals([ends, other.disk.openCount], [[null, "EIO"], 0]);
  const mended = start();
  mended.disk.failNext("write", "EIO", "log-");
  mended.write(0);
  mended.log.close(0, (error) => ends.push(error?.code ?? null));
  mended.disk.finishAll();
  assertEquals([ends.at(-1), mended.disk.openCount], [null, 0]);
});

Deno.test("CommitLog.abandon() closes its files and tells nobody of a sync that ends later", () => {
  const { disk, log, write, news, state } = start({ logFileBytes: 1 });
  log.wantSync();
  write(0);
  log.abandon();
  assertEquals(disk.openCount, 0);
  disk.finishAll();
  assertEquals([news(), state()], [[], [6, 5, 4, 4]]);
});
