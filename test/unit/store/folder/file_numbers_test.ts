// A data file knows its number: one that lies under the name of another is found by recovery and by the
// check, and hides nothing. Folders of earlier versions, whose files do not say theirs, are read as before.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { readU32 } from "../../../../src/lib/bytes.ts";
import { batchAt } from "../../../../src/store/format/batch_reader.ts";
import { renameFile } from "../../../../src/store/format/batch_writer.ts";
import { checkStore } from "../../../../src/store/recovery/folder_check.ts";
import { BATCH_HEADER_BYTES } from "../../../../src/store/format/format.ts";
import type { StoreSizes } from "../../../../src/store/folder/sizes.ts";
import { openStore } from "../../../support/disk_store.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestBroker } from "../../../support/test_broker.ts";
import { restoreBroker } from "../../../../src/broker/recovery.ts";
import { ReadOnlyFileSystem } from "../../../../src/store/read_only_file_system.ts";

const SEED = 7;
const MESSAGES = 30;

function start(disk: MemoryDisk, sizes: Partial<StoreSizes> = {}) {
  const store = openStore(disk, { seed: SEED, sizes: { logFileBytes: 500, ...sizes } });
  const t = new TestBroker({ store });
  restoreBroker(t.broker, store);
  return { t, store };
}

/** A folder with messages in several log files. */
function filledDisk(sizes: Partial<StoreSizes> = {}): MemoryDisk {
  const disk = new MemoryDisk();
  const { t } = start(disk, sizes);
  t.queue("q", {}, { durable: true });
  for (let number = 0; number < MESSAGES; number++) {
    t.publish("q", `${number}`.padEnd(50), { deliveryMode: 2 });
    t.turn();
    disk.finishAll();
  }
  return disk.crash({ kind: "process" });
}

function put(disk: MemoryDisk, path: string, bytes: Uint8Array): void {
  disk.remove(path);
  const handle = disk.open(path, "create");
  handle.write(bytes, 0, bytes.length, 0);
  handle.close();
}

function namesOf(disk: MemoryDisk, kind: string): string[] {
  return disk.paths().filter((path) => path.startsWith(kind));
}

/** The batches of a file, whose places are in `bytes`. */
function eachBatch(bytes: Uint8Array, visit: (batch: Uint8Array, file: number) => void): void {
  for (let at = 0; at + BATCH_HEADER_BYTES <= bytes.length;) {
    const end = at + BATCH_HEADER_BYTES + readU32(bytes, at + 4);
    const place = batchAt(bytes, at, SEED);
    assert(place !== null);
    visit(bytes.subarray(at, end), place.file);
    at = end;
  }
}

function readyCount(disk: MemoryDisk): number {
  return start(disk.crash({ kind: "process" })).t.vhost.queues.get("q")!.readyCount;
}

function damagesOf(disk: MemoryDisk): string[] {
  const { damages } = checkStore(new ReadOnlyFileSystem(disk));
  return damages.map(({ file, what }) => `${file}: ${what}`);
}

Deno.test("FileStore writes into each batch of a log which file it is in", () => {
  const disk = filledDisk();
  const logs = namesOf(disk, "log-");
  assert(logs.length > 3);
  for (const log of logs) {
    eachBatch(disk.contentOf(log)!, (_, file) => assertEquals(file, Number(log.slice(4))));
  }
});

Deno.test("a log file that was copied under a higher number hides nothing and is found", () => {
  const disk = filledDisk();
  const [first] = namesOf(disk, "log-");
  const copy = "log-00000099";
  put(disk, copy, disk.contentOf(first!)!);
  assertEquals(damagesOf(disk), [`${copy}: it was written as ${first} and is not read`]);
  const { store, t } = start(disk);
  assertEquals(t.vhost.queues.get("q")!.readyCount, MESSAGES);
  assertEquals(store.recovered.damages.map(({ file }) => file), [copy]);
  // It is left to whoever put it there, and the broker writes behind it.
  assertEquals(disk.contentOf(copy), disk.contentOf(first!));
  assert(namesOf(disk, "log-").at(-1)! > copy);
});

Deno.test("batches that a fresh log file takes over from a broken one name the fresh file", () => {
  const disk = new MemoryDisk();
  const { t } = start(disk, { logFileBytes: 100_000 });
  t.queue("q", {}, { durable: true });
  t.turn();
  disk.finishAll();
  disk.failNext("write", "EIO", "log-");
  for (let number = 0; number < 3; number++) {
    t.publish("q", `${number}`, { deliveryMode: 2 });
    t.turn(1000);
    disk.finishAll();
  }
  const logs = namesOf(disk, "log-");
  assertEquals(logs.length, 2);
  for (const log of logs) {
    eachBatch(disk.contentOf(log)!, (_, file) => assertEquals(file, Number(log.slice(4))));
  }
  assertEquals(damagesOf(disk.crash({ kind: "process" })), []);
});

Deno.test("batches that a start writes again name the new file", () => {
  const disk = filledDisk();
  start(disk);
  for (const log of namesOf(disk, "log-")) {
    eachBatch(disk.contentOf(log)!, (_, file) => assertEquals(file, Number(log.slice(4))));
  }
  assertEquals(damagesOf(disk), []);
});

Deno.test("a snapshot that lies under the number of another is not read", () => {
  const disk = filledDisk({ snapshotLogBytes: 1_000 });
  const [snapshot] = namesOf(disk, "snapshot-");
  const bytes = disk.contentOf(snapshot!)!;
  eachBatch(bytes, (batch) => renameFile(batch, batch.length, { file: 4711, seed: SEED }));
  put(disk, snapshot!, bytes);
  assertMatch(damagesOf(disk)[0]!, /^snapshot-\d+: it was written as snapshot-00004711/);
});

Deno.test("a folder whose batches do not say their files is whole", () => {
  const disk = filledDisk({ snapshotLogBytes: 1_000 });
  for (const path of [...namesOf(disk, "log-"), ...namesOf(disk, "snapshot-")]) {
    const bytes = disk.contentOf(path)!;
    eachBatch(bytes, (batch) => renameFile(batch, batch.length, { file: 0, seed: SEED }));
    put(disk, path, bytes);
  }
  assertEquals(damagesOf(disk), []);
  const next = disk.crash({ kind: "process" });
  const { t } = start(next);
  t.publish("q", "one more", { deliveryMode: 2 });
  t.turn();
  next.finishAll();
  // A file of before, copied behind those that have their numbers.
  put(next, "log-00000099", next.contentOf(namesOf(next, "log-")[0]!)!);
  assertEquals(damagesOf(next), ["log-00000099: it was written as an earlier one and is not read"]);
  assertEquals(readyCount(next), MESSAGES + 1);
});
