// Troubles: few lines about what fails many times a second, and one when it is over.

import { assertEquals } from "@std/assert";
import { restoreBroker } from "../../../../src/broker/recovery.ts";
import { DiskError } from "../../../../src/store/file_system.ts";
import { Troubles } from "../../../../src/store/folder/troubles.ts";
import { openStore } from "../../../support/disk_store.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestBroker } from "../../../support/test_broker.ts";

const FULL = new DiskError("ENOSPC", "log-1");

function start() {
  const lines: unknown[] = [];
  const troubles = new Troubles({
    log: (level, message, fields) => void lines.push([level, message, fields]),
  });
  return { troubles, take: () => lines.splice(0) };
}

Deno.test("Troubles tell of what fails when it begins, once a minute, and when it is over", () => {
  const { troubles, take } = start();
  let ms = 1_000_000;
  const failing = (seconds: number) => {
    for (let i = 0; i < seconds * 4; i++) {
      troubles.step(ms += 250);
      troubles.failed("log", "open a fresh log file", FULL);
    }
  };
  troubles.step(ms);
  troubles.failed("log", "write to the commit log", FULL);
  const error = "ENOSPC: log-1";
  assertEquals(take(), [["error", "cannot write to the commit log", { error }]]);
  failing(59.75);
  assertEquals(take(), []);
  failing(0.25);
  assertEquals(take(), [["error", "still cannot open a fresh log file", { error, failures: 240 }]]);
  failing(60);
  assertEquals(take().length, 1);
  troubles.worked("log");
  troubles.step(ms + 4999);
  assertEquals(take(), []);
  troubles.step(ms + 5000);
  assertEquals(take(), [["info", "the commit log takes writes again", { failures: 481 }]]);
  troubles.step(ms += 1_000_000);
  troubles.failed("log", "write to the commit log", FULL);
  assertEquals(take().length, 1);
});

Deno.test("Troubles that come and go all the time are one", () => {
  const { troubles, take } = start();
  for (let ms = 0; ms < 50_000; ms += 500) {
    troubles.step(ms);
    troubles.failed("log", "write to the commit log", FULL);
    troubles.worked("log");
  }
  assertEquals(take().length, 1);
});

Deno.test("Troubles last while nothing says that it works, and each is one for itself", () => {
  const { troubles, take } = start();
  // Before the first turn nobody knows the time.
  troubles.failed("room", "ask for the room on the disk", FULL);
  troubles.failed("pages", "write pages", FULL);
  assertEquals(take().length, 2);
  troubles.worked("pages");
  troubles.step(1_000_000);
  assertEquals(take(), []);
  troubles.step(1_005_000);
  assertEquals(take(), [["info", "pages can be written again", { failures: 1 }]]);
  troubles.step(1_060_000);
  const fields = { error: "ENOSPC: log-1", failures: 1 };
  assertEquals(take(), [["error", "still cannot ask for the room on the disk", fields]]);
});

/** Lines of a broker on a disk that takes nothing for a while. */
function linesOfFullDisk(seconds: number): string[] {
  const lines: string[] = [];
  const disk = new MemoryDisk();
  const store = openStore(disk, { logger: { log: (_level, message) => void lines.push(message) } });
  const t = new TestBroker({ store });
  restoreBroker(t.broker, store);
  t.queue("q", {}, { durable: true });
  const settle = (turns: number) => {
    for (let i = 0; i < turns; i++) {
      t.turn(250);
      disk.finishAll();
    }
  };
  settle(4);
  disk.quotaBytes = 0;
  t.publish("q", "x", { deliveryMode: 2 });
  settle(seconds * 4);
  disk.quotaBytes = Infinity;
  settle(40);
  return lines;
}

Deno.test("FileStore says little about a disk that is full for ten seconds, or for minutes", () => {
  const begin = "cannot write to the commit log";
  const still = "still cannot open a fresh log file";
  const end = "the commit log takes writes again";
  assertEquals(linesOfFullDisk(10), [begin, end]);
  assertEquals(linesOfFullDisk(130), [begin, still, still, end]);
});

Deno.test("FileStore says little about a disk that does not tell its free space", () => {
  const lines: string[] = [];
  const disk = new MemoryDisk();
  const store = openStore(disk, { logger: { log: (_level, message) => void lines.push(message) } });
  const t = new TestBroker({ store });
  disk.freeBytes = () => {
    throw new DiskError("ENOENT", "");
  };
  for (let seconds = 0; seconds < 130; seconds++) t.turn(1000);
  const still = "still cannot ask for the room on the disk";
  assertEquals(lines, ["cannot ask for the room on the disk", still, still]);
});
