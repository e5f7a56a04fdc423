// LogReplay: what it says of batches that are missing, and that it reads the others.

import { assertEquals } from "@std/assert";
import { restoreBroker } from "../../../../src/broker/recovery.ts";
import type { FileStore } from "../../../../src/store/file_store.ts";
import { openStore } from "../../../support/disk_store.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestBroker } from "../../../support/test_broker.ts";

const PERSISTENT = { deliveryMode: 2 };

// Each batch fills a log file.
function start(disk: MemoryDisk): { t: TestBroker; store: FileStore; disk: MemoryDisk } {
  const store = openStore(disk, { sizes: { logFileBytes: 50 } });
  const t = new TestBroker({ store, nowMs: Math.max(1_000_000, store.recovered.lastTimeMs) });
  restoreBroker(t.broker, store);
  return { t, store, disk };
}

Deno.test("LogReplay names the file behind which batches are missing, and uses the others", () => {
  const { t, disk } = start(new MemoryDisk());
  t.queue("q", {}, { durable: true });
  for (const body of ["a", "b", "c", "d"]) {
    t.publish("q", body, PERSISTENT);
    t.turn();
    disk.finishAll();
  }
  disk.remove("log-00000003");
  const { t: next, store } = start(disk.crash({ kind: "process" }));
  const [damage] = store.recovered.damages;
  assertEquals(store.recovered.damages.length, 1);
  assertEquals([damage!.file, damage!.offset], ["log-00000004", 0]);
  assertEquals(/^batches between \d+ and \d+ are missing$/.test(damage!.what), true, damage!.what);
  assertEquals(next.vhost.queues.get("q")!.readyCount, 3);
});

Deno.test("LogReplay names the last log file when batches are missing that an orderly end made safe", async () => {
  const { t, store, disk } = start(new MemoryDisk());
  t.queue("q", {}, { durable: true });
  for (const body of ["a", "b"]) {
    t.publish("q", body, PERSISTENT);
    t.turn();
  }
  const closed = store.close(t.nowMs);
  disk.finishAll();
  await closed;
  const logs = disk.paths().filter((path) => path.startsWith("log-"));
  const last = logs.findLast((path) => disk.contentOf(path)!.length > 0)!;
  disk.remove(last);
  const { store: next } = start(disk.crash({ kind: "process" }));
  assertEquals(next.recovered.damages.length, 1);
  const { file, what } = next.recovered.damages[0]!;
  assertEquals(file, logs.filter((path) => path !== last).at(-1));
  assertEquals(/^batches between \d+ and \d+ are missing$/.test(what), true, what);
});
