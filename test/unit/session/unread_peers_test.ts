// Clients that are not read: they are written to now and then, because that is what finds a dead stream.

import { assert, assertEquals } from "@std/assert";
import type { Transport } from "../../../src/session/transport.ts";
import { TestNode } from "../../support/test_node.ts";

const MIB = new Uint8Array(1_048_576);

function blockedPublisher() {
  const node = new TestNode({ limits: { memoryBytesMax: 8 * MIB.length } });
  const publisher = node.connect();
  const channel = publisher.channel();
  channel.queue("q");
  for (let count = 0; count < 9; count++) channel.publish("q", MIB);
  assert(publisher.wire.isPaused);
  return { node, publisher };
}

Deno.test("a client that is not read is written to, also when it wants no heartbeats", () => {
  const { node, publisher } = blockedPublisher();
  node.advance(60_000);
  assertEquals(publisher.heartbeatCount, 12);
  node.connect().channel().consume("q", { noAck: true });
  node.advance(60_000);
  assertEquals([publisher.wire.isPaused, publisher.heartbeatCount], [false, 12]);
});

Deno.test("a client that went while it was not read is noticed, and gives back what it had", () => {
  const { node, publisher } = blockedPublisher();
  // The second write to a stream whose other end is gone fails, as on a socket.
  const transport: Transport = publisher.wire;
  let writes = 0;
  transport.write = (buffer) => {
    if (++writes === 2) node.loop.soon(() => publisher.wire.drop());
    return buffer;
  };
  node.advance(10_000);
  assertEquals(node.engine.connectionCount, 0);
});
