// Publishes however their frames arrive: whole, split anywhere, mixed over channels, large, empty.

import { assertEquals } from "@std/assert";
import { DELIVERY_MODE_PERSISTENT } from "../../../src/amqp/properties.ts";
import { longField, textField } from "../../../src/amqp/field_value.ts";
import * as M from "../../../src/amqp/methods_gen.ts";
import { Prng } from "../../../src/lib/prng.ts";
import { headerFrame, joined, methodFrame } from "../../support/amqp_client.ts";
import { frame } from "../../support/amqp_client.ts";
import type { Message } from "../../support/client_channel.ts";
import { TestNode } from "../../support/test_node.ts";

function bytesOf(byteCount: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(byteCount);
  for (let i = 0; i < byteCount; i++) bytes[i] = (i * 31 + seed) & 0xff;
  return bytes;
}

const PROPERTIES = {
  contentType: "text/plain",
  headers: new Map([["n", longField(7)], ["s", textField("x")]]),
  deliveryMode: DELIVERY_MODE_PERSISTENT,
  correlationId: "c-1",
  userId: "guest",
};

function assertSame(message: Message, body: Uint8Array): void {
  assertEquals(message.bytes, body);
  assertEquals(message.properties, PROPERTIES);
  assertEquals([message.exchange, message.routingKey], ["amq.direct", "key"]);
}

Deno.test("publish arrives with exchange, key, properties and body as sent", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  channel.bind("q", "amq.direct", "key");
  channel.publish("key", bytesOf(100), { exchange: "amq.direct", properties: PROPERTIES });
  assertSame(channel.get("q", true)!, bytesOf(100));
});

Deno.test("publish with an empty body is complete with its header", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  channel.publish("q", "");
  const message = channel.get("q", true)!;
  assertEquals([message.body, message.properties], ["", {}]);
});

Deno.test("publish survives a split at every byte", () => {
  const node = new TestNode();
  const channel = node.connect({ frameMax: 4096 }).channel();
  channel.queue("q");
  channel.bind("q", "amq.direct", "key");
  const body = bytesOf(60);
  const frames = channel.publishFrames("key", body, {
    exchange: "amq.direct",
    properties: PROPERTIES,
  });
  for (let at = 1; at < frames.length; at++) {
    channel.client.raw(frames.subarray(0, at));
    channel.client.raw(frames.subarray(at));
    assertSame(channel.get("q", true)!, body);
  }
});

Deno.test("publish survives random splits of many messages of many sizes", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const prng = new Prng(seed);
    const channel = new TestNode().connect({ frameMax: 4096 }).channel();
    channel.queue("q");
    channel.bind("q", "amq.direct", "key");
    const bodies = Array.from({ length: 40 }, (_, i) => {
      const size = prng.nextBelow(4) === 0 ? prng.nextBelow(20_000) : prng.nextBelow(200);
      return bytesOf(size, i);
    });
    const stream = joined(
      bodies.map((body) =>
        channel.publishFrames("key", body, { exchange: "amq.direct", properties: PROPERTIES })
      ),
    );
    for (let at = 0; at < stream.length;) {
      const next = at + 1 + prng.nextBelow(prng.nextBelow(3) === 0 ? 16 : 5000);
      channel.client.raw(stream.subarray(at, next));
      at = next;
    }
    for (const body of bodies) assertSame(channel.get("q", true)!, body);
    assertEquals(channel.get("q", true), null);
  }
});

Deno.test("publishes keep their order whatever the pieces, the budget and the pace of the loop", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const prng = new Prng(seed);
    const limits = { inputBytesPerTurn: 50 + prng.nextBelow(500) };
    const node = new TestNode({ limits });
    const channel = node.connect().channel();
    channel.queue("q");
    node.isManual = true;
    const sizes = Array.from({ length: 100 }, () => prng.nextBelow(80));
    const frames = sizes.map((size, i) => channel.publishFrames("q", bytesOf(size, i)));
    const stream = joined(frames);
    // Pieces that end with a frame are as likely as others.
    const ends = frames.reduce<number[]>(
      (all, one) => [...all, (all.at(-1) ?? 0) + one.length],
      [],
    );
    for (let at = 0; at < stream.length;) {
      const next = prng.nextBelow(2) === 0
        ? ends.find((end) => end > at)!
        : Math.min(stream.length, at + 1 + prng.nextBelow(400));
      channel.client.raw(stream.subarray(at, next));
      at = next;
      if (prng.nextBelow(3) === 0) node.loop.step();
    }
    node.isManual = false;
    node.settle();
    const got = sizes.map(() => channel.get("q", true)!.bytes);
    assertEquals(got, sizes.map((size, i) => bytesOf(size, i)));
  }
});

Deno.test("publishes of several channels may be interleaved frame by frame", () => {
  const node = new TestNode();
  const client = node.connect({ frameMax: 4096 });
  const channels = [client.channel(), client.channel(), client.channel()];
  channels[0]!.queue("q");
  const parts = channels.map(({ number }) => [
    methodFrame(M.BASIC_PUBLISH, number, { exchange: "", routingKey: "q" }),
    headerFrame(number, 5000, { correlationId: `c${number}` }),
    frame(3, number, bytesOf(4000, number)),
    frame(3, number, bytesOf(1000, number + 4000 * 31)),
  ]);
  for (let step = 0; step < 4; step++) {
    client.raw(joined(parts.map((part) => part[step]!)));
  }
  for (const { number } of channels) {
    const message = channels[0]!.get("q", true)!;
    assertEquals(message.properties.correlationId, `c${number}`);
    assertEquals(message.bytes, bytesOf(5000, number));
  }
  assertEquals(node.broker.extraMemoryBytes, 0);
});

