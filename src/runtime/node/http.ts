// HTTP through node:http and @hono/node-server, on every runtime: the servers of Deno and Bun do not
// report connections, which must be bounded in number and time. It passes every request and its peer to
// one handler and never looks into either.

import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import type { Server } from "node:http";
import type { Server as NetServer, Socket } from "node:net";
import { ListenError } from "../listen_error.ts";
import { plainHost } from "../plain_host.ts";
import type { HttpPeer, Listener, ServeOptions } from "../port.ts";

/** How long a client may take to send the head of a request, ms. */
export const HEAD_MS = 10_000;
/** How long a client may take to send a whole request, ms. */
const REQUEST_MS = 30_000;
/** How long a connection may wait for its next request, ms. */
export const NEXT_REQUEST_MS = 15_000;
/** How long a client may take no bytes of an answer, ms. */
export const SILENT_MS = 60_000;
const LOOK_MS = 1_000;

/** The differences of a runtime from this file. */
export interface HttpVariant {
  /** Called when there was no room for a connection. */
  readonly onRefused?: (listening: NetServer) => void;
  /** Makes the server that listens instead of the HTTP server and passes connections on to it. */
  readonly front?: (server: Server) => NetServer;
}

/** Binds and starts to answer. Rejects with {@linkcode ListenError}. */
export function serve(options: ServeOptions, variant: HttpVariant = {}): Promise<Listener> {
  const server = createAdaptorServer({
    fetch: (request, bindings) => options.handler(request, peerOf(bindings as HttpBindings)),
    overrideGlobalObjects: false,
    serverOptions: {
      headersTimeout: HEAD_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: NEXT_REQUEST_MS,
      connectionsCheckingInterval: LOOK_MS,
    },
  }) as Server;
  server.setTimeout(SILENT_MS, (socket) => socket.destroy());
  const listening = variant.front?.(server) ?? server;
  const sockets = boundConnections(listening, options, variant.onRefused ?? (() => {}));
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(new ListenError("HTTP", options, error));
    listening.once("error", fail);
    listening.listen({ host: options.host, port: options.port }, () => {
      listening.off("error", fail);
      listening.on("error", () => {});
      resolve(listenerOf(listening, sockets));
    });
  });
}

// Refuses connections above the limit or without room. Returns the set of open connections.
function boundConnections(
  listening: NetServer,
  options: ServeOptions,
  onRefused: (listening: NetServer) => void,
): Set<Socket> {
  const { connectionCountMax = Infinity, room } = options;
  const sockets = new Set<Socket>();
  listening.prependListener("connection", (socket) => {
    const isFull = sockets.size >= connectionCountMax;
    if (isFull || room?.take("http") === false) {
      socket.destroy();
      if (!isFull) onRefused(listening);
      return;
    }
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      room?.give();
    });
  });
  return sockets;
}

function peerOf(bindings: HttpBindings): HttpPeer {
  const { socket } = bindings.incoming;
  const { remoteAddress, remotePort } = socket;
  const drop = () => void socket.destroy();
  return { host: plainHost(remoteAddress), port: remotePort ?? 0, drop };
}

function listenerOf(listening: NetServer, sockets: ReadonlySet<Socket>): Listener {
  const address = listening.address();
  if (address === null || typeof address === "string") throw new Error("not a TCP address");
  return {
    host: address.address,
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        listening.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
