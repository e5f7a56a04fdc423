// RecordReads: a backlog whose bodies are on disk alone is read in large pieces, and one bad record in
// such a piece harms nobody else.

import { assert, assertEquals, assertLess } from "@std/assert";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { type Seen, TestChannel } from "../../../support/test_broker.ts";
import { numberOf, PagedNode, PERSISTENT, range } from "../support/paged_node.ts";

const MIB = 1024 * 1024;
const BODY_BYTES = 10_000;

/** What was read since the last look. */
interface Reads {
  count: number;
  bytes: number;
}

// Counts what is asked of the files of a disk while something is served.
function counting(disk: MemoryDisk): Reads {
  const reads: Reads = { count: 0, bytes: 0 };
  const open = disk.open.bind(disk);
  disk.open = (path, mode) => {
    const handle = open(path, mode);
    const read = handle.read.bind(handle);
    handle.read = (offset, length, done) => {
      reads.count++;
      reads.bytes += length;
      read(offset, length, done);
    };
    return handle;
  };
  return reads;
}

// Larger than pages take, so that every record is given up by itself.
const SIZES = { pagedChunkBytesMax: 0, logFileBytes: 4 * MIB, snapshotLogBytes: 64 * MIB };

function publish(node: PagedNode, queue: string, number: number, bodyBytes = BODY_BYTES): void {
  node.t.publish(queue, `${number}`.padStart(bodyBytes, "."), PERSISTENT);
}

// The next node, which has no body in memory.
function restarted(before: PagedNode, residentBytesMax: number): { node: PagedNode; reads: Reads } {
  const disk = before.disk.crash({ kind: "process" });
  const reads = counting(disk);
  return { node: new PagedNode(disk, { residentBytesMax, sizes: SIZES }), reads };
}

function backlog(count: number, residentBytesMax = 4 * MIB): { node: PagedNode; reads: Reads } {
  const before = new PagedNode(new MemoryDisk(), { residentBytesMax, sizes: SIZES });
  before.queue("q");
  for (let number = 0; number < count; number++) {
    publish(before, "q", number);
    before.settle();
  }
  return restarted(before, residentBytesMax);
}

Deno.test("RecordReads reads records behind a head along with it, more each time", () => {
  const { node, reads } = backlog(300);
  const channel = new TestChannel();
  node.t.consume(node.find("q"), channel, { noAck: true });
  node.settle();
  assertEquals(channel.seen.map(numberOf), range(0, 300));
  assertLess(reads.count, 10);
  assertLess(reads.bytes, 300 * (BODY_BYTES + 200));
});

Deno.test("RecordReads reads requeued messages in front along with the head", () => {
  const { node, reads } = backlog(300, MIB);
  const channel = new TestChannel();
  const seen = range(0, 200).map(() => node.get("q", channel)!);
  for (const { tag } of seen.toReversed()) channel.unacked.reject(tag, false, true, CAUSE_REJECT);
  node.settle();
  reads.count = 0;
  const again = new TestChannel();
  node.t.consume(node.find("q"), again, { noAck: true });
  node.settle();
  assertEquals(again.seen.map(numberOf), range(0, 300));
  assertLess(reads.count, 40);
});

Deno.test("RecordReads reads hardly anything twice for many queues that share little memory", () => {
  const queues = range(0, 200);
  const bodyBytes = 4000;
  const each = 20;
  const options = { residentBytesMax: 64 * 1024, sizes: SIZES };
  const before = new PagedNode(new MemoryDisk(), options);
  for (const queue of queues) before.queue(`q${queue}`);
  for (let number = 0; number < each; number++) {
    for (const queue of queues) publish(before, `q${queue}`, number, bodyBytes);
    before.settle();
  }
  const { node, reads } = restarted(before, options.residentBytesMax);
  const channels = queues.map((queue) => {
    const channel = new OneAtATime();
    node.t.consume(node.find(`q${queue}`), channel, {});
    return channel;
  });
  for (let round = 0; round < each; round++) {
    node.settle();
    for (const channel of channels) channel.next();
  }
  for (const channel of channels) assertEquals(channel.seen.map(numberOf), range(0, each));
  const messages = queues.length * each;
  assertLess(reads.count, 1.5 * messages);
  assertLess(reads.bytes, 1.5 * messages * bodyBytes);
});

Deno.test("a head is not read for consumers that have no room for it", () => {
  const { node, reads } = backlog(2);
  const channel = new TestChannel();
  channel.isOpen = false;
  const consumer = node.t.consume(node.find("q"), channel, { noAck: true });
  node.settle();
  assertEquals(reads.count, 0);
  channel.isOpen = true;
  consumer.queue.unblock(consumer);
  node.settle();
  assertEquals(channel.seen.map(numberOf), [0, 1]);
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
  assertLess(reads.count, 20);
  assertEquals(node.errors, []);
});

/** A consumer with a prefetch of 1, which it has acked by `next`. */
class OneAtATime extends TestChannel {
  #isBusy = false;

  override hasCapacity(): boolean {
    return !this.#isBusy;
  }

  override take(...args: Parameters<TestChannel["take"]>): Seen {
    this.#isBusy = true;
    return super.take(...args);
  }

  next(): void {
    this.#isBusy = false;
    const last = this.seen.at(-1);
    if (last !== undefined) this.unacked.ack(last.tag, false);
  }
}

Deno.test("RecordReads reads eight records behind the first head of a queue, and no more", () => {
  const { node, reads } = backlog(100);
  node.get("q", new TestChannel());
  const { bytes } = reads;
  assert(bytes > 9 * BODY_BYTES, `${bytes} bytes`);
  assertLess(bytes, 10 * BODY_BYTES);
});

Deno.test("FileStore gives up other records while some that were read ahead wait for their turn", () => {
  const { node } = backlog(100, MIB);
  node.get("q", new TestChannel());
  for (let number = 100; number < 400; number++) {
    publish(node, "q", number);
    node.settle();
  }
  assertLess(node.store.liveBytes, MIB + 20 * BODY_BYTES);
});

Deno.test("RecordReads reads ahead as ever after a purge of what had been read ahead", () => {
  const { node, reads } = backlog(300);
  node.get("q", new TestChannel());
  node.find("q").purge();
  node.settle();
  for (let number = 0; number < 1000; number++) {
    publish(node, "q", number);
    node.settle();
  }
  reads.count = 0;
  const channel = new TestChannel();
  node.t.consume(node.find("q"), channel, { noAck: true });
  node.settle();
  assertEquals(channel.seen.map(numberOf), range(0, 1000));
  assertLess(reads.count, 30);
});
