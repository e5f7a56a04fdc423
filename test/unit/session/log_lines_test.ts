// What the log says of clients: why logins were refused, what channels and connections ended with, when
// publishers were blocked. Never a password.

import { assert, assertEquals } from "@std/assert";
import * as M from "../../../src/amqp/methods_gen.ts";
import { encodeText } from "../../../src/lib/text.ts";
import { IS_ON_DISK } from "../../support/chosen_store.ts";
import { TestNode } from "../../support/test_node.ts";

const SECRET = "hunter2";
const USERS = [
  { name: "app", password: SECRET, tags: [], loopbackOnly: false },
  { name: "here", password: SECRET, tags: [], loopbackOnly: true },
];

function take(node: TestNode) {
  const lines = node.logs.splice(0);
  assert(!JSON.stringify(lines).includes(SECRET), "no line has a password");
  return lines.map(({ level, message, fields }) => {
    const { connection: _, ...rest } = fields ?? {};
    return [level, message, rest];
  });
}

Deno.test("the log says why a login was refused", () => {
  const node = new TestNode({ users: USERS });
  const remote = { peerHost: "192.0.2.7" };
  node.stream().greet({ user: "app", password: `${SECRET}x` });
  node.stream().greet({ user: "nobody", password: SECRET });
  node.stream(remote).greet({ user: "here", password: SECRET });
  node.stream(remote).greet({ user: "here", password: "x" });
  const reason = "the user may log in from this machine only";
  assertEquals(take(node), [
    ["warn", "login refused", { user: "app", reason: "the password is wrong" }],
    ["warn", "login refused", { user: "nobody", reason: "there is no such user" }],
    ["warn", "login refused", { user: "here", reason }],
    ["warn", "login refused", { user: "here", reason }],
  ]);
});

Deno.test("the log says what a channel was closed with", () => {
  const node = new TestNode({ users: USERS });
  const channel = node.connect({ user: "app", password: SECRET }).channel();
  channel.send(M.QUEUE_DECLARE, { queue: "nope", passive: true });
  const text = "NOT_FOUND - no queue 'nope' in vhost '/'";
  const fields = { user: "app", channel: 1, code: 404, text, method: "queue.declare" };
  assertEquals(take(node), [["info", "channel closed with an error", fields]]);
});

Deno.test("the log says what a connection was closed with, once", () => {
  const node = new TestNode({ users: USERS });
  const client = node.connect({ user: "app", password: SECRET });
  client.send(M.CHANNEL_OPEN, 1);
  client.send(M.CHANNEL_OPEN, 1);
  client.send(M.CHANNEL_OPEN, 1);
  const text = "CHANNEL_ERROR - second 'channel.open' seen";
  const fields = { user: "app", channel: 1, code: 504, text, method: "channel.open" };
  assertEquals(take(node), [["info", "connection closed with an error", fields]]);
});

Deno.test("the log says what a handshake failed with", () => {
  const node = new TestNode({ users: USERS });
  const response = encodeText(`app ${SECRET}`);
  node.stream().greet({ response });
  node.stream().raw(encodeText("GET / HTTP/1.1\r\n"));
  const text = "SYNTAX_ERROR - PLAIN response is malformed";
  const fields = { user: null, channel: 0, code: 502, text, method: "connection.start-ok" };
  assertEquals(take(node), [
    ["info", "connection closed with an error", fields],
    ["info", "connection refused: the client does not speak AMQP 0-9-1", {}],
  ]);
});

Deno.test("the log says that a client went without a word, and nothing of one that said goodbye", () => {
  const node = new TestNode({ users: USERS });
  const options = { user: "app", password: SECRET };
  node.connect(options).close();
  assertEquals(take(node), []);
  node.connect(options).wire.drop();
  assertEquals(take(node), [["info", "client went without connection.close", { user: "app" }]]);
});

Deno.test("the log says when publishers are blocked, why, and when they go on", () => {
  if (IS_ON_DISK) return;
  const node = new TestNode({ limits: { memoryBytesMax: 12_000_000 } });
  const channel = node.connect().channel();
  channel.queue("q");
  while (!node.broker.isMemoryBlocked) channel.publish("q", "x".repeat(100_000));
  const blocked = node.logs.splice(0);
  assertEquals(blocked.map(({ level, message }) => [level, message]), [
    ["info", "publishers are blocked"],
  ]);
  const { reason, memoryBytesMax } = blocked[0]!.fields!;
  assertEquals([reason, memoryBytesMax], ["low on memory", 12_000_000]);
  node.advance(5000);
  node.connect().channel().rpc(M.QUEUE_PURGE, { queue: "q" }, M.QUEUE_PURGE_OK);
  node.settle();
  assertEquals(node.broker.isMemoryBlocked, false);
  const going = node.logs.splice(0);
  assertEquals(going.map(({ message }) => message), ["publishers are no longer blocked"]);
  assertEquals(going[0]!.fields, { reason: "low on memory", blockedMs: 5000 });
});
