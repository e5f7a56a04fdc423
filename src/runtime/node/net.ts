// TCP through node:net, for Node and, by way of deno/net.ts, for Deno. It accepts streams and carries
// bytes between a socket and the session layer, as session/transport.ts says; it never looks into them.
// Each turn and connection costs one write and one view for it, and nothing per message.

import { createServer, type Server, type Socket } from "node:net";
import type { Transport, TransportEvents, TransportInfo } from "../../session/transport.ts";
import { ListenError } from "../listen_error.ts";
import { plainHost } from "../plain_host.ts";
import { BACKLOG, LINGER_MS, OpenStreams } from "../open_streams.ts";
import { Outgoing } from "../outgoing.ts";
import type { ListenOptions, StreamListener } from "../port.ts";

/**
 * Maximum bytes of one write to a socket; 256 KiB. A socket reports a write only when all of its bytes
 * are taken, so a single large write would hide that a slow client is reading.
 */
const WRITE_BYTES_MAX = 262_144;

/**
 * Binds and starts to accept. Rejects with {@linkcode ListenError}. `onRefused` is called when there
 * was no room for a stream.
 */
export function listen(
  options: ListenOptions,
  onRefused: (server: Server) => void = () => {},
): Promise<StreamListener> {
  const streams = new OpenStreams();
  const server = createServer({ noDelay: true }, (socket) => {
    const { room } = options;
    if (room?.take("amqp") === false) {
      socket.destroy();
      onRefused(server);
      return;
    }
    if (room !== undefined) socket.once("close", () => room.give());
    new SocketTransport(socket, options, streams);
  });
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(new ListenError("AMQP", options, error));
    server.once("error", fail);
    server.listen({ host: options.host, port: options.port, backlog: BACKLOG }, () => {
      server.off("error", fail);
      // Accepting fails when descriptors run out. That connection is lost, but the listener continues.
      server.on("error", () => {});
      resolve(listenerOf(server, streams));
    });
  });
}

function listenerOf(server: Server, streams: OpenStreams): StreamListener {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not a TCP address");
  return {
    host: address.address,
    port: address.port,
    close: () => stopAccepting(server),
    closeStreams: (graceMs) => streams.close(graceMs),
  };
}

// The callback of close() waits for the accepted sockets too, but these stay open. The handle itself is
// closed within the current round of the event loop.
function stopAccepting(server: Server): Promise<void> {
  server.close();
  return new Promise((resolve) => setImmediate(resolve));
}

class SocketTransport implements Transport {
  readonly #socket: Socket;
  readonly #events: TransportEvents;
  readonly #outgoing = new Outgoing();
  readonly #onWritten: (error?: Error | null) => void;
  /** Bytes at the head of `#outgoing` that the socket is writing; 0 when it writes nothing. */
  #inFlightBytes = 0;
  #isEnding = false;

  constructor(socket: Socket, options: ListenOptions, streams: OpenStreams) {
    this.#socket = socket;
    this.#onWritten = (error) => this.#written(error);
    streams.add(this);
    this.#events = options.accept(this, infoOf(socket));
    socket.on("data", (bytes: Uint8Array) => {
      if (!this.#isEnding) this.#events.received(bytes);
    });
    // "close" follows every error. The session treats all reasons alike.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#outgoing.clear();
      streams.delete(this);
      this.#events.closed();
    });
  }

  get pendingBytes(): number {
    return this.#outgoing.byteCount;
  }

  write(buffer: Uint8Array, byteCount: number): Uint8Array {
    if (this.#isEnding || this.#socket.destroyed) return buffer;
    if (this.#outgoing.byteCount > 0) return this.#outgoing.keep(buffer, 0, byteCount);
    for (let start = 0; start < byteCount;) {
      const end = Math.min(byteCount, start + WRITE_BYTES_MAX);
      this.#send(buffer, start, end);
      // node:net tries the system call at once. If it holds nothing after that, the kernel has taken
      // everything.
      if (this.#socket.writableLength > 0) {
        this.#inFlightBytes = end - start;
        return this.#outgoing.hold(buffer, start, byteCount);
      }
      start = end;
    }
    return buffer;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    if (this.#outgoing.byteCount === 0) this.#finish();
  }

  destroy(): void {
    this.#isEnding = true;
    this.#socket.destroy();
  }

  #send(buffer: Uint8Array, start: number, end: number): void {
    const view = Buffer.from(buffer.buffer, buffer.byteOffset + start, end - start);
    this.#socket.write(view, this.#onWritten);
  }

  // Also called, one tick late, for writes that the kernel took at once. Then either nothing is in
  // flight, or a later write still is.
  #written(error: Error | null | undefined): void {
    if (error !== null && error !== undefined) return;
    if (this.#inFlightBytes === 0 || this.#socket.writableLength > 0) return;
    this.#outgoing.taken(this.#inFlightBytes);
    this.#inFlightBytes = 0;
    this.#sendWaiting();
    if (this.#inFlightBytes > 0) return;
    if (this.#isEnding) this.#finish();
    else this.#events.drained();
  }

  #sendWaiting(): void {
    let head = this.#outgoing.head();
    while (head !== undefined) {
      const byteCount = Math.min(head.end - head.start, WRITE_BYTES_MAX);
      this.#send(head.buffer, head.start, head.start + byteCount);
      if (this.#socket.writableLength > 0) {
        this.#inFlightBytes = byteCount;
        return;
      }
      this.#outgoing.taken(byteCount);
      head = this.#outgoing.head();
    }
  }

  // Unread input makes the kernel send a reset when the socket is closed, and the reset can destroy our
  // last frames at the peer. Input is therefore read and dropped until the peer closes too.
  #finish(): void {
    const socket = this.#socket;
    socket.end();
    socket.resume();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => clearTimeout(timer));
  }
}

function infoOf(socket: Socket): TransportInfo {
  return {
    peerHost: plainHost(socket.remoteAddress),
    peerPort: socket.remotePort ?? 0,
    localHost: plainHost(socket.localAddress),
    localPort: socket.localPort ?? 0,
    isTls: false,
  };
}
