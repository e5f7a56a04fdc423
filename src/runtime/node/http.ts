// HTTP for Node through @hono/node-server. Hands every request with its peer to one handler and never
// looks into either.

import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import type { Server } from "node:http";
import { ListenError } from "../listen_error.ts";
import { plainHost } from "../plain_host.ts";
import type { HttpPeer, Listener, ServeOptions } from "../port.ts";

/** Binds and starts answering; rejects with {@linkcode ListenError}. */
export function serve(options: ServeOptions): Promise<Listener> {
  const server = createAdaptorServer({
    fetch: (request, bindings) => options.handler(request, peerOf(bindings as HttpBindings)),
    overrideGlobalObjects: false,
  }) as Server;
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(new ListenError("HTTP", options, error));
    server.once("error", fail);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off("error", fail);
      server.on("error", () => {});
      resolve(listenerOf(server));
    });
  });
}

function peerOf(bindings: HttpBindings): HttpPeer {
  const { remoteAddress, remotePort } = bindings.incoming.socket;
  return { host: plainHost(remoteAddress), port: remotePort ?? 0 };
}

function listenerOf(server: Server): Listener {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not a TCP address");
  return {
    host: address.address,
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
