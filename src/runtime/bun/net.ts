// TCP on Bun's native sockets, which carry small messages two to three times as fast as Bun's node:net.
// It accepts streams and carries bytes between a socket and the session layer, as session/transport.ts
// says; it never looks into them. A write is one system call; the bytes that the kernel does not take
// wait for `drain`.

import type { Transport, TransportEvents, TransportInfo } from "../../session/transport.ts";
import { ListenError } from "../listen_error.ts";
import { LINGER_MS, OpenStreams } from "../open_streams.ts";
import { Outgoing } from "../outgoing.ts";
import { plainHost } from "../plain_host.ts";
import type { ListenOptions, StreamListener } from "../port.ts";
import { bun, type BunSocket, type BunSocketHandlers } from "./api.ts";

/** Binds and starts to accept. Rejects with {@linkcode ListenError}. */
export function listen(options: ListenOptions): Promise<StreamListener> {
  return new Promise((resolve) => {
    const streams = new OpenStreams();
    const listener = open(options, streams);
    const close = () => {
      listener.stop(false);
      return Promise.resolve();
    };
    const closeStreams = (graceMs: number) => streams.close(graceMs);
    resolve({ host: listener.hostname, port: listener.port, close, closeStreams });
  });
}

function open(options: ListenOptions, streams: OpenStreams) {
  try {
    return bun().listen<SocketTransport>({
      hostname: options.host,
      port: options.port,
      exclusive: true,
      socket: handlersFor(options, streams),
    });
  } catch (error) {
    throw new ListenError("AMQP", options, error);
  }
}

function handlersFor(
  options: ListenOptions,
  streams: OpenStreams,
): BunSocketHandlers<SocketTransport> {
  return {
    open(socket) {
      if (options.room?.take("amqp") === false) {
        socket.terminate();
        return;
      }
      socket.setNoDelay(true);
      const transport = new SocketTransport(socket);
      socket.data = transport;
      streams.add(transport);
      transport.events = options.accept(transport, infoOf(socket));
    },
    data: (socket, bytes) => socket.data?.received(bytes),
    drain: (socket) => socket.data?.drain(),
    end: (socket) => socket.data?.peerEnded(),
    // "close" follows every error. The session treats all reasons alike.
    error() {},
    close(socket) {
      // The socket was refused, so no other code knows it.
      if (socket.data === undefined) return;
      options.room?.give();
      streams.delete(socket.data);
      socket.data.closed();
    },
  };
}

class SocketTransport implements Transport {
  /** Set right after accepting. It is null only while `accept` runs. */
  events: TransportEvents | null = null;
  readonly #socket: BunSocket<SocketTransport>;
  readonly #outgoing = new Outgoing();
  #isEnding = false;
  #isClosed = false;
  #lingerTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: BunSocket<SocketTransport>) {
    this.#socket = socket;
  }

  get pendingBytes(): number {
    return this.#outgoing.byteCount;
  }

  write(buffer: Uint8Array, byteCount: number): Uint8Array {
    if (this.#isEnding || this.#isClosed) return buffer;
    if (this.#outgoing.byteCount > 0) return this.#outgoing.keep(buffer, 0, byteCount);
    const takenCount = this.#socket.write(buffer, 0, byteCount);
    if (takenCount === byteCount || takenCount < 0) return buffer;
    return this.#outgoing.keep(buffer, takenCount, byteCount);
  }

  pause(): void {
    if (!this.#isClosed) this.#socket.pause();
  }

  resume(): void {
    if (!this.#isClosed) this.#socket.resume();
  }

  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    if (this.#outgoing.byteCount === 0) this.#finish();
  }

  destroy(): void {
    this.#isEnding = true;
    if (!this.#isClosed) this.#socket.terminate();
  }

  received(bytes: Uint8Array): void {
    if (!this.#isEnding) this.events?.received(bytes);
  }

  drain(): void {
    if (this.#outgoing.byteCount === 0) return;
    for (let head = this.#outgoing.head(); head !== undefined; head = this.#outgoing.head()) {
      const byteCount = head.end - head.start;
      const takenCount = this.#socket.write(head.buffer, head.start, byteCount);
      if (takenCount > 0) this.#outgoing.taken(takenCount);
      if (takenCount < byteCount) return;
    }
    if (this.#isEnding) this.#finish();
    else this.events?.drained();
  }

  peerEnded(): void {
    this.#isEnding = true;
    this.#socket.end();
  }

  closed(): void {
    this.#isClosed = true;
    clearTimeout(this.#lingerTimer);
    this.#outgoing.clear();
    this.events?.closed();
  }

  // Unread input makes the kernel send a reset when the socket is closed, and the reset can destroy our
  // last frames at the peer. Input is therefore read and dropped until the peer closes too.
  #finish(): void {
    if (this.#isClosed) return;
    this.#socket.shutdown();
    this.#socket.resume();
    this.#lingerTimer = setTimeout(() => this.destroy(), LINGER_MS);
  }
}

function infoOf(socket: BunSocket<SocketTransport>): TransportInfo {
  return {
    peerHost: plainHost(socket.remoteAddress),
    peerPort: socket.remotePort,
    localHost: plainHost(socket.localAddress),
    localPort: socket.localPort,
    isTls: false,
  };
}
