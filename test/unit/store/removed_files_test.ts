// Somebody removes the data folder, or files in it, while the broker runs: it is said once, and nothing is
// called safe that a start would not find.

import { assert, assertEquals } from "@std/assert";
import { PUBLISH_REFUSED } from "../../../src/broker/publish/publisher.ts";
import { restoreBroker } from "../../../src/broker/recovery.ts";
import type { FileStore } from "../../../src/store/file_store.ts";
import { openStore } from "../../support/disk_store.ts";
import { MemoryDisk } from "../../support/memory_disk.ts";
import { TestBroker, TestChannel } from "../../support/test_broker.ts";

class Node {
  readonly disk = new MemoryDisk();
  readonly errors: string[] = [];
  readonly store: FileStore;
  readonly t: TestBroker;

  constructor(isSynced = true) {
    this.store = openStore(this.disk, {
      isSynced,
      sizes: { logFileBytes: 2_000 },
      logger: { log: (level, message) => void (level === "error" && this.errors.push(message)) },
    });
    this.t = new TestBroker({ store: this.store });
    restoreBroker(this.t.broker, this.store);
    this.t.queue("q", {}, { durable: true });
    this.settle();
  }

  /** Whether a publish is confirmed: it is taken, and its batch is safe and has not failed. */
  isConfirmed(body: string): boolean {
    const batch = this.store.openBatch;
    const outcome = this.t.publish("q", body, { deliveryMode: 2 });
    if ((outcome & PUBLISH_REFUSED) !== 0) return false;
    this.store.wantSync();
    this.t.turn();
    while (this.store.safeBatch < batch && this.disk.finishAll() > 0) this.t.turn();
    assert(this.store.safeBatch >= batch);
    return !this.store.isFailed(batch);
  }

  settle(turns = 1): void {
    for (let i = 0; i < turns; i++) {
      this.t.turn(1000);
      this.disk.finishAll();
    }
  }

  removeAll(): void {
    for (const path of this.disk.paths()) this.disk.remove(path);
  }
}

Deno.test("FileStore confirms nothing once its folder has been removed, and says so once", () => {
  const node = new Node();
  assert(node.isConfirmed("before"));
  node.removeAll();
  assertEquals(node.isConfirmed("after"), false);
  assertEquals(node.store.isReadOnly, true);
  // The folder may be there again, without what was in it.
  node.settle(20);
  assertEquals(node.isConfirmed("much later"), false);
  assertEquals(node.errors.length, 1, node.errors.join("; "));
  assert(node.errors[0]!.includes("somebody has removed the data folder"));
  // Consumers can have what is in memory.
  const queue = node.t.vhost.queues.get("q")!;
  assertEquals(node.t.get(queue, new TestChannel())?.body, "before");
  assertEquals(node.disk.paths(), []);
});

for (const isSynced of [true, false]) {
  Deno.test(`FileStore notices a removed folder without being used, synced ${isSynced}`, () => {
    const node = new Node(isSynced);
    node.removeAll();
    node.settle(3);
    assertEquals(node.store.isReadOnly, true);
    assert(node.errors.at(-1)!.includes("somebody has removed the data folder"));
  });
}

Deno.test("FileStore notices that its manifest has been removed", () => {
  const node = new Node();
  node.disk.remove("MANIFEST");
  node.settle(3);
  assertEquals(node.store.isReadOnly, true);
});

Deno.test("FileStore says once which older file has been removed, and goes on", () => {
  const node = new Node();
  for (let number = 0; number < 20; number++) node.isConfirmed(`${number}`.padEnd(500));
  const log = node.disk.paths().find((path) => path.startsWith("log-"))!;
  node.disk.remove(log);
  node.settle(5);
  assertEquals(node.errors, [`cannot find ${log}`]);
  assert(node.isConfirmed("next"));
});

Deno.test("FileStore.close() says that it is not safe when its folder has been removed", async () => {
  const node = new Node();
  node.removeAll();
  node.settle(3);
  const ended = node.store.close(node.t.nowMs).then(() => "safe", (error) => error.code);
  node.disk.finishAll();
  assertEquals(await ended, "EIO");
  assertEquals(node.disk.openCount, 0);
});
