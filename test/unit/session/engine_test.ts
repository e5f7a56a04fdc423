// The engine itself: turns, timers, the end of everything, and whose fault is whose.

import { assertEquals, assertFalse, assertGreater, assertRejects, assertThrows } from "@std/assert";
import { ChannelError } from "../../../src/amqp/errors.ts";
import * as M from "../../../src/amqp/methods_gen.ts";
import { AssertionError, unreachable } from "../../../src/lib/assert.ts";
import { MemoryStore } from "../../../src/store/memory_store.ts";
import { SlowStore } from "../../support/slow_store.ts";
import { TestNode } from "../../support/test_node.ts";

Deno.test("Engine.close() says goodbye with 320 and waits for the answers", async () => {
  const node = new TestNode();
  const clients = [node.connect(), node.connect()];
  let isClosed = false;
  const closing = node.engine.close().then(() => isClosed = true);
  for (const client of clients) {
    const close = client.expect(M.CONNECTION_CLOSE, 0).args;
    assertEquals(close.replyCode, 320);
    assertEquals(
      close.replyText,
      "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'",
    );
  }
  await Promise.resolve();
  assertFalse(isClosed);
  for (const client of clients) client.send(M.CONNECTION_CLOSE_OK, 0);
  await closing;
  assertEquals(node.loop.armedMs, Infinity);
});

Deno.test("Engine.close() does not wait for a silent client longer than its grace", async () => {
  const node = new TestNode();
  const client = node.connect();
  const half = node.stream();
  half.greet();
  const closing = node.engine.close(2000);
  node.settle();
  assertEquals([client.isClosed, half.isClosed], [false, true]);
  node.advance(2000);
  await closing;
  assertEquals([client.isClosed, node.engine.connectionCount], [true, 0]);
});

Deno.test("Engine.close() ends streams whose clients have said goodbye", async () => {
  const node = new TestNode();
  const client = node.connect();
  client.sayClose();
  const closing = node.engine.close();
  node.settle();
  await closing;
  assertEquals([client.isClosed, client.inbox.length], [true, 0]);
});

Deno.test("Engine.close() without connections resolves at once, and nobody is let in", async () => {
  const node = new TestNode();
  await node.engine.close();
  const late = node.stream();
  assertEquals(late.isClosed, true);
  late.raw(Uint8Array.of(1, 2, 3));
});

Deno.test("Engine.accept() drops streams far above the connection limit", () => {
  const node = new TestNode({ limits: { connectionCountMax: 1 } });
  const streams = Array.from({ length: 70 }, () => node.stream());
  assertEquals(streams.filter(({ isClosed }) => isClosed).length, 5);
  streams[0]!.wire.drop();
  assertFalse(node.stream().isClosed);
});

Deno.test("Engine.turn() returns and throws what its function does", () => {
  const node = new TestNode();
  assertEquals(node.engine.turn(() => 7), 7);
  assertThrows(
    () =>
      node.engine.turn(() => {
        throw new ChannelError(404, "no such thing");
      }),
    ChannelError,
    "no such thing",
  );
  node.connect();
});

Deno.test("Engine.turn() dispatches and flushes what its function changed", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q");
  channel.consume("q");
  node.engine.turn(() => node.broker.vhosts.get("/")!.removeQueue(node.queue("q")));
  channel.client.expect(M.BASIC_CANCEL, 1);
});

Deno.test("a failed assertion in broker code stops the node and nothing is answered", () => {
  const store = new MemoryStore();
  const node = new TestNode({ store });
  const client = node.connect();
  const channel = client.channel();
  channel.queue("q");
  store.append = () => unreachable("the store is broken");
  assertThrows(() => channel.publish("q", "x"), AssertionError, "the store is broken");
  assertEquals(node.fatalErrors.length, 1);
  assertEquals(client.inbox.length, 0);
  node.fatalErrors.length = 0;
  client.send(M.CHANNEL_OPEN, 5);
  assertEquals(client.inbox.length, 0);
});

Deno.test("an exception in session code ends its connection with 541 and no other", () => {
  const node = new TestNode();
  const good = node.connect().channel();
  good.queue("q");
  const bad = node.connect();
  const channel = bad.channel();
  const [, connection] = [...node.engine.connections];
  Object.defineProperty(connection!.channels[1]!, "prefetch", {
    set() {
      throw new TypeError("a bug");
    },
  });
  channel.send(M.BASIC_QOS, { prefetchSize: 0, prefetchCount: 1, global: false });
  const close = bad.takeClose();
  assertEquals(close.replyText, "INTERNAL_ERROR - an internal error occurred");
  assertEquals(node.logs.at(-1)?.message, "connection failed");
  good.publish("q", "x");
  assertEquals(good.get("q", true)!.body, "x");
});

