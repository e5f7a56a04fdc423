// Pager: when it may write pages, and when it tries again what the disk has refused.

import { assertEquals, assertGreater, assertLess } from "@std/assert";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { PagedNode, range } from "../support/paged_node.ts";

const RETRY_MS = 1000;

/** A node with more messages in memory than it may have, because the disk has refused a page. */
function refused(): PagedNode {
  const node = new PagedNode(new MemoryDisk());
  node.queue("q");
  for (let times = 0; times < 1000; times++) node.disk.failNext("write", "EIO", "segment");
  node.publish("q", 0, 500);
  return node;
}

function refusals(node: PagedNode): number {
  return node.errors.filter((error) => error === "cannot write pages").length;
}

Deno.test("Pager tries a page that the disk has refused again after a second, and not before", () => {
  const node = refused();
  assertEquals(refusals(node), 1);
  node.t.turn(RETRY_MS - 1);
  assertEquals(refusals(node), 1);
  node.t.turn(1);
  assertEquals(refusals(node), 2);
  node.disk.clearFaults();
  node.t.turn(RETRY_MS);
  node.settle();
  assertLess(node.store.liveBytes, 16 * 1024);
  assertEquals(node.take("q", 1000), range(0, 500));
});

Deno.test("Pager writes nothing to a disk that is low, and goes on when it has room", () => {
  const disk = new MemoryDisk();
  const node = new PagedNode(disk, { freeBytesMin: 100_000 });
  node.queue("q", {}, false);
  disk.quotaBytes = 50_000;
  node.t.turn(RETRY_MS);
  for (let number = 0; number < 500; number++) node.t.publish("q", `${number}`.padStart(40), {});
  for (let turns = 0; turns < 10; turns++) node.settle();
  assertEquals(node.files("segment"), []);
  disk.quotaBytes = Infinity;
  node.t.turn(RETRY_MS);
  node.settle();
  assertGreater(node.files("segment").length, 0);
  assertLess(node.store.liveBytes, 16 * 1024);
});
