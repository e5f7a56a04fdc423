// The TCP adapter of the runtime the tests run on, over real sockets: order, buffers, closing.

import { assertEquals, assertGreater, assertRejects, assertStrictEquals } from "@std/assert";
import { connect, type Socket } from "node:net";
import { loadRuntime } from "../../../src/runtime/load.ts";
import { ListenError } from "../../../src/runtime/listen_error.ts";
import type { StreamListener } from "../../../src/runtime/port.ts";
import type { Transport, TransportInfo } from "../../../src/session/transport.ts";
import { StubRoom } from "../../support/stub_room.ts";

/** One accepted stream as a test sees it. */
class Peer {
  readonly received: Uint8Array[] = [];
  receivedCount = 0;
  drainCount = 0;
  closeCount = 0;
  #wakeUps: (() => void)[] = [];
  readonly transport: Transport;
  readonly info: TransportInfo;
  constructor(transport: Transport, info: TransportInfo) {
    this.transport = transport;
    this.info = info;
  }
  readonly events = {
    received: (bytes: Uint8Array) => {
      this.received.push(bytes);
      this.receivedCount += bytes.length;
      this.#wake();
    },
    drained: () => {
      this.drainCount++;
      this.#wake();
    },
    closed: () => {
      this.closeCount++;
      this.#wake();
    },
  };
  #wake() {
    for (const wake of this.#wakeUps.splice(0)) wake();
  }
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#wakeUps.push(resolve));
  }
}

interface Pair {
  peer: Peer;
  client: Socket;
}

async function withPair(test: (pair: Pair) => Promise<void>): Promise<void> {
  const { net } = await loadRuntime();
  let accepted: (peer: Peer) => void = () => {};
  const firstPeer = new Promise<Peer>((resolve) => accepted = resolve);
  const listener = await net.listen({
    host: "127.0.0.1",
    port: 0,
    accept: (transport, info) => {
      const peer = new Peer(transport, info);
      accepted(peer);
      return peer.events;
    },
  });
  const client = connect({ host: "127.0.0.1", port: listener.port, noDelay: true });
  client.on("error", () => {});
  try {
    await test({ peer: await firstPeer, client });
  } finally {
    await stop(listener, client);
  }
}

async function stop(listener: StreamListener, client: Socket): Promise<void> {
  const isGone = new Promise<void>((resolve) => {
    if (client.destroyed) resolve();
    else client.once("close", () => resolve());
  });
  client.destroy();
  await listener.close();
  await listener.closeStreams(0);
  await isGone;
}

function pattern(byteCount: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(byteCount);
  for (let i = 0; i < byteCount; i++) bytes[i] = (i * 31 + seed) & 0xff;
  return bytes;
}

function collect(client: Socket, byteCount: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(byteCount);
  let at = 0;
  return new Promise((resolve) => {
    client.on("data", (chunk: Uint8Array) => {
      bytes.set(chunk, at);
      at += chunk.length;
      if (at === byteCount) resolve(bytes);
    });
  });
}

Deno.test("listen() tells who is at the other end", async () => {
  await withPair(async ({ peer, client }) => {
    client.write("x");
    await peer.until(() => peer.receivedCount === 1);
    assertEquals(peer.info.peerHost, "127.0.0.1");
    assertEquals(peer.info.peerPort, client.localPort);
    assertEquals(peer.info.localPort, client.remotePort);
    assertEquals(peer.info.isTls, false);
  });
});

Deno.test("received() hands over buffers that nobody changes afterwards", async () => {
  await withPair(async ({ peer, client }) => {
    const sent = pattern(1_000_000, 1);
    client.write(sent);
    await peer.until(() => peer.receivedCount === sent.length);
    assertEquals(Buffer.concat(peer.received).equals(sent), true);
  });
});

