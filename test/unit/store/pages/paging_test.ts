// FileStore with backlogs beyond its memory: pages are written, read, dropped, moved and recovered.

import { assert, assertEquals, assertGreater, assertLess, assertThrows } from "@std/assert";
import { ChannelError } from "../../../../src/amqp/errors.ts";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { Prng } from "../../../../src/lib/prng.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestChannel } from "../../../support/test_broker.ts";
import { numberOf, PagedNode, PERSISTENT, range } from "../support/paged_node.ts";

Deno.test("FileStore keeps a backlog of many times its memory and gives it back in order", () => {
  const node = new PagedNode(new MemoryDisk());
  node.queue("q");
  let mostBytes = 0;
  for (let first = 0; first < 8000; first += 500) {
    node.publish("q", first, 500);
    mostBytes = Math.max(mostBytes, node.store.liveBytes);
  }
  assertLess(mostBytes, 32 * 1024);
  assertEquals(node.find("q").readyCount, 8000);
  assertEquals(node.find("q").readyBytes, 8000 * 40);
  assertEquals(node.take("q", 4000), range(0, 4000));
  node.publish("q", 8000, 500);
  assertEquals(node.take("q", 10_000), range(4000, 4500));
  assertEquals([node.store.liveMessageCount, node.find("q").readyBytes], [0, 0]);
  // Another snapshot is due before the last of the files can go.
  node.publish("q", 0, 600);
  node.take("q", 600);
  assertLess(node.disk.usedBytes, 200 * 1024);
  assertEquals(node.errors, []);
});

Deno.test("FileStore brings pages back after the process has died, without reading them", () => {
  let node = new PagedNode(new MemoryDisk());
  node.queue("q");
  node.publish("q", 0, 2000);
  const disk = node.disk.crash({ kind: "process" });
  const segments = disk.paths().filter((path) => path.startsWith("segment"));
  assert(segments.length > 5);
  node = new PagedNode(disk);
  assertEquals(node.find("q").readyCount, 2000);
  assertEquals(node.find("q").readyBytes, 2000 * 40);
  assertLess(node.store.liveBytes, 40 * 600);
  assertEquals(node.take("q", 700), range(0, 700));
  node = node.crash();
  assertEquals(node.take("q", 1000), range(700, 1000));
  // Acks are not waited for; what they said is safe with the next message that is.
  node.publish("q", 2000, 1);
  node = node.crash({ kind: "power", prng: new Prng(3) });
  assertEquals(node.take("q", 1000), range(1700, 301));
  assertEquals(node.store.recovered.damages, []);
});

Deno.test("FileStore pages transient messages out as well and forgets them at a restart", () => {
  let node = new PagedNode(new MemoryDisk());
  node.queue("q");
  node.queue("t", {}, false);
  for (let number = 0; number < 1500; number += 2) {
    node.publish("q", number, 1, {});
    node.publish("q", number + 1, 1);
    node.publish("t", number, 1);
  }
  assertLess(node.store.liveBytes, 40 * 1024);
  assertEquals(node.take("t", 1000).length, 750);
  assertEquals(node.take("q", 100), range(0, 100));
  node = node.crash();
  assertEquals(node.find("q").readyCount, 700);
  assertEquals(node.find("q").readyBytes, 700 * 40);
  assertEquals(node.take("q", 1000), range(100, 1400).filter((number) => number % 2 === 1));
});

Deno.test("FileStore drops pages unread when their queue is purged or deleted", () => {
  let node = new PagedNode(new MemoryDisk());
  node.queue("q");
  node.queue("gone");
  node.publish("q", 0, 1000);
  node.publish("gone", 0, 1000);
  assert(node.files("segment").length > 4);
  assertEquals(node.find("q").purge(), 1000);
  node.t.vhost.deleteQueue("gone", { ifUnused: false, ifEmpty: false }, node.t.owner);
  node.settle();
  node.settle();
  assertEquals(node.store.liveMessageCount, 0);
  // The one that is being written stays.
  assertLess(node.files("segment").length, 2);
  node.publish("q", 5000, 300);
  node = node.crash();
  assertEquals(node.take("q", 1000), range(5000, 300));
  assertEquals(node.store.recovered.damages, []);
});

