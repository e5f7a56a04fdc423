// FileStore with as many queues as a big installation has: they share files, so that what is open does
// not depend on how many there are.

import { assertEquals, assertGreater, assertLess } from "@std/assert";
import { MemoryDisk } from "../../support/memory_disk.ts";
import { PagedNode, PERSISTENT, range } from "./support/paged_node.ts";

const QUEUES = 10_000;
// 64 for reading, those that a read under way keeps, and those being written: far below the 1024 of a
// usual system.
const HANDLES_MAX = 160;
// Tiny files, so that there are many more of them than may be open.
const SIZES = {
  logFileBytes: 8 * 1024,
  snapshotLogBytes: 1024 * 1024,
  snapshotPieceBytes: 64 * 1024,
  snapshotPieceRefs: 16_384,
  moveSlackBytes: 16 * 1024 * 1024,
  sparePageMessagesMin: 2,
};
const EACH = 4;

function nameOf(index: number): string {
  return `q${index}`;
}

Deno.test("FileStore keeps ten thousand durable queues with few files open", () => {
  const disk = new MemoryDisk();
  disk.handlesMax = HANDLES_MAX;
  let node = new PagedNode(disk, { residentBytesMax: 512 * 1024, sizes: SIZES });
  for (let index = 0; index < QUEUES; index++) node.queue(nameOf(index));
  for (let number = 0; number < EACH; number++) {
    for (let index = 0; index < QUEUES; index++) {
      node.t.publish(nameOf(index), `${number}`.padStart(40, "."), PERSISTENT);
      if (index % 100 === 0) node.settle();
    }
  }
  node.settle();
  assertGreater(node.files("log").length + node.files("segment").length, HANDLES_MAX);
  node = node.crash();
  node.disk.handlesMax = HANDLES_MAX;
  for (let index = 0; index < QUEUES; index += 97) {
    assertEquals(node.take(nameOf(index), EACH + 1), range(0, EACH));
  }
  assertEquals(node.errors, []);
  assertLess(node.disk.openCount, HANDLES_MAX);
});