Deno.test("write() returns the same buffer when the kernel takes the bytes at once", async () => {
  await withPair(async ({ peer, client }) => {
    // While it still runs the accept callback, Deno queues what is written.
    client.write("x");
    await peer.until(() => peer.receivedCount === 1);
    const buffer = new Uint8Array(1000);
    const arrived = collect(client, 3000);
    for (let i = 1; i <= 3; i++) {
      buffer.fill(i);
      assertStrictEquals(peer.transport.write(buffer, 1000), buffer);
      assertEquals(peer.transport.pendingBytes, 0);
    }
    buffer.fill(99);
    const bytes = await arrived;
    assertEquals([bytes[0], bytes[1000], bytes[2999]], [1, 2, 3]);
  });
});

Deno.test("write() keeps what a client does not take, in order, and says when it is gone", async () => {
  await withPair(async ({ peer, client }) => {
    client.pause();
    const chunk = 300_000;
    const total = chunk * 60 + 60 * 5;
    let buffer = new Uint8Array(chunk);
    let pendingMax = 0;
    const expected: number[] = [];
    for (let i = 0; i < 60; i++) {
      for (const byteCount of [chunk, 5]) {
        if (buffer.length < byteCount) buffer = new Uint8Array(chunk);
        buffer.fill(i, 0, byteCount);
        buffer = peer.transport.write(buffer, byteCount) as Uint8Array<ArrayBuffer>;
        buffer.fill(255);
        pendingMax = Math.max(pendingMax, peer.transport.pendingBytes);
      }
      expected.push(i);
    }
    assertGreater(pendingMax, 0);
    assertEquals(peer.drainCount, 0);
    const arrived = collect(client, total);
    client.resume();
    const bytes = await arrived;
    await peer.until(() => peer.drainCount > 0);
    assertEquals(peer.transport.pendingBytes, 0);
    assertEquals(expected.map((i) => bytes[i * (chunk + 5)]), expected);
    assertEquals(expected.map((i) => bytes[i * (chunk + 5) + chunk + 4]), expected);
    assertEquals(bytes.includes(255), false);
  });
});