Deno.test("large bodies are cut at frame_max − 8 on their way out", () => {
  const node = new TestNode();
  const publisher = node.connect().channel();
  publisher.queue("q");
  const body = bytesOf(1_000_003);
  publisher.publish("q", body);
  const client = node.connect({ frameMax: 4096 });
  const channel = client.channel();
  channel.consume("q", { noAck: true });
  assertEquals(channel.deliveries()[0]!.bytes, body);
  assertEquals(Math.max(...client.bodyFrameBytes), 4088);
  assertEquals(client.bodyFrameBytes.length, Math.ceil(body.length / 4088));
  assertEquals(channel.client.inbox.length, 0);
});

Deno.test("a body frame may fill frame_max although we send 8 bytes less", () => {
  const channel = new TestNode().connect({ frameMax: 4096 }).channel();
  channel.queue("q");
  const { number, client } = channel;
  client.raw(joined([
    methodFrame(M.BASIC_PUBLISH, number, { exchange: "", routingKey: "q" }),
    headerFrame(number, 4096),
    frame(3, number, bytesOf(4096)),
  ]));
  assertEquals(channel.get("q", true)!.bytes, bytesOf(4096));
});

Deno.test("memory of unfinished content follows what came, not what was announced", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q");
  const { number, client } = channel;
  client.raw(methodFrame(M.BASIC_PUBLISH, number, { exchange: "", routingKey: "q" }));
  client.raw(headerFrame(number, 100_000_000));
  assertEquals(node.broker.extraMemoryBytes < 100, true);
  client.raw(frame(3, number, bytesOf(1000)));
  assertEquals(node.broker.extraMemoryBytes < 3000, true);
  for (let i = 0; i < 9; i++) client.raw(frame(3, number, bytesOf(1000)));
  assertEquals(node.broker.extraMemoryBytes < 25_000, true);
  client.wire.drop();
  assertEquals(node.broker.extraMemoryBytes, 0);
});

Deno.test("connection closes with 506 when its unfinished content exceeds the limit", () => {
  const node = new TestNode({ limits: { unfinishedBytesMax: 20_000 } });
  const client = node.connect();
  const channels = [client.channel(), client.channel(), client.channel()];
  channels[0]!.queue("q");
  for (const { number } of channels) {
    if (client.inbox.length > 0) break;
    client.raw(methodFrame(M.BASIC_PUBLISH, number, { exchange: "", routingKey: "q" }));
    client.raw(headerFrame(number, 100_000));
    client.raw(frame(3, number, bytesOf(9000)));
  }
  const close = client.takeClose();
  assertEquals(close.replyCode, 506);
  assertEquals(
    close.replyText,
    "RESOURCE_ERROR - connection holds more than 20000 bytes of unfinished content",
  );
  assertEquals(node.broker.extraMemoryBytes, 0);
});

Deno.test("mandatory publish without a queue comes back as it was", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  const body = bytesOf(300_000);
  channel.publish("nowhere", body, {
    exchange: "amq.direct",
    mandatory: true,
    properties: PROPERTIES,
  });
  const [message] = channel.returns();
  assertEquals(message!.replyCode, 312);
  assertEquals([message!.exchange, message!.routingKey], ["amq.direct", "nowhere"]);
  assertEquals(message!.properties, PROPERTIES);
  assertEquals(message!.bytes, body);
  assertEquals(node.broker.metrics.returned, 1);
});

Deno.test("publish without a queue is dropped and counted", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.publish("nowhere", "x");
  assertEquals(channel.returns().length, 0);
  assertEquals(node.broker.metrics.unroutableDropped, 1);
  assertEquals(node.broker.store.liveMessageCount, 0);
});

Deno.test("mandatory publish that is routed does not come back", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  channel.publish("q", "x", { mandatory: true });
  assertEquals(channel.returns().length, 0);
});

Deno.test("a channel error in the middle of a publish swallows the rest of it", () => {
  const node = new TestNode();
  const client = node.connect();
  const channel = client.channel();
  const publish = channel.publishFrames("q", bytesOf(50), { properties: { userId: "bob" } });
  for (const byte of publish) client.raw(Uint8Array.of(byte));
  channel.takeClose();
  client.channel(1).queue("q");
  assertEquals(node.broker.extraMemoryBytes, 0);
});

Deno.test("a publish may name another user only if its own has the tag impersonator", () => {
  const user = { password: "x", loopbackOnly: false };
  const node = new TestNode({
    users: [
      { ...user, name: "front", tags: ["impersonator"] },
      { ...user, name: "admin", tags: ["administrator", "management"] },
    ],
  });
  const front = node.connect({ user: "front", password: "x" }).channel();
  front.queue("q");
  for (const userId of ["front", "alice"]) front.publish("q", userId, { properties: { userId } });
  assertEquals([front.get("q"), front.get("q")].map((one) => one?.properties.userId), [
    "front",
    "alice",
  ]);
  const admin = node.connect({ user: "admin", password: "x" }).channel();
  admin.publish("q", "x", { properties: { userId: "front" } });
  assertEquals(
    admin.takeClose().replyText,
    "PRECONDITION_FAILED - user_id property set to 'front' but authenticated user was 'admin'",
  );
});
