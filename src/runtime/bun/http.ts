// HTTP for Bun through Bun.serve. Hands every request with its peer to one handler and never looks
// into either.

import { ListenError } from "../listen_error.ts";
import { plainHost } from "../plain_host.ts";
import type { HttpPeer, Listener, ServeOptions } from "../port.ts";
import { bun, type BunServer } from "./api.ts";

/** Binds and starts answering; rejects with {@linkcode ListenError}. */
export function serve(options: ServeOptions): Promise<Listener> {
  return new Promise((resolve) => {
    const server = open(options);
    resolve({ host: server.hostname, port: server.port, close: () => server.stop(true) });
  });
}

function open(options: ServeOptions): BunServer {
  try {
    return bun().serve({
      hostname: options.host,
      port: options.port,
      fetch: (request, server) => options.handler(request, peerOf(request, server)),
    });
  } catch (error) {
    throw new ListenError("HTTP", options, error);
  }
}

function peerOf(request: Request, server: BunServer): HttpPeer {
  const peer = server.requestIP(request);
  return peer === null ? { host: "", port: 0 } : { host: plainHost(peer.address), port: peer.port };
}
