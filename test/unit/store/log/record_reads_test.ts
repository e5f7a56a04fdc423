// RecordReads: a backlog whose bodies are on disk alone is read in large pieces, and one bad record in
// such a piece harms nobody else.

import { assert, assertEquals, assertLess } from "@std/assert";
import { REJECT } from "../../../../src/broker/unacked.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestChannel } from "../../../support/test_broker.ts";
import { numberOf, PagedNode, PERSISTENT, range } from "../support/paged_node.ts";

const BODY_BYTES = 10_000;

// Larger than pages take, so that every record is given up by itself.
function backlog(count: number): { node: PagedNode; reads: string[] } {
  const node = new PagedNode(new MemoryDisk(), {
    residentBytesMax: 64 * 1024,
    sizes: { pagedChunkBytesMax: 0, logFileBytes: 4 * 1024 * 1024 },
  });
  node.queue("q");
  for (let number = 0; number < count; number++) {
    node.t.publish("q", `${number}`.padStart(BODY_BYTES, "."), PERSISTENT);
    node.settle();
  }
  const reads: string[] = [];
  node.disk.onOperation = ({ kind, path }) => {
    if (kind === "read") reads.push(path);
  };
  return { node, reads };
}

Deno.test("RecordReads reads what stands behind a head along with it", () => {
  const { node, reads } = backlog(300);
  const channel = new TestChannel();
  node.t.consume(node.find("q"), channel, { noAck: true });
  node.settle();
  assertEquals(channel.seen.map(numberOf), range(0, 300));
  assertLess(reads.length, 10);
});

Deno.test("RecordReads reads along what waits in front, requeued", () => {
  const { node, reads } = backlog(300);
  const channel = new TestChannel();
  const seen = range(0, 200).map(() => node.get("q", channel)!);
  for (const { tag } of seen.toReversed()) channel.unacked.reject(tag, false, true, REJECT);
  node.settle();
  reads.length = 0;
  const again = new TestChannel();
  node.t.consume(node.find("q"), again, { noAck: true });
  node.settle();
  assertEquals(again.seen.map(numberOf), range(0, 300));
  assertLess(reads.length, 10);
});

Deno.test("RecordReads keeps a damaged record from harming those read along with it", () => {
  const { node } = backlog(100);
  const [log] = node.files("log");
  // In the body of message 50.
  node.disk.flip(log!, 50 * (BODY_BYTES + 100), 3);
  const channel = new TestChannel();
  node.t.consume(node.find("q"), channel, { noAck: true });
  node.settle();
  const numbers = channel.seen.map(numberOf);
  assertEquals(numbers, range(0, numbers.length));
  assert(numbers.length > 45 && numbers.length < 55, `${numbers.length} were read`);
  assertEquals(node.errors.includes("cannot read a message"), true);
});

Deno.test("RecordReads asks one by one when a piece as a whole cannot be read", () => {
  const { node, reads } = backlog(100);
  node.disk.failNext("read", "EIO", "log");
  const channel = new TestChannel();
  node.t.consume(node.find("q"), channel, { noAck: true });
  node.settle();
  assertEquals(channel.seen.map(numberOf), range(0, 100));
  assertLess(reads.length, 10);
  assertEquals(node.errors, []);
});