Deno.test("pendingBytes falls while a slow client takes one large write", async () => {
  await withPair(async ({ peer, client }) => {
    client.write("x");
    await peer.until(() => peer.receivedCount === 1);
    client.pause();
    const bytes = pattern(60_000_000, 7);
    peer.transport.write(bytes, bytes.length);
    const pendingBytes = peer.transport.pendingBytes;
    const isSomeTaken = new Promise<void>((resolve) => {
      let byteCount = 0;
      client.on("data", (chunk: Uint8Array) => {
        byteCount += chunk.length;
        if (byteCount < 20_000_000) return;
        client.pause();
        resolve();
      });
    });
    client.resume();
    await isSomeTaken;
    for (let i = 0; i < 1000 && peer.transport.pendingBytes === pendingBytes; i++) {
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    assertGreater(pendingBytes, peer.transport.pendingBytes);
    assertGreater(peer.transport.pendingBytes, 0);
    assertEquals(peer.drainCount, 0);
  });
});

Deno.test("end() closes after everything handed over has arrived", async () => {
  await withPair(async ({ peer, client }) => {
    client.pause();
    const bytes = pattern(12_000_000, 3);
    peer.transport.write(bytes.slice(), bytes.length);
    peer.transport.end();
    const arrived = collect(client, bytes.length);
    const ended = new Promise<void>((resolve) => client.once("end", () => resolve()));
    client.resume();
    assertEquals(Buffer.from(await arrived).equals(bytes), true);
    await ended;
    await peer.until(() => peer.closeCount === 1);
  });
});

Deno.test("end() drops later input and later output", async () => {
  await withPair(async ({ peer, client }) => {
    client.write("x");
    await peer.until(() => peer.receivedCount === 1);
    const arrived = collect(client, 2);
    peer.transport.write(new Uint8Array([1, 2]), 2);
    peer.transport.end();
    peer.transport.write(new Uint8Array([3, 4]), 2);
    client.write("y");
    assertEquals([...await arrived], [1, 2]);
    client.end();
    await peer.until(() => peer.closeCount === 1);
    assertEquals(peer.receivedCount, 1);
  });
});

Deno.test("closed() is told once when the client goes, and when we destroy", async () => {
  await withPair(async ({ peer, client }) => {
    client.write("x");
    await peer.until(() => peer.receivedCount === 1);
    client.end();
    await peer.until(() => peer.closeCount > 0);
    peer.transport.destroy();
    peer.transport.end();
    assertEquals(peer.closeCount, 1);
  });
  await withPair(async ({ peer, client }) => {
    client.write("x");
    await peer.until(() => peer.receivedCount === 1);
    peer.transport.destroy();
    await peer.until(() => peer.closeCount > 0);
    peer.transport.destroy();
    assertEquals(peer.closeCount, 1);
  });
});

Deno.test("pause() stops the input until resume()", async () => {
  await withPair(async ({ peer, client }) => {
    client.write("x");
    await peer.until(() => peer.receivedCount === 1);
    peer.transport.pause();
    const sent = pattern(30_000_000, 5);
    const isWritten = new Promise<void>((resolve) => client.write(sent, () => resolve()));
    // The kernel's buffers fill up and then nothing moves: a full round of the loop changes nothing.
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
    const whilePaused = peer.receivedCount;
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
    assertEquals(peer.receivedCount, whilePaused);
    peer.transport.resume();
    await peer.until(() => peer.receivedCount === sent.length + 1);
    await isWritten;
  });
});

// A stream that is not read does not say that it has ended; only writing finds that out. The answer of
// the other machine to a write comes by itself, so this writes until it has, a bounded number of times.
Deno.test("write() finds that the peer of a paused stream is gone", async () => {
  await withPair(async ({ peer, client }) => {
    client.write("x");
    await peer.until(() => peer.receivedCount === 1);
    peer.transport.pause();
    client.write(new Uint8Array(100_000));
    client.destroy();
    for (let count = 0; count < 500 && peer.closeCount === 0; count++) {
      peer.transport.write(new Uint8Array(8), 8);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    assertEquals(peer.closeCount, 1);
  });
});

Deno.test("listen() rejects with one clear line when the port is in use", async () => {
  const { net } = await loadRuntime();
  const accept = () => ({ received() {}, drained() {}, closed() {} });
  const listener = await net.listen({ host: "127.0.0.1", port: 0, accept });
  try {
    const again = net.listen({ host: "127.0.0.1", port: listener.port, accept });
    const error = await assertRejects(() => again, ListenError);
    const address = `127.0.0.1:${listener.port}`;
    assertEquals(error.message, `cannot listen on ${address} for AMQP: the port is in use`);
  } finally {
    await listener.close();
  }
  const reopened = await net.listen({ host: "127.0.0.1", port: listener.port, accept });
  await reopened.close();
});

Deno.test("listen() refuses streams for which there is no room, and takes them again", async () => {
  const { net } = await loadRuntime();
  const room = new StubRoom();
  let acceptedCount = 0;
  const listener = await net.listen({
    host: "127.0.0.1",
    port: 0,
    room,
    accept: (transport) => {
      acceptedCount++;
      return { received: () => transport.end(), drained() {}, closed() {} };
    },
  });
  // Resolves with whether the stream was taken: one that is sends an end when it was spoken to.
  const isTaken = () =>
    new Promise<boolean>((resolve) => {
      const before = acceptedCount;
      const client = connect({ host: "127.0.0.1", port: listener.port }, () => client.write("x"));
      client.on("error", () => {});
      client.on("end", () => client.end());
      client.resume();
      client.once("close", () => resolve(acceptedCount > before));
    });
  for (let i = 0; i < 20; i++) assertEquals(await isTaken(), false);
  assertEquals([acceptedCount, room.takenCount], [0, 0]);
  room.isOpen = true;
  let tries = 0;
  while (!await isTaken() && ++tries < 10_000);
  await room.given;
  assertEquals(room.takenCount, 0);
  await listener.close();
  await listener.closeStreams(0);
});