Deno.test("an exception when a get goes on after a read ends its connection with 541 and no other", () => {
  const store = new SlowStore();
  const node = new TestNode({ store });
  const good = node.connect().channel();
  good.queue("q");
  good.publish("q", "x");
  const bad = node.connect();
  const channel = bad.channel();
  const [, connection] = [...node.engine.connections];
  channel.send(M.BASIC_GET, { queue: "q", noAck: false });
  connection!.unhold = () => {
    throw new TypeError("a bug");
  };
  node.engine.turn(() => store.finishReads());
  node.settle();
  assertEquals(bad.takeClose().replyCode, 541);
  assertEquals(node.queue("q").readyCount, 1);
  assertEquals(good.get("q", true)!.body, "x");
});

Deno.test("an exception while a delivery is written ends the consumer's connection only", () => {
  const node = new TestNode();
  const publisher = node.connect().channel();
  publisher.queue("q");
  const consumer = node.connect();
  consumer.channel().consume("q");
  const [, connection] = [...node.engine.connections];
  Object.defineProperty(connection!, "framePayloadMax", {
    get() {
      throw new TypeError("a bug");
    },
  });
  publisher.publish("q", "x");
  assertEquals(consumer.takeClose().replyCode, 541);
  const message = publisher.get("q")!;
  assertEquals([message.body, message.redelivered], ["x", true]);
});

Deno.test("the host timer is armed for what is due next and moved only to earlier times", () => {
  const node = new TestNode({ limits: { handshakeMs: 3_600_000 } });
  const channel = node.connect().channel();
  const armed = () => node.loop.armedMs - node.clock.monotonicMs();
  channel.queue("q", { "x-message-ttl": 60_000 });
  channel.publish("q", "1");
  assertEquals(armed() <= 60_000, true);
  channel.queue("r", { "x-message-ttl": 500 });
  channel.publish("r", "1");
  assertEquals(armed() <= 500, true);
  node.advance(500);
  assertEquals(node.queue("r").readyCount, 0);
  assertEquals(node.queue("q").readyCount, 1);
  node.advance(59_500);
  assertEquals(node.queue("q").readyCount, 0);
});

Deno.test("the host timer is left alone while what is due next stays the same", () => {
  const node = new TestNode({ limits: { handshakeMs: 3_600_000 } });
  const channel = node.connect().channel();
  channel.queue("q", { "x-message-ttl": 500 });
  channel.publish("q", "1");
  let armCount = 0;
  const arm = node.loop.arm.bind(node.loop);
  node.loop.arm = (delayMs, callback) => {
    armCount++;
    arm(delayMs, callback);
  };
  for (let i = 0; i < 10; i++) channel.publish("q", "2");
  assertEquals(armCount, 0);
  node.advance(500);
  assertEquals(node.queue("q").readyCount, 0);
});

Deno.test("the host timer is armed no more once the engine is closed, whatever is due later", async () => {
  const node = new TestNode();
  const client = node.connect();
  const channel = client.channel();
  channel.queue("q", { "x-message-ttl": 60_000 });
  channel.publish("q", "1");
  const closing = node.engine.close();
  client.expect(M.CONNECTION_CLOSE, 0);
  client.send(M.CONNECTION_CLOSE_OK, 0);
  await closing;
  node.engine.turn(() => {});
  assertEquals(node.loop.armedMs, Infinity);
});

Deno.test("a closed stream is told of nothing more, whatever happens to its queues", async () => {
  const node = new TestNode();
  const client = node.connect();
  const channel = client.channel();
  channel.queue("q");
  channel.consume("q");
  client.wire.drop();
  const other = node.connect().channel();
  other.publish("q", "x");
  assertEquals(client.inbox.length, 0);
  assertEquals(node.queue("q").readyCount, 1);
  const closing = node.engine.close();
  other.client.takeClose();
  await closing;
  await assertRejects(() => Promise.reject(new Error("done")), Error, "done");
});

Deno.test("timers that are due already take one turn a round, not one more for the host's timer", () => {
  const node = new TestNode({ isManual: true });
  const { scheduler } = node.broker;
  let firedCount = 0;
  const group = scheduler.openGroup(() => firedCount++);
  node.engine.turn(() => {
    for (let i = 0; i < 5000; i++) scheduler.insert(group, node.broker.nowMs, i);
  });
  assertEquals(node.loop.armedMs, Infinity);
  node.loop.step();
  assertGreater(firedCount, 0);
  assertGreater(5000, firedCount);
  assertEquals(node.loop.armedMs, Infinity);
  node.loop.settle();
  assertEquals(firedCount, 5000);
});