Deno.test("FileStore keeps what was read from a page and requeued, with its count", () => {
  let node = new PagedNode(new MemoryDisk());
  node.queue("q", { "x-delivery-limit": 5 });
  node.publish("q", 0, 1000);
  assertEquals(node.take("q", 500).length, 500);
  const channel = new TestChannel();
  const seen = range(0, 20).map(() => node.get("q", channel)!);
  assertEquals(seen.map(numberOf), range(500, 20));
  for (const { tag } of seen) channel.unacked.reject(tag, false, true, CAUSE_REJECT);
  node.settle();
  node = node.crash();
  const again = new TestChannel();
  const first = node.get("q", again)!;
  assertEquals([numberOf(first), first.redelivered, first.deliveryCount], [500, true, 1]);
  again.unacked.ack(first.tag, false);
  assertEquals(node.take("q", 1000), range(501, 499));
});

Deno.test("FileStore spends one delivery of what was out when pages behind it were not", () => {
  let node = new PagedNode(new MemoryDisk());
  node.queue("q", { "x-delivery-limit": 5 });
  node.publish("q", 0, 1000);
  const channel = new TestChannel();
  for (let i = 0; i < 200; i++) node.get("q", channel);
  node.settle();
  node = node.crash();
  const again = new TestChannel();
  const seen = range(0, 201).map(() => node.get("q", again)!);
  assertEquals(seen.map(numberOf), range(0, 201));
  assertEquals(seen.map((one) => one.redelivered), range(0, 201).map((number) => number < 200));
});

Deno.test("FileStore expires messages wherever their page is", () => {
  let node = new PagedNode(new MemoryDisk());
  node.queue("dead");
  const args = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
  node.queue("q", args);
  for (let number = 0; number < 1000; number++) {
    const expiration = number % 3 === 0 ? { expiration: "5000" } : {};
    node.publish("q", number, 1, { ...PERSISTENT, ...expiration });
  }
  node = node.crash();
  node.t.turn(4999);
  node.settle();
  assertEquals([node.find("q").readyCount, node.find("dead").readyCount], [1000, 0]);
  node.t.turn(1);
  node.settle();
  node.settle();
  assertEquals([node.find("q").readyCount, node.find("dead").readyCount], [666, 334]);
  assertLess(node.store.liveBytes, 60 * 1024);
  assertEquals(node.take("q", 1000), range(0, 1000).filter((number) => number % 3 !== 0));
  const dead = node.take("dead", 1000).sort((a, b) => a - b);
  assertEquals(dead, range(0, 1000).filter((number) => number % 3 === 0));
});

Deno.test("FileStore expires whole pages by the time to live of their queue", () => {
  let node = new PagedNode(new MemoryDisk());
  node.queue("q", { "x-message-ttl": 60_000 });
  node.publish("q", 0, 500);
  node.t.turn(30_000);
  node.publish("q", 500, 500);
  node = node.crash();
  node.t.turn(30_000);
  node.settle();
  node.settle();
  assertEquals(node.find("q").readyCount, 500);
  assertEquals(node.take("q", 1000), range(500, 500));
});

Deno.test("FileStore drops the head of a queue that is over its length, also when it is on a page", () => {
  const node = new PagedNode(new MemoryDisk());
  node.queue("q", { "x-max-length": 500 });
  node.publish("q", 0, 2000);
  node.settle();
  assertEquals(node.find("q").readyCount, 500);
  assertEquals(node.take("q", 1000), range(1500, 500));
});

