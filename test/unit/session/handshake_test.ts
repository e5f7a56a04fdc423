// From the protocol header to open-ok, and everything that can go wrong on the way.

import { assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import { booleanOf, textField } from "../../../src/amqp/field_value.ts";
import { writeFieldTable } from "../../../src/amqp/field_table.ts";
import * as M from "../../../src/amqp/methods_gen.ts";
import { ByteWriter } from "../../../src/lib/byte_writer.ts";
import { decodeText, encodeText } from "../../../src/lib/text.ts";
import { PROTOCOL_HEADER } from "../../../src/amqp/frame.ts";
import { methodFrame } from "../../support/amqp_client.ts";
import { TestNode } from "../../support/test_node.ts";

Deno.test("connection answers a wrong protocol header with its own and closes", () => {
  const client = new TestNode().stream();
  client.raw(encodeText("GET / HTTP/1.1\r\n"));
  assertStringIncludes(client.headerReply, "AMQP");
  assertEquals(client.receivedBytes, 8);
  assertEquals(client.isClosed, true);
});

Deno.test("connection refuses AMQP 1.0's header", () => {
  const client = new TestNode().stream();
  client.raw(Uint8Array.of(0x41, 0x4d, 0x51, 0x50, 3, 1, 0, 0));
  assertEquals(client.headerReply, "AMQP\0\0\x09\x01");
  assertEquals(client.isClosed, true);
});

Deno.test("connection takes the protocol header byte by byte", () => {
  const client = new TestNode().stream();
  for (const byte of PROTOCOL_HEADER) {
    assertEquals(client.inbox.length, 0);
    client.raw(Uint8Array.of(byte));
  }
  client.expect(M.CONNECTION_START, 0);
});

Deno.test("connection takes header and start-ok in one piece", () => {
  const client = new TestNode().stream();
  const response = encodeText("\0guest\0guest");
  const startOk = methodFrame(M.CONNECTION_START_OK, 0, { mechanism: "PLAIN", response });
  client.raw(Uint8Array.of(...PROTOCOL_HEADER, ...startOk));
  client.expect(M.CONNECTION_START, 0);
  client.expect(M.CONNECTION_TUNE, 0);
});

Deno.test("connection.start says who we are and what we can", () => {
  const client = new TestNode().stream();
  client.raw(PROTOCOL_HEADER);
  const start = client.expect(M.CONNECTION_START, 0).args as M.ConnectionStart;
  assertEquals(start.versionMajor, 0);
  assertEquals(start.versionMinor, 9);
  assertEquals(decodeText(start.mechanisms, 0, start.mechanisms.length), "PLAIN AMQPLAIN");
  assertEquals(decodeText(start.locales, 0, start.locales.length), "en_US");
  const { serverProperties } = start;
  assertEquals(serverProperties.get("product"), textField("Reprise"));
  assertEquals(serverProperties.get("version"), textField("3.13.7"));
  const field = serverProperties.get("capabilities");
  const capabilities = field?.tag === "F" ? field.value : new Map();
  assertEquals(booleanOf(capabilities.get("basic.nack")), true);
  assertEquals(booleanOf(capabilities.get("connection.blocked")), true);
  assertFalse(capabilities.has("direct_reply_to"));
});

Deno.test("handshake offers tune and opens the vhost", () => {
  const node = new TestNode();
  const client = node.stream();
  client.greet();
  const tune = client.expect(M.CONNECTION_TUNE, 0).args as M.ConnectionTune;
  assertEquals(tune, { channelMax: 2047, frameMax: 131072, heartbeat: 60 });
  client.send(M.CONNECTION_TUNE_OK, 0, { channelMax: 10, frameMax: 4096, heartbeat: 0 });
  client.rpc(M.CONNECTION_OPEN, 0, { virtualHost: "/" }, M.CONNECTION_OPEN_OK);
  const [connection] = [...node.engine.connections];
  assertEquals(connection!.user?.name, "guest");
  assertEquals(connection!.channelMax, 10);
  assertEquals(connection!.framePayloadMax, 4088);
  assertEquals(node.broker.metrics.authSucceeded, 1);
});

Deno.test("handshake takes AMQPLAIN", () => {
  const out = new ByteWriter();
  const login = [["LOGIN", textField("guest")], ["PASSWORD", textField("guest")]] as const;
  writeFieldTable(out, new Map(login));
  const response = out.copy().subarray(4);
  new TestNode().connect({ mechanism: "AMQPLAIN", response });
});

Deno.test("handshake refuses a wrong password with 403 if the client can take it", () => {
  const node = new TestNode();
  const client = node.stream();
  client.greet({ password: "wrong" });
  node.advance(999);
  assertEquals(client.inbox.length, 0);
  node.advance(1);
  const close = client.takeClose();
  assertEquals(close.replyCode, 403);
  assertEquals(
    close.replyText,
    "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. " +
      "For details see the broker logfile.",
  );
  assertEquals(client.isClosed, true);
  assertEquals(node.broker.metrics.authFailed, 1);
});

Deno.test("handshake drops a client that cannot take a refusal after a delay", () => {
  const node = new TestNode();
  const client = node.stream();
  client.greet({ password: "wrong", capabilities: [] });
  client.send(M.CONNECTION_TUNE_OK, 0, { channelMax: 0, frameMax: 0, heartbeat: 0 });
  assertEquals(client.inbox.length, 0);
  assertFalse(client.isClosed);
  node.advance(1000);
  assertEquals(client.isClosed, true);
  assertEquals(node.engine.connectionCount, 0);
});

Deno.test("handshake refuses unknown users", () => {
  const node = new TestNode();
  const client = node.stream();
  client.greet({ user: "nobody" });
  node.advance(1000);
  assertEquals(client.takeClose().replyCode, 403);
});

Deno.test("handshake lets guest in from this machine only", () => {
  const node = new TestNode({
    users: [
      { name: "guest", password: "guest", tags: [], loopbackOnly: true },
      { name: "worker", password: "secret", tags: [], loopbackOnly: false },
    ],
  });
  const remote = node.stream({ peerHost: "192.0.2.7" });
  remote.greet();
  node.advance(1000);
  assertEquals(remote.takeClose().replyCode, 403);
  node.stream({ peerHost: "192.0.2.7" }).login({ user: "worker", password: "secret" });
  node.stream({ peerHost: "::ffff:127.0.0.1" }).login();
  node.stream({ peerHost: "::1" }).login();
});

Deno.test("handshake refuses an unknown mechanism with 503", () => {
  const client = new TestNode().stream();
  client.greet({ mechanism: "EXTERNAL" });
  const close = client.takeClose();
  assertEquals(close.replyCode, 503);
  assertStringIncludes(close.replyText, "unknown authentication mechanism 'EXTERNAL'");
});

Deno.test("handshake refuses a malformed PLAIN response with 502", () => {
  const client = new TestNode().stream();
  client.greet({ response: encodeText("guest") });
  assertEquals(client.takeClose().replyCode, 502);
});

function tuneError(args: { channelMax?: number; frameMax?: number }): M.ConnectionClose {
  const client = new TestNode().stream();
  client.greet();
  client.send(M.CONNECTION_TUNE_OK, 0, {
    channelMax: 2047,
    frameMax: 131072,
    heartbeat: 0,
    ...args,
  });
  return client.takeClose();
}

Deno.test("tune-ok above ours, without a limit or below the minimum is a 530", () => {
  const cases: [{ channelMax?: number; frameMax?: number }, string][] = [
    [{ frameMax: 4095 }, "frame_max = 4095 is lower than the minimum allowed value (4096)"],
    [{ frameMax: 131073 }, "frame_max = 131073 is higher than the maximum allowed value (131072)"],
    [{ frameMax: 0 }, "frame_max = 0 is higher than the maximum allowed value (131072)"],
    [{ channelMax: 2048 }, "channel_max = 2048 is higher than the maximum allowed value (2047)"],
    [
      { channelMax: 0 },
      "channel_max = 0 (no limit) is higher than the maximum allowed value (2047)",
    ],
  ];
  for (const [args, text] of cases) {
    const close = tuneError(args);
    assertEquals(close.replyCode, 530);
    assertEquals(close.replyText, `NOT_ALLOWED - negotiated ${text}`);
    assertEquals([close.classId, close.methodId], [10, 30]);
  }
});

Deno.test("connection.open of an unknown vhost is a 530", () => {
  const client = new TestNode().stream();
  client.greet();
  client.expect(M.CONNECTION_TUNE, 0);
  client.send(M.CONNECTION_TUNE_OK, 0, { channelMax: 1, frameMax: 4096, heartbeat: 0 });
  client.send(M.CONNECTION_OPEN, 0, { virtualHost: "nope" });
  const close = client.takeClose();
  assertEquals(close.replyCode, 530);
  assertEquals(close.replyText, "NOT_ALLOWED - vhost nope not found");
  assertEquals([close.classId, close.methodId], [10, 40]);
});

Deno.test("connection.open above the node's limit is a 530, and works again when one has left", () => {
  const node = new TestNode({ limits: { connectionCountMax: 1 } });
  const first = node.connect();
  const second = node.stream();
  second.greet();
  second.expect(M.CONNECTION_TUNE, 0);
  second.send(M.CONNECTION_TUNE_OK, 0, { channelMax: 1, frameMax: 4096, heartbeat: 0 });
  second.send(M.CONNECTION_OPEN, 0, { virtualHost: "/" });
  const close = second.takeClose();
  assertEquals(close.replyCode, 530);
  assertStringIncludes(close.replyText, "node connection limit (1) is reached");
  first.close();
  node.connect();
});

Deno.test("handshake that takes too long is dropped", () => {
  const node = new TestNode({ limits: { handshakeMs: 5000 } });
  const silent = node.stream();
  const half = node.stream();
  half.greet();
  const done = node.connect();
  node.advance(4999);
  assertFalse(silent.isClosed || half.isClosed);
  node.advance(1);
  assertEquals([silent.isClosed, half.isClosed, done.isClosed], [true, true, false]);
  assertEquals(node.engine.connectionCount, 1);
});

Deno.test("a method out of order in the handshake is a 504", () => {
  const client = new TestNode().stream();
  client.raw(PROTOCOL_HEADER);
  client.expect(M.CONNECTION_START, 0);
  client.send(M.CONNECTION_OPEN, 0, { virtualHost: "/" });
  const close = client.takeClose();
  assertEquals(close.replyCode, 504);
  assertEquals(close.replyText, "CHANNEL_ERROR - unexpected method in connection state starting");
});

Deno.test("a frame for a channel before the connection is open is a 505", () => {
  const client = new TestNode().stream();
  client.raw(PROTOCOL_HEADER);
  client.expect(M.CONNECTION_START, 0);
  client.send(M.CHANNEL_OPEN, 1);
  assertEquals(client.takeClose().replyCode, 505);
});

Deno.test("connection.close is answered in the middle of the handshake too", () => {
  const node = new TestNode();
  const client = node.stream();
  client.greet();
  client.sayClose();
  node.advance(1000);
  assertEquals(client.isClosed, true);
});
