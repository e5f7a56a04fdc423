// What anybody can have the node do before a login: small frames, few connections, nothing kept.

import { assertEquals, assertFalse, assertGreater, assertLessOrEqual } from "@std/assert";
import { PROTOCOL_HEADER } from "../../../src/amqp/frame.ts";
import * as M from "../../../src/amqp/methods_gen.ts";
import { ByteWriter } from "../../../src/lib/byte_writer.ts";
import { encodeText } from "../../../src/lib/text.ts";
import { frame, joined, methodFrame } from "../../support/amqp_client.ts";
import type { Connection } from "../../../src/session/connection.ts";
import { Newcomers } from "../../../src/session/newcomers.ts";
import { TestNode } from "../../support/test_node.ts";

/** A start-ok whose client properties are `count` empty tables. */
function startOkWithTables(count: number, password: string): Uint8Array {
  const out = new ByteWriter();
  out.u32(M.CONNECTION_START_OK);
  out.u32(count * 6);
  for (let i = 0; i < count; i++) {
    out.u8(0);
    out.u8("F".charCodeAt(0));
    out.u32(0);
  }
  out.shortString("PLAIN");
  out.longString(encodeText(`\0guest\0${password}`));
  out.shortString("en_US");
  return frame(1, 0, out.copy());
}

Deno.test("a frame above the minimum of frame_max is refused until tune-ok", () => {
  const client = new TestNode().stream();
  client.raw(PROTOCOL_HEADER);
  client.expect(M.CONNECTION_START, 0);
  client.raw(startOkWithTables(1000, "guest"));
  const close = client.takeClose();
  assertEquals(close.replyCode, 501);
  assertEquals(
    close.replyText,
    "FRAME_ERROR - type 1, all octets = <<>>: {frame_too_large,6036,4088}",
  );
});

Deno.test("start-ok may have 4096 bytes, and frames after tune-ok what was agreed", () => {
  const client = new TestNode().stream();
  client.raw(PROTOCOL_HEADER);
  client.expect(M.CONNECTION_START, 0);
  const largest = Math.floor((4096 - 4 - 4 - 6 - 4 - 12 - 6) / 6);
  client.raw(startOkWithTables(largest, "guest"));
  client.expect(M.CONNECTION_TUNE, 0);
  const tuneOk = { channelMax: 10, frameMax: 131_072, heartbeat: 0 };
  client.raw(joined([
    methodFrame(M.CONNECTION_TUNE_OK, 0, tuneOk),
    methodFrame(M.CONNECTION_OPEN, 0, { virtualHost: "/" }),
    methodFrame(M.CHANNEL_OPEN, 1),
    methodFrame(M.BASIC_PUBLISH, 1, { exchange: "", routingKey: "nowhere" }),
  ]));
  client.expect(M.CHANNEL_OPEN_OK, 1);
  client.raw(frame(2, 1, Uint8Array.of(0, 60, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0)));
  client.raw(frame(3, 1, new Uint8Array(1)));
  assertEquals(client.inbox.length, 1);
});

Deno.test("nothing of the client's properties is kept when a login is refused", () => {
  const node = new TestNode();
  const client = node.stream();
  client.raw(PROTOCOL_HEADER);
  client.raw(startOkWithTables(600, "wrong"));
  const [connection] = node.engine.connections;
  assertEquals(connection!.clientProperties.size, 0);
  assertFalse(client.isClosed);
});

Deno.test("properties that do not add up are refused before the password is looked at", () => {
  const node = new TestNode();
  const client = node.stream();
  client.raw(PROTOCOL_HEADER);
  client.expect(M.CONNECTION_START, 0);
  const bytes = startOkWithTables(3, "wrong");
  bytes[7 + 4 + 4 + 1] = "?".charCodeAt(0);
  client.raw(bytes);
  const close = client.takeClose();
  assertEquals([close.replyCode, close.classId, close.methodId], [502, 10, 11]);
  assertEquals(node.broker.metrics.authFailed, 0);
});