Deno.test("FileStore keeps a message of several queues for each of them, paged or not", () => {
  let node = new PagedNode(new MemoryDisk());
  const exchange = { name: "f", type: "fanout", autoDelete: false, internal: false };
  node.t.vhost.declareExchange({ ...exchange, durable: true, args: new Map() });
  for (const name of ["a", "b", "c"]) {
    node.queue(name);
    const binding = { queue: name, exchange: "f", routingKey: "", args: new Map() };
    node.t.vhost.bindQueue(binding, node.t.owner);
  }
  for (let number = 0; number < 800; number++) {
    node.t.publish("", `${number}`.padStart(40, "."), PERSISTENT, "f");
    if (number % 10 === 0) node.settle();
  }
  node.settle();
  assertEquals(node.take("a", 400), range(0, 400));
  node.find("b").purge();
  node.settle();
  node = node.crash();
  assertEquals(node.find("b").readyCount, 0);
  assertEquals(node.take("c", 1000), range(0, 800));
  assertEquals(node.take("a", 1000), range(400, 400));
  assertEquals(node.store.liveMessageCount, 0);
});

Deno.test("FileStore closes the queue whose page cannot be read, and serves the others", () => {
  const node = new PagedNode(new MemoryDisk());
  node.queue("q");
  node.publish("q", 0, 300);
  node.queue("other");
  node.publish("other", 0, 300);
  const channel = new TestChannel();
  node.t.consume(node.find("q"), channel, { noAck: true });
  node.disk.failNext("read", "EIO", "segment");
  node.settle();
  assertEquals(channel.cancelledTags, ["c"]);
  const got = channel.seen.map(numberOf);
  assertEquals(got, range(0, got.length));
  assertLess(got.length, 300);
  const error = assertThrows(() => node.t.get(node.find("q"), new TestChannel()), ChannelError);
  assert(error.message.includes("page at byte"));
  assertEquals(node.take("other", 300), range(0, 300));
  assertEquals(node.find("q").purge(), 300 - got.length);
  node.publish("q", 1000, 10);
  assertEquals(node.take("q", 100), range(1000, 10));
});

Deno.test("FileStore reports a page that does not check once and touches no other queue", () => {
  let node = new PagedNode(new MemoryDisk());
  node.queue("q");
  node.publish("q", 0, 300);
  const disk = node.disk.crash({ kind: "process" });
  const segment = disk.paths().find((path) => path.startsWith("segment"))!;
  disk.flip(segment, 1500, 3);
  node = new PagedNode(disk);
  node.queue("other");
  node.publish("other", 0, 50);
  const channel = new TestChannel();
  node.t.consume(node.find("q"), channel, { noAck: true });
  node.settle();
  assertEquals(channel.cancelledTags, ["c"]);
  // The page is read twice: ahead of the head, and for it.
  assertEquals(node.errors, ["cannot read a page"]);
  assertEquals(node.take("other", 300), range(0, 50));
});

Deno.test("FileStore goes on without pages while they cannot be written", () => {
  const node = new PagedNode(new MemoryDisk());
  node.queue("q");
  node.publish("q", 0, 200);
  node.disk.failNext("sync", "EIO", "segment");
  node.publish("q", 200, 300);
  assert(node.errors.includes("cannot sync a segment file"));
  node.disk.failNext("write", "ENOSPC", "segment");
  node.publish("q", 500, 300);
  assert(node.errors.includes("cannot write pages"));
  node.t.turn(2000);
  node.publish("q", 800, 300);
  assertLess(node.store.liveBytes, 40 * 1024);
  const next = node.crash({ kind: "power", prng: new Prng(5) });
  assertEquals(next.take("q", 2000), range(0, 1100));
});

Deno.test("FileStore moves pages out of segment files in which little else is alive", () => {
  let node = new PagedNode(new MemoryDisk(), { sizes: { moveSlackBytes: 4096 } });
  for (const name of ["a", "b", "c", "d"]) node.queue(name);
  for (let number = 0; number < 800; number++) {
    for (const name of ["a", "b", "c", "d"]) node.publish(name, number, 1);
  }
  const before = node.files("segment");
  for (const name of ["a", "b", "c"]) assertEquals(node.take(name, 1000), range(0, 800));
  for (let i = 0; i < 200; i++) node.settle();
  assertLess(node.disk.usedBytes, 250 * 1024);
  const left = before.filter((path) => node.files("segment").includes(path));
  assertLess(left.length, before.length / 4);
  node = node.crash();
  assertEquals(node.take("d", 1000), range(0, 800));
  assertEquals(node.store.recovered.damages, []);
});

