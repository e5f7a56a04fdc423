// HTTP through node:http and @hono/node-server, on every runtime: Deno's and Bun's own servers say
// nothing of connections, which have to be bounded in number and time. Hands every request with its
// peer to one handler and never looks into either.

import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { ListenError } from "../listen_error.ts";
import { plainHost } from "../plain_host.ts";
import type { HttpPeer, Listener, ServeOptions } from "../port.ts";

/** How long a client may take for the head of a request, and for all of it. */
const HEAD_MS = 10_000;
const REQUEST_MS = 30_000;
/** How long a connection may wait for its next request. */
const NEXT_REQUEST_MS = 15_000;
/** How long a client may take nothing of an answer. */
const SILENT_MS = 60_000;
const LOOK_MS = 1_000;

/**
 * Binds and starts answering; rejects with {@linkcode ListenError}. `onRefused` is told when there was
 * no room for a connection.
 */
export function serve(
  options: ServeOptions,
  onRefused: (server: Server) => void = () => {},
): Promise<Listener> {
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
  const sockets = boundConnections(server, options, onRefused);
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(new ListenError("HTTP", options, error));
    server.once("error", fail);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off("error", fail);
      server.on("error", () => {});
      resolve(listenerOf(server, sockets));
    });
  });
}

// Refuses connections above the limit, or for which there is no room; returns those that are open.
function boundConnections(
  server: Server,
  options: ServeOptions,
  onRefused: (server: Server) => void,
): Set<Socket> {
  const { connectionCountMax = Infinity, room } = options;
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    const isFull = sockets.size >= connectionCountMax;
    if (isFull || room?.take("http") === false) {
      socket.destroy();
      if (!isFull) onRefused(server);
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
  const { remoteAddress, remotePort } = bindings.incoming.socket;
  return { host: plainHost(remoteAddress), port: remotePort ?? 0 };
}

function listenerOf(server: Server, sockets: ReadonlySet<Socket>): Listener {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not a TCP address");
  return {
    host: address.address,
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
