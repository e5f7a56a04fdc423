// HTTP for Deno through Deno.serve. Hands every request with its peer to one handler and never looks
// into either.

import { ListenError } from "../listen_error.ts";
import { plainHost } from "../plain_host.ts";
import type { Listener, ServeOptions } from "../port.ts";

/** Binds and starts answering; rejects with {@linkcode ListenError}. */
export function serve(options: ServeOptions): Promise<Listener> {
  return new Promise((resolve) => {
    const abort = new AbortController();
    const server = open(options, abort.signal);
    const { hostname, port } = server.addr;
    const close = () => {
      abort.abort();
      return server.finished;
    };
    resolve({ host: hostname, port, close });
  });
}

function open(options: ServeOptions, signal: AbortSignal): Deno.HttpServer<Deno.NetAddr> {
  const where = { hostname: options.host, port: options.port, signal, onListen() {} };
  try {
    return Deno.serve(
      where,
      (request, { remoteAddr }) => options.handler(request, peerOf(remoteAddr)),
    );
  } catch (error) {
    throw new ListenError("HTTP", options, error);
  }
}

function peerOf(address: Deno.NetAddr) {
  return { host: plainHost(address.hostname), port: address.port };
}