Deno.test("FileStore bounds the memory of many queues that are all short", () => {
  const node = new PagedNode(new MemoryDisk(), {
    residentBytesMax: 256 * 1024,
    sizes: { pageBytes: 64 * 1024 },
  });
  const names = range(0, 100).map((number) => `q${number}`);
  for (const name of names) node.queue(name, {}, false);
  for (const name of names) node.publish(name, 0, 40, { correlationId: "x".repeat(200) });
  assertLess(node.store.liveBytes, 256 * 1024);
  for (const name of names) assertEquals(node.take(name, 100), range(0, 40));
});

Deno.test("FileStore gives up large transient bodies, wherever their messages are", () => {
  const node = new PagedNode(new MemoryDisk(), { residentBytesMax: 64 * 1024 });
  const queue = node.queue("q", {}, false);
  node.queue("d", { "x-delivery-limit": 5 });
  const body = (number: number) => `${number}`.padStart(10_000, ".");
  for (let number = 0; number < 60; number++) {
    node.t.publish("q", body(number));
    node.t.publish("d", body(number));
    node.settle();
  }
  assertLess(node.store.liveBytes, 80 * 1024);
  const channel = new TestChannel();
  const seen = range(0, 30).map(() => node.get("q", channel)!);
  assertEquals(seen.map(numberOf), range(0, 30));
  node.settle();
  assertLess(node.store.liveBytes, 80 * 1024);
  for (const { tag } of seen) channel.unacked.reject(tag, false, true, CAUSE_REJECT);
  assertEquals(node.take("q", 100), range(0, 60));
  assertEquals(node.take("d", 100), range(0, 60));
  assertEquals([node.store.liveMessageCount, queue.readyBytes], [0, 0]);
  node.publish("d", 0, 300);
  node.take("d", 300);
  assertLess(node.disk.usedBytes, 250 * 1024);
  assertEquals(node.errors, []);
});

Deno.test("FileStore keeps transient bodies in memory while there is no disk to write them to", () => {
  const node = new PagedNode(new MemoryDisk(), {
    residentBytesMax: 64 * 1024,
    sizes: { pagedChunkBytesMax: 0 },
  });
  node.queue("q", {}, false);
  node.disk.failNext("write", "ENOSPC", "segment");
  for (let number = 0; number < 20; number++) {
    node.t.publish("q", `${number}`.padStart(10_000, "."));
    node.settle();
  }
  assert(node.errors.includes("cannot write messages to make room"));
  node.t.turn(2000);
  node.settle();
  assertLess(node.store.liveBytes, 80 * 1024);
  assertEquals(node.take("q", 100), range(0, 20));
});

/** Publishes large transient messages; nothing that is written is safe before the test says so. */
function unsafelySpilled(): PagedNode {
  const node = new PagedNode(new MemoryDisk(), {
    residentBytesMax: 64 * 1024,
    sizes: { pagedChunkBytesMax: 0 },
  });
  node.queue("q", {}, false);
  for (let number = 0; number < 20; number++) {
    node.t.publish("q", `${number}`.padStart(10_000, "."));
    node.t.turn();
  }
  assert(node.disk.pendingCount > 0);
  return node;
}

Deno.test("FileStore gives up transient bodies when what was written of them is synced, not before", () => {
  const node = unsafelySpilled();
  assertGreater(node.store.liveBytes, 190 * 1024);
  for (let turns = 0; turns < 10; turns++) node.settle();
  assertLess(node.store.liveBytes, 80 * 1024);
  assertEquals(node.take("q", 100), range(0, 20));
});