Deno.test("connections that have not logged in are bounded from one address, and the log says so", () => {
  const node = new TestNode({ limits: { handshakesPerAddressMax: 3 } });
  const from = (peerHost: string) => node.stream({ peerHost });
  const silent = [1, 2, 3].map(() => from("192.0.2.1"));
  assertEquals(from("192.0.2.1").isClosed, true);
  assertEquals(from("192.0.2.1").isClosed, true);
  assertFalse(from("192.0.2.2").isClosed);
  const lines = node.logs.map(({ message, fields }) => ({ message, fields }));
  assertEquals(lines, [{
    message: "too many connections that have not logged in: new ones are refused",
    fields: { address: "192.0.2.1", fromAddress: 3, inAll: 3, refused: 1 },
  }]);
  silent[0]!.wire.drop();
  assertFalse(from("192.0.2.1").isClosed);
});

Deno.test("connections that have not logged in are bounded in all; logging in makes room", () => {
  const node = new TestNode({ limits: { handshakeCountMax: 2, handshakesPerAddressMax: 2 } });
  const first = node.stream({ peerHost: "2001:db8::1" });
  node.stream({ peerHost: "192.0.2.2" });
  assertEquals(node.stream({ peerHost: "192.0.2.3" }).isClosed, true);
  assertEquals(first.isClosed, false);
  first.wire.drop();
  const clients = Array.from({ length: 10 }, () => node.connect());
  assertEquals(clients.some(({ isClosed }) => isClosed), false);
  node.advance(node.broker.limits.handshakeMs);
  const again = [node.stream(), node.stream(), node.stream()];
  assertEquals(again.map(({ isClosed }) => isClosed), [false, true, true]);
});

/** Guesses passwords of guest on connections that come and go as fast as they can, for a minute. */
function guessedInAMinute(node: TestNode, capabilities: string[]): number {
  for (let seconds = 0; seconds < 60; seconds++) {
    for (let i = 0; i < 50; i++) {
      const client = node.stream();
      client.greet({ password: `guess ${i}`, capabilities });
      if (i % 2 === 0) client.wire.drop();
    }
    node.advance(1000);
  }
  return node.logs.filter(({ message }) => message === "login refused").length;
}

Deno.test("passwords are looked at slowly, whether the client can be told or not", () => {
  for (const capabilities of [[], ["authentication_failure_close"]]) {
    const node = new TestNode();
    const guessed = guessedInAMinute(node, capabilities);
    assertLessOrEqual(guessed, 20 + 61 * 5);
    assertGreater(guessed, 60);
    assertEquals(node.broker.metrics.authSucceeded, 0);
  }
});

Deno.test("who guesses passwords does not hold up another user or another address", () => {
  const users = ["guest", "worker"].map((name) => {
    return { name, password: name, tags: [], loopbackOnly: false };
  });
  const node = new TestNode({ users });
  node.connect({ user: "worker", password: "worker" });
  guessedInAMinute(node, []);
  node.connect({ user: "worker", password: "worker" });
  node.stream({ peerHost: "192.0.2.7" }).login();
});

Deno.test("a right password among wrong ones has to wait for its turn and is let in", () => {
  const node = new TestNode();
  for (let i = 0; i < 25; i++) node.stream().greet({ password: "wrong" });
  const client = node.stream();
  client.greet();
  assertEquals(client.inbox.length, 0);
  node.advance(1200);
  client.expect(M.CONNECTION_TUNE, 0);
});

Deno.test("a client that goes while its login waits is forgotten", () => {
  const node = new TestNode();
  for (let i = 0; i < 30; i++) node.stream().greet({ password: "wrong" });
  const client = node.stream();
  client.greet();
  client.wire.drop();
  node.advance(60_000);
  assertEquals(node.broker.metrics.authSucceeded, 0);
  assertEquals(node.engine.connectionCount, 0);
});

Deno.test("Newcomers.left() counts a connection once, though it has logged in and is gone later", () => {
  const newcomers = new Newcomers(new TestNode().broker);
  assertEquals([newcomers.admit("10.0.0.1"), newcomers.admit("10.0.0.1")], [true, true]);
  const info = { peerHost: "10.0.0.1" };
  const connection = { isNewcomer: true, info } as Partial<Connection> as Connection;
  for (let i = 0; i < 2; i++) newcomers.left(connection);
  assertEquals(newcomers.count, 1);
});
