// Clients of an engine in the same process, for benchmarks: a transport that takes everything at once, and
// a connection that is past its handshake. Used by the programs in this folder.

import * as M from "../../src/amqp/methods_gen.ts";
import type { Transport, TransportEvents } from "../../src/session/transport.ts";
import { joined, methodFrame } from "../../test/support/amqp_client.ts";
import type { TestNode } from "../../test/support/test_node.ts";

/** A client that takes bytes as fast as they come. */
export class SinkTransport implements Transport {
  readonly pendingBytes = 0;

  write(buffer: Uint8Array, _byteCount: number): Uint8Array {
    return buffer;
  }

  pause(): void {}
  resume(): void {}
  end(): void {}
  destroy(): void {}
}

const HANDSHAKE = joined([
  new TextEncoder().encode("AMQP\0\0\x09\x01"),
  methodFrame(M.CONNECTION_START_OK, 0, {
    mechanism: "PLAIN",
    response: new TextEncoder().encode("\0guest\0guest"),
    locale: "en_US",
  }),
  methodFrame(M.CONNECTION_TUNE_OK, 0, { channelMax: 2047, frameMax: 131072, heartbeat: 0 }),
  methodFrame(M.CONNECTION_OPEN, 0, { virtualHost: "/" }),
  methodFrame(M.CHANNEL_OPEN, 1, {}),
]);

/** A connection with channel 1 open. */
export function open(node: TestNode, transport: SinkTransport): TransportEvents {
  const events = node.engine.accept(transport, {
    peerHost: "127.0.0.1",
    peerPort: 1,
    localHost: "127.0.0.1",
    localPort: 2,
    isTls: false,
  });
  events.received(HANDSHAKE.slice());
  return events;
}