Deno.test("FileStore keeps transient bodies whose sync has failed, and writes them anew", () => {
  const node = new PagedNode(new MemoryDisk(), {
    residentBytesMax: 64 * 1024,
    sizes: { pagedChunkBytesMax: 0 },
  });
  node.queue("q", {}, false);
  node.disk.failNext("sync", "EIO", "segment");
  for (let number = 0; number < 20; number++) {
    node.t.publish("q", `${number}`.padStart(10_000, "."));
    node.t.turn();
  }
  assertGreater(node.store.liveBytes, 190 * 1024);
  node.settle();
  assert(node.errors.includes("cannot sync a segment file"));
  assertGreater(node.store.liveBytes, 190 * 1024);
  node.t.turn(2000);
  for (let turns = 0; turns < 10; turns++) node.settle();
  assertLess(node.store.liveBytes, 80 * 1024);
  assertEquals(node.take("q", 100), range(0, 20));
});

Deno.test("FileStore does not take a message for one that had its reference while it was written", () => {
  const node = unsafelySpilled();
  // Those that come now have the references of those that go.
  const channel = new TestChannel();
  for (let tag = 1; node.t.get(node.find("q"), channel) !== null; tag++) {
    channel.unacked.ack(tag, false);
  }
  assertEquals(node.store.liveMessageCount, 0);
  for (let number = 20; number < 40; number++) {
    node.t.publish("q", `${number}`.padStart(10_000, "."));
    node.t.turn();
  }
  for (let turns = 0; turns < 10; turns++) node.settle();
  assertEquals(node.take("q", 100), range(20, 20));
});

Deno.test("FileStore finds each transient body again when many writes went to one file", () => {
  const node = new PagedNode(new MemoryDisk(), {
    residentBytesMax: 64 * 1024,
    sizes: { pagedChunkBytesMax: 0, segmentFileBytes: 1024 * 1024 },
  });
  node.queue("q", {}, false);
  for (let number = 0; number < 60; number++) {
    node.t.publish("q", `${number}`.padStart(10_000, "."));
    node.settle();
  }
  assertLess(node.store.liveBytes, 80 * 1024);
  assertEquals(node.files("segment").length, 1);
  assertEquals([node.take("q", 100), node.errors], [range(0, 60), []]);
});

Deno.test("FileStore goes on writing to a segment file from which everything has gone meanwhile", () => {
  const node = new PagedNode(new MemoryDisk(), { sizes: { segmentFileBytes: 1024 * 1024 } });
  node.queue("q", {}, false);
  for (let round = 0; round < 3; round++) {
    node.publish("q", 0, 600, {});
    assertEquals(node.files("segment").length, 1);
    assertEquals(node.take("q", 600), range(0, 600));
    node.settle();
  }
  assertEquals(node.errors, []);
});

Deno.test("FileStore reads pages ahead of a head, few of them where they are large", () => {
  const sizes = { pageBytes: 1 << 20, pageGroupBytes: 1 << 20, segmentFileBytes: 1 << 26 };
  let node = new PagedNode(new MemoryDisk(), { sizes });
  node.queue("q");
  for (let number = 0; number < 500; number++) {
    node.t.publish("q", `${number}`.padStart(30_000, "."), PERSISTENT);
    if (number % 8 === 0) node.settle();
  }
  for (let turns = 0; turns < 20; turns++) node.settle();
  // The next node would have room for many more.
  node = node.crash({ kind: "process" }, { sizes, residentBytesMax: 16 * 1024 * 1024 });
  let mostBytes = 0;
  const channel = new TestChannel();
  for (let number = 0; number < 200; number++) {
    const seen = node.get("q", channel)!;
    assertEquals(numberOf(seen), number);
    channel.unacked.ack(seen.tag, false);
    node.t.turn();
    node.disk.finishAll();
    mostBytes = Math.max(mostBytes, node.store.liveBytes);
  }
  // A page of 16 messages at the head, and a MiB behind it with the page that goes beyond that.
  assertLess(mostBytes, 4.5 * 480_000 + 1024 * 1024);
  assertGreater(mostBytes, 2 * 480_000);
});
