// Hard errors: what a client may not do at all, each answered with connection.close while the others
// go on as if nothing had happened.

import { assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import { frame, headerFrame, joined, methodFrame } from "../../support/amqp_client.ts";
import * as M from "../../../src/amqp/methods_gen.ts";
import { encodeText } from "../../../src/lib/text.ts";
import { TestNode } from "../../support/test_node.ts";
import type { AmqpClient } from "../../support/amqp_client.ts";
import type { ClientChannel } from "../../support/client_channel.ts";

const BODY = 3;
const HEARTBEAT = 8;

interface Case {
  name: string;
  act: (client: AmqpClient, channel: ClientChannel) => void;
  code: number;
  text: string;
  blame?: [number, number];
}

const PUBLISH = methodFrame(M.BASIC_PUBLISH, 1, { exchange: "", routingKey: "q" });

const CASES: Case[] = [
  {
    name: "a frame that does not end in 0xCE",
    act: (client) => client.raw(Uint8Array.of(8, 0, 0, 0, 0, 0, 0, 0x00)),
    code: 501,
    text: "FRAME_ERROR - type 8, all octets = <<>>: {invalid_frame_end_marker,0}",
    blame: [0, 0],
  },
  {
    name: "an unknown frame type",
    act: (client) => client.raw(frame(5, 0, new Uint8Array(0))),
    code: 501,
    text: "FRAME_ERROR - type 5, all octets = <<>>: unknown_frame",
    blame: [0, 0],
  },
  {
    name: "a frame above frame_max",
    act: (client) => client.raw(Uint8Array.of(3, 0, 1, 0, 2, 0, 1)),
    code: 501,
    text: "FRAME_ERROR - type 3, all octets = <<>>: {frame_too_large,131073,131064}",
    blame: [0, 0],
  },
  {
    name: "a method frame without a method",
    act: (client) => client.raw(frame(1, 1, Uint8Array.of(0, 60))),
    code: 501,
    text: "FRAME_ERROR - type 1, all octets = <<0,60>>: unknown_frame",
    blame: [0, 0],
  },
  {
    name: "a method with too few arguments",
    act: (client) => client.raw(frame(1, 1, Uint8Array.of(0, 60, 0, 80, 0, 0))),
    code: 502,
    text: "SYNTAX_ERROR - method is truncated or has surplus bytes",
    blame: [60, 80],
  },
  {
    name: "a method with too many arguments",
    act: (client) => client.raw(frame(1, 1, Uint8Array.of(0, 90, 0, 10, 7))),
    code: 502,
    text: "SYNTAX_ERROR - method has surplus bytes",
    blame: [90, 10],
  },
  {
    name: "an unknown class",
    act: (client) => client.raw(frame(1, 1, Uint8Array.of(0, 99, 0, 1))),
    code: 540,
    text: "NOT_IMPLEMENTED - unknown method: class 99, method 1",
    blame: [99, 1],
  },
  {
    name: "an unknown method of a known class",
    act: (client) => client.raw(frame(1, 1, Uint8Array.of(0, 60, 0, 99))),
    code: 540,
    text: "NOT_IMPLEMENTED - unknown method: class 60, method 99",
  },
  {
    name: "a method only servers send",
    act: (client) => client.send(M.QUEUE_PURGE_OK, 1, { messageCount: 1 }),
    code: 503,
    text: "COMMAND_INVALID - unimplemented method",
    blame: [50, 31],
  },
  {
    name: "a connection method on a channel",
    act: (client) => client.send(M.CONNECTION_OPEN, 1, { virtualHost: "/" }),
    code: 503,
    text: "COMMAND_INVALID - connection method on a channel other than 0",
  },
  {
    name: "a channel method on channel 0",
    act: (client) => client.send(M.QUEUE_DECLARE, 0, { queue: "q" }),
    code: 504,
    text: "CHANNEL_ERROR - unexpected method in connection state running",
  },
  {
    name: "start-ok when running",
    act: (client) => client.send(M.CONNECTION_START_OK, 0, {}),
    code: 504,
    text: "CHANNEL_ERROR - unexpected method in connection state running",
    blame: [10, 11],
  },
  {
    name: "a second channel.open",
    act: (client) => client.send(M.CHANNEL_OPEN, 1),
    code: 504,
    text: "CHANNEL_ERROR - second 'channel.open' seen",
    blame: [20, 10],
  },
  {
    name: "a method on a channel that is not open",
    act: (client) => client.send(M.BASIC_GET, 2, { queue: "q", noAck: false }),
    code: 504,
    text: "CHANNEL_ERROR - expected 'channel.open'",
    blame: [60, 70],
  },
  {
    name: "content on a channel that is not open",
    act: (client) => client.raw(headerFrame(2, 1)),
    code: 504,
    text: "CHANNEL_ERROR - expected 'channel.open'",
    blame: [0, 0],
  },
  {
    name: "a channel above channel_max",
    act: (client) => client.send(M.CHANNEL_OPEN, 2048),
    code: 530,
    text: "NOT_ALLOWED - channel number 2048 is above the negotiated channel_max (2047)",
  },
  {
    name: "a content header without a method",
    act: (client) => client.raw(headerFrame(1, 1)),
    code: 505,
    text: "UNEXPECTED_FRAME - expected method frame, got non method frame instead",
    blame: [0, 0],
  },
  {
    name: "a body without a method",
    act: (client) => client.raw(frame(BODY, 1, encodeText("x"))),
    code: 505,
    text: "UNEXPECTED_FRAME - expected method frame, got non method frame instead",
    blame: [0, 0],
  },
  {
    name: "a body before its header",
    act: (client) => client.raw(joined([PUBLISH, frame(BODY, 1, encodeText("x"))])),
    code: 505,
    text: "UNEXPECTED_FRAME - expected content header for class 60, " +
      "got non content header frame instead",
    blame: [60, 40],
  },
  {
    name: "a method where a header is expected",
    act: (client) => client.raw(joined([PUBLISH, PUBLISH])),
    code: 505,
    text: "UNEXPECTED_FRAME - expected content header for class 60, " +
      "got non content header frame instead",
    blame: [60, 40],
  },
  {
    name: "a header of another class",
    act: (client) => client.raw(joined([PUBLISH, headerFrame(1, 1, {}, 50)])),
    code: 505,
    text: "UNEXPECTED_FRAME - expected content header for class 60, got one for class 50 instead",
    blame: [60, 40],
  },
  {
    name: "a method where a body is expected",
    act: (client) => client.raw(joined([PUBLISH, headerFrame(1, 2), PUBLISH])),
    code: 505,
    text: "UNEXPECTED_FRAME - expected content body, got non content body frame instead",
    blame: [60, 40],
  },
  {
    name: "a second header where a body is expected",
    act: (client) => client.raw(joined([PUBLISH, headerFrame(1, 2), headerFrame(1, 2)])),
    code: 505,
    text: "UNEXPECTED_FRAME - expected content body, got non content body frame instead",
    blame: [60, 40],
  },
  {
    name: "a body longer than announced",
    act: (client) =>
      client.raw(joined([PUBLISH, headerFrame(1, 2), frame(BODY, 1, encodeText("xyz"))])),
    code: 505,
    text: "UNEXPECTED_FRAME - content body is longer than announced",
    blame: [60, 40],
  },
  {
    name: "content on channel 0",
    act: (client) => client.raw(headerFrame(0, 1)),
    code: 505,
    text: "UNEXPECTED_FRAME - type 2, all octets = <<0,60,0,0,0,0,0,0,0,0,0,1,0,0>>",
    blame: [0, 0],
  },
  {
    name: "a heartbeat on a channel",
    act: (client) => client.raw(frame(HEARTBEAT, 1, new Uint8Array(0))),
    code: 505,
    text: "UNEXPECTED_FRAME - type 8, all octets = <<>>",
    blame: [0, 0],
  },
  {
    name: "properties that do not add up",
    act: (client) => {
      const broken = frame(2, 1, Uint8Array.of(0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 9));
      client.raw(joined([PUBLISH, broken]));
    },
    code: 502,
    text: "SYNTAX_ERROR - content properties are truncated",
    blame: [60, 40],
  },
  {
    name: "immediate publishing",
    act: (_client, channel) => channel.publish("q", "x", { immediate: true }),
    code: 540,
    text: "NOT_IMPLEMENTED - immediate=true",
    blame: [60, 40],
  },
  {
    name: "a prefetch size",
    act: (client) =>
      client.send(M.BASIC_QOS, 1, { prefetchSize: 9, prefetchCount: 0, global: false }),
    code: 540,
    text: "NOT_IMPLEMENTED - prefetch_size!=0 (9)",
    blame: [60, 10],
  },
  {
    name: "recover without requeue",
    act: (client) => client.send(M.BASIC_RECOVER, 1, { requeue: false }),
    code: 540,
    text: "NOT_IMPLEMENTED - requeue=false",
  },
  {
    name: "recover-async without requeue",
    act: (client) => client.send(M.BASIC_RECOVER_ASYNC, 1, { requeue: false }),
    code: 540,
    text: "NOT_IMPLEMENTED - requeue=false",
  },
  {
    name: "channel.flow to stop deliveries",
    act: (client) => client.send(M.CHANNEL_FLOW, 1, { active: false }),
    code: 540,
    text: "NOT_IMPLEMENTED - active=false",
    blame: [20, 20],
  },
  {
    name: "a consumer tag used twice",
    act: (client, channel) => {
      channel.queue("q2");
      channel.consume("q2", { consumerTag: "t" });
      client.send(M.BASIC_CONSUME, 1, { queue: "q2", consumerTag: "t" });
    },
    code: 530,
    text: "NOT_ALLOWED - attempt to reuse consumer tag 't'",
    blame: [60, 20],
  },
];

for (const { name, act, code, text, blame } of CASES) {
  Deno.test(`connection closes with ${code} for ${name}`, () => {
    const node = new TestNode();
    const witness = node.connect().channel();
    witness.queue("w");
    witness.consume("w");
    const client = node.connect();
    act(client, client.channel());
    const close = client.takeClose();
    assertEquals(close.replyCode, code);
    assertEquals(close.replyText, text);
    if (blame !== undefined) assertEquals([close.classId, close.methodId], blame);
    assertEquals(client.isClosed, true);
    assertEquals(node.engine.connectionCount, 1);
    witness.publish("w", "still here");
    assertEquals(witness.deliveries().map(({ body }) => body), ["still here"]);
  });
}

Deno.test("connection closes with 530 above the limit of consumers per channel", () => {
  const node = new TestNode({ limits: { consumersPerChannelMax: 2 } });
  const client = node.connect();
  const channel = client.channel();
  channel.queue("q");
  channel.consume("q");
  channel.consume("q");
  channel.send(M.BASIC_CONSUME, { queue: "q" });
  const close = client.takeClose();
  assertEquals(close.replyText, "NOT_ALLOWED - reached maximum (2) of consumers per channel");
});

Deno.test("connection that is closing discards everything but close-ok", () => {
  const node = new TestNode();
  const client = node.connect();
  const channel = client.channel();
  channel.queue("q");
  channel.send(M.CHANNEL_OPEN);
  client.expect(M.CONNECTION_CLOSE, 0);
  channel.publish("q", "too late");
  channel.send(M.BASIC_GET, { queue: "q", noAck: true });
  client.send(M.CHANNEL_OPEN, 9);
  assertEquals(client.inbox.length, 0);
  assertEquals(node.queue("q").readyCount, 0);
  assertFalse(client.isClosed);
  client.send(M.CONNECTION_CLOSE_OK, 0);
  assertEquals(client.isClosed, true);
});

Deno.test("connection that is closing answers a close that crossed", () => {
  const client = new TestNode().connect();
  client.channel();
  client.send(M.CHANNEL_OPEN, 1);
  client.expect(M.CONNECTION_CLOSE, 0);
  client.sayClose();
  assertFalse(client.isClosed);
  client.send(M.CONNECTION_CLOSE_OK, 0);
  assertEquals(client.isClosed, true);
});

Deno.test("connection.close that comes twice is answered twice, and the client ends the stream", () => {
  const node = new TestNode();
  const client = node.connect();
  const channel = client.channel();
  channel.queue("q", {}, { exclusive: true, durable: false });
  const close = methodFrame(M.CONNECTION_CLOSE, 0, { replyCode: 200, replyText: "bye" });
  client.raw(joined([close, close]));
  client.raw(close);
  assertEquals(client.inbox.map(({ name }) => name), Array(3).fill("connection.close-ok"));
  // Nothing else is answered, or does anything.
  client.inbox.length = 0;
  channel.send(M.QUEUE_DECLARE, { queue: "late" });
  client.send(M.CHANNEL_OPEN, 5);
  assertEquals([client.inbox.length, client.isClosed], [0, false]);
  assertEquals(node.broker.vhosts.get("/")!.queues.size, 0);
  node.advance(900);
  assertEquals([client.isClosed, node.engine.connectionCount], [false, 1]);
  client.wire.drop();
  assertEquals(node.engine.connectionCount, 0);
});

Deno.test("a client that does not end its stream after connection.close has a second to do so", () => {
  const node = new TestNode();
  const client = node.connect();
  client.sayClose();
  node.advance(500);
  const close = methodFrame(M.CONNECTION_CLOSE, 0, { replyCode: 200, replyText: "again" });
  client.raw(close);
  node.advance(499);
  assertFalse(client.isClosed);
  node.advance(1);
  assertEquals([client.isClosed, node.engine.connectionCount], [true, 0]);
});

Deno.test("bytes that are no frames after connection.close do not keep the stream", () => {
  const node = new TestNode();
  const client = node.connect();
  client.sayClose();
  client.raw(new Uint8Array(64).fill(0xff));
  node.advance(1000);
  assertEquals([client.inbox.length, client.isClosed], [0, true]);
});

Deno.test("connection that is closing is dropped when close-ok does not come", () => {
  const node = new TestNode();
  const client = node.connect();
  client.send(M.CONNECTION_START_OK, 0, {});
  client.expect(M.CONNECTION_CLOSE, 0);
  node.advance(9_999);
  assertFalse(client.isClosed);
  node.advance(1);
  assertEquals(client.isClosed, true);
  assertEquals(node.engine.connectionCount, 0);
});

Deno.test("connection finds close-ok in a stream that no longer makes sense", () => {
  const node = new TestNode();
  const client = node.connect();
  client.raw(encodeText("this is no frame at all, just text"));
  assertEquals(client.expect(M.CONNECTION_CLOSE, 0).args.replyCode, 501);
  client.raw(encodeText("and it goes on"));
  assertFalse(client.isClosed);
  const closeOk = methodFrame(M.CONNECTION_CLOSE_OK, 0);
  client.raw(joined([encodeText("more"), closeOk.subarray(0, 5)]));
  client.raw(closeOk.subarray(5));
  assertEquals(client.isClosed, true);
  assertEquals(node.engine.connectionCount, 0);
});

Deno.test("connection.update-secret is answered", () => {
  const client = new TestNode().connect();
  const args = { newSecret: encodeText("s"), reason: "expired" };
  client.rpc(M.CONNECTION_UPDATE_SECRET, 0, args, M.CONNECTION_UPDATE_SECRET_OK);
});

Deno.test("connection that goes away gives back messages, consumers and exclusive queues", () => {
  const node = new TestNode();
  const other = node.connect().channel();
  other.queue("q");
  const client = node.connect();
  const channel = client.channel();
  channel.queue("mine", {}, { exclusive: true });
  channel.consume("q");
  other.publish("q", "one");
  assertEquals(channel.deliveries().length, 1);
  assertEquals(node.queue("q").unackedCount, 1);
  client.wire.drop();
  assertEquals(node.queue("q").unackedCount, 0);
  assertEquals(node.queue("q").readyCount, 1);
  assertEquals(node.queue("q").consumerCount, 0);
  assertEquals(node.broker.vhosts.get("/")!.queues.has("mine"), false);
  assertEquals(other.get("q")!.redelivered, true);
  const { metrics } = node.broker;
  assertEquals([metrics.connectionsOpened, metrics.connectionsClosed], [2, 1]);
  assertEquals([metrics.channelsOpened, metrics.channelsClosed], [2, 1]);
});

Deno.test("an error of one client leaves the unacked messages of others alone", () => {
  const node = new TestNode();
  const good = node.connect().channel();
  good.queue("q");
  good.publish("q", "one");
  const got = good.get("q")!;
  const bad = node.connect();
  bad.raw(new Uint8Array(64).fill(0xff));
  assertStringIncludes(bad.takeClose().replyText, "unknown_frame");
  good.ack(got.tag);
  assertEquals(node.queue("q").unackedCount, 0);
});
