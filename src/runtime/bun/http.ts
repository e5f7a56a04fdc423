// HTTP for Bun: the node:http adapter behind a server of node:net. Bun's node:http reports a connection
// only after its first request, and Bun's own server reports none. Connections are therefore accepted,
// counted and timed here, before they reach HTTP.

import type { Server } from "node:http";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import { HEAD_MS, NEXT_REQUEST_MS, serve as serveOnNode, SILENT_MS } from "../node/http.ts";
import type { Listener, ServeOptions } from "../port.ts";

/** Binds and starts to answer. Rejects with {@linkcode ListenError}. */
export function serve(options: ServeOptions): Promise<Listener> {
  return serveOnNode(options, { front });
}

function front(server: Server): NetServer {
  const clocks = new WeakMap<Socket, ConnectionClock>();
  server.on("request", ({ socket }, response) => {
    const clock = clocks.get(socket);
    clock?.set(SILENT_MS);
    response.once("close", () => clock?.set(NEXT_REQUEST_MS));
  });
  return createServer((socket) => {
    if (socket.destroyed) return;
    const clock = new ConnectionClock(socket);
    clock.set(HEAD_MS);
    clocks.set(socket, clock);
    server.emit("connection", socket);
  });
}

/** Closes a connection on which the next step of a request takes too long. */
class ConnectionClock {
  readonly #socket: Socket;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("error", () => {});
    socket.once("close", () => clearTimeout(this.#timer));
  }

  /** Sets the limit for the next step, ms. */
  set(limitMs: number): void {
    clearTimeout(this.#timer);
    if (this.#socket.destroyed) return;
    this.#timer = setTimeout(() => this.#socket.destroy(), limitMs);
  }
}
